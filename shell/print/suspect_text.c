// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/suspect_text.h"

#include "shell/print/describe.h"

#include <inttypes.h>

static const char *const kind_names[] = {
	[HEAP_SUSPECT_ONE] = "one",
	[HEAP_SUSPECT_GROUP] = "group",
	[HEAP_SUSPECT_CHAIN] = "chain",
};

const char *suspect_text_kind(enum heap_suspect_kind kind)
{
	return kind_names[kind];
}

const char *suspect_text_type(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[object];

	if (type != HEAP_NO_TYPE)
		return describe_type(session, type);
	return session_format(session, "untyped blocks of %s",
			      describe_site(session, snapshot->site[object]));
}

const char *suspect_text_describe(struct session *session, const struct heap_suspect *suspect)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *kind = suspect_text_type(session, suspect->example);
	const char *place = suspect->place == HEAP_NO_NODE ? "several roots"
							   : describe_node(session, suspect->place);

	if (suspect->kind == HEAP_SUSPECT_GROUP)
		return session_format(session, "%" PRIu64 " × %s, held by %s", suspect->members,
				      kind, place);
	if (suspect->kind == HEAP_SUSPECT_CHAIN)
		return session_format(session, "a chain of %" PRIu64 " × %s, held by %s",
				      suspect->members, kind, place);
	return session_format(session, "%s%s", describe_object(session, suspect->example),
			      snapshot->size[suspect->example] >= suspect->bytes / 2
				      ? ", which is as large itself"
				      : ", which holds much of many kinds");
}

const char *suspect_text_advice(struct session *session, const struct heap_suspect *suspect)
{
	uint64_t address = session->snapshot->address[suspect->example];

	if (suspect->kind == HEAP_SUSPECT_CHAIN)
		return "If the list should be short, look for who takes nodes off it, and when.";
	if (suspect->kind == HEAP_SUSPECT_ONE)
		return session_format(session,
				      "If it should be smaller, `dominators --depth 3 %#" PRIx64
				      "` says what is in it.",
				      address);
	if (suspect->place == HEAP_NO_NODE)
		return session_format(session,
				      "No single object holds them all: `identify %#" PRIx64
				      "` says who holds one of them.",
				      address);
	return "If they should be fewer, look for who takes them out again, and when.";
}
