// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libheapgraph: sets of objects, by filters and by retention.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/query/filter.h"
#include "lib/api/heapgraph_private.h"
#include "lib/graph/retained.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_WORDS = 256, // of a filter
};

static void free_set(struct heapgraph_set **set)
{
	heapgraph_set_free(*set);
}

HEAP_MUST_CHECK
static struct heap_error *create_set(struct heapgraph *graph, struct heapgraph_set **result)
{
	CLEANUP(free_set) struct heapgraph_set *set = calloc(1, sizeof(*set));

	if (!set)
		return heap_error_out_of_memory();
	set->bits = calloc((size_t)graph->snapshot->object_count / 8 + 1, 1);
	if (!set->bits)
		return heap_error_out_of_memory();
	set->graph = graph;
	*result = keep(set);
	return NULL;
}

struct heapgraph_error *heapgraph_set_create(struct heapgraph *graph, struct heapgraph_set **result)
{
	return heapgraph_public(create_set(graph, result));
}

void heapgraph_set_free(struct heapgraph_set *set)
{
	if (!set)
		return;
	free(set->bits);
	free(set);
}

void heapgraph_set_add(struct heapgraph_set *set, heapgraph_object_id object)
{
	if (object < set->graph->snapshot->object_count)
		heap_bit_set(set->bits, object);
}

bool heapgraph_set_has(const struct heapgraph_set *set, heapgraph_object_id object)
{
	return object < set->graph->snapshot->object_count && heap_bit_get(set->bits, object);
}

heapgraph_object_id heapgraph_set_next(const struct heapgraph_set *set, heapgraph_object_id from)
{
	uint32_t objects = set->graph->snapshot->object_count;

	for (uint32_t i = from; i < objects;) {
		if (i % 8 == 0 && set->bits[i / 8] == 0) {
			if (objects - i <= 8)
				break;
			i += 8;
		} else if (heap_bit_get(set->bits, i)) {
			return i;
		} else {
			i++;
		}
	}
	return HEAPGRAPH_NO_OBJECT;
}

uint64_t heapgraph_set_count(const struct heapgraph_set *set)
{
	uint64_t count = 0;

	for (size_t i = 0; i < (size_t)set->graph->snapshot->object_count / 8 + 1; i++)
		count += (uint64_t)__builtin_popcount(set->bits[i]);
	return count;
}

uint64_t heapgraph_set_bytes(const struct heapgraph_set *set)
{
	uint64_t bytes = 0;

	if (!(set->graph->has & HEAPGRAPH_OBJECTS))
		return 0;
	for (heapgraph_object_id i = heapgraph_set_next(set, 0); i != HEAPGRAPH_NO_OBJECT;
	     i = heapgraph_set_next(set, i + 1))
		bytes += set->graph->snapshot->size[i];
	return bytes;
}

// --- filters -----------------------------------------------------------------

// Takes the next word off the text, without its quotes. @param word  points to the room for it, and is
// advanced. @return false if there is no word, or a quote is not closed
static bool take_word(const char **text, char **word)
{
	const char *at = *text + strspn(*text, " \t\n");
	char *to = *word, quote = '\0';

	if (!*at)
		return false;
	for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? '\0' : *at;
		else
			*to++ = *at;
	}
	if (quote)
		return false;
	*to++ = '\0';
	*word = to;
	*text = at;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *resolve_address(void *context, const char *word,
					  struct heap_filter_operand *result)
{
	struct heapgraph *graph = context;
	char *end;

	errno = 0;

	uint64_t address = strtoull(word, &end, 16);

	if (errno || end == word || *end || *word == '-')
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not an address", word);

	HEAP_TRY(heapgraph_prepare(graph, HEAPGRAPH_OBJECTS));
	*result = (struct heap_filter_operand){ heap_snapshot_find(graph->snapshot, address),
						UINT32_MAX, 0, 0 };
	if (result->object == HEAP_NO_OBJECT)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: no live object at this address",
					 word);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare_filter(struct heapgraph *graph, struct heap_filter *filter)
{
	unsigned needs = heap_filter_needs_graph(filter) ? HEAPGRAPH_REACH : 0;

	if (heap_filter_needs_dominators(filter))
		needs |= HEAPGRAPH_RETAINED;

	HEAP_TRY(heapgraph_prepare(graph, needs));
	return heap_filter_prepare(filter, graph->graph, graph->divided);
}

HEAP_MUST_CHECK
static struct heap_error *apply(struct heapgraph *graph, struct heap_filter *filter,
				struct heapgraph_set *set)
{
	const struct heap_progress *progress = graph->has_progress ? &graph->progress : NULL;
	uint32_t objects = graph->snapshot->object_count;

	HEAP_TRY(prepare_filter(graph, filter));
	for (heap_object_id i = 0; i < objects; i++) {
		HEAP_TRY(heap_progress_step(progress, "finding", i, objects));
		if (heap_filter_matches(filter, i))
			heap_bit_set(set->bits, i);
	}
	return heap_filter_finish(filter);
}

HEAP_MUST_CHECK
static struct heap_error *find(struct heapgraph *graph, const char *text,
			       struct heapgraph_set **result)
{
	CLEANUP_FREE char *copy = malloc(strlen(text) + 1);
	char *words[MAX_WORDS + 1], *to = copy;
	int count = 0;

	if (!copy)
		return heap_error_out_of_memory();
	for (words[0] = to; count < MAX_WORDS && take_word(&text, &to); words[++count] = to)
		;
	if (text[strspn(text, " \t\n")])
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "too many words, or a quote is not closed");

	CLEANUP(heap_filter_cleanup) struct heap_filter *filter = NULL;
	CLEANUP(free_set) struct heapgraph_set *set = NULL;

	const struct heap_filter_host host = { .resolve = resolve_address, .context = graph };

	HEAP_TRY(heap_filter_parse(graph->snapshot, count, words, &host, &filter));
	HEAP_TRY(create_set(graph, &set));
	HEAP_TRY(apply(graph, filter, set));
	*result = keep(set);
	return NULL;
}

struct heapgraph_error *heapgraph_find(struct heapgraph *graph, const char *text,
				       struct heapgraph_set **result)
{
	return heapgraph_public(find(graph, text, result));
}

// --- retention ---------------------------------------------------------------

struct heapgraph_error *heapgraph_set_retained(struct heapgraph_set *set,
					       struct heapgraph_set **result)
{
	struct heapgraph *graph = set->graph;
	CLEANUP(free_set) struct heapgraph_set *retained = NULL;
	struct heap_retained amount;

	HEAPGRAPH_TRY(heapgraph_prepare(graph, HEAPGRAPH_EDGES));
	HEAPGRAPH_TRY(create_set(graph, &retained));
	HEAPGRAPH_TRY(heap_retained_by_set(graph->graph, set->bits, retained->bits, &amount));
	*result = keep(retained);
	return NULL;
}
