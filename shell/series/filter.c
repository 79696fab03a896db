// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/filter.h"

#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/print/value_word.h"
#include "shell/series/series.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <string.h>

HEAP_MUST_CHECK
static struct heap_error *resolve(void *context, const char *word,
				  struct heap_filter_operand *result)
{
	struct session *session = context;
	struct operand operand;

	HEAP_TRY(operand_parse(session, word, &operand));
	if (operand.object == HEAP_NO_OBJECT && !operand_holds_object(session, &operand))
		return operand_no_object(session, word, &operand);
	*result = (struct heap_filter_operand){ operand.object, operand.root, operand.interior,
						operand_size(session, &operand) };
	return NULL;
}

// What a field of several members is, as `show` displays it.
static bool describe(void *context, const struct heap_field_subject *subject,
		     const struct heap_member_place *place, char *buffer, size_t size,
		     size_t *length)
{
	struct session *session = context;
	const void *mark = session_mark(session);
	const struct value value = {
		.bytes = subject->bytes,
		.kept = subject->kept,
		.size = subject->size,
		.object = subject->offset ? HEAP_NO_OBJECT : subject->object,
		.address = session->snapshot->address[subject->object] + subject->offset,
	};
	const struct place at = { &value, place->offset, place->type };
	const char *text = value_word(session, &at, length);

	if (text) {
		*length = *length < size ? *length : size;
		memcpy(buffer, text, *length);
	}
	session_release(session, mark);
	return text != NULL;
}

struct heap_error *session_filter(struct session *session, int count, char **words,
				  struct heap_filter **result)
{
	struct heap_filter *filter;
	struct heap_error *error = session_filter_leniently(session, count, words, &filter);

	if (error)
		return error;
	error = heap_filter_absent(filter);
	if (error)
		heap_filter_destroy(filter);
	else
		*result = filter;
	return error;
}

struct heap_error *session_filter_leniently(struct session *session, int count, char **words,
					    struct heap_filter **result)
{
	const struct heap_filter_host host = { resolve, describe, session };
	CLEANUP(heap_filter_cleanup) struct heap_filter *filter = NULL;

	HEAP_TRY(heap_filter_parse(session->snapshot, count, words, &host, &filter));
	if (heap_filter_needs_graph(filter))
		HEAP_TRY(session_edges(session));
	if (heap_filter_needs_dominators(filter))
		HEAP_TRY(session_dominators(session));
	HEAP_TRY(heap_filter_prepare(filter, session->graph, session->divided));
	if (heap_filter_needs_new(filter)) {
		HEAP_TRY(series_need_new(session));
		heap_filter_set_new(filter, session->is_new);
	}
	*result = keep(filter);
	return NULL;
}

struct heap_error *session_filter_finish(struct session *session, struct heap_filter *filter)
{
	uint64_t unknown = heap_filter_unknown(filter);

	HEAP_TRY(heap_filter_finish(filter));
	if (unknown > 0)
		heap_print(session->errors,
			   "heapsh: %" PRIu64 " more object%s that field, but its bytes were not "
			   "kept (heapsnap run --content all keeps them)\n",
			   unknown, unknown == 1 ? " has" : "s have");
	return NULL;
}
