// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/holders.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/hash_table.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_STEPS = 12, // of a path in words
};

// The state of an object in the search.
enum {
	NOT_VISITED,
	IN_NEXT,
	VISITED,
};

// A step of a path: the holder of an object, and the pointer in it.
struct step {
	uint64_t key;    // hash of the names up to it; 0: none
	uint32_t source; // an object, or a root edge if is_root
	uint32_t edge;   // UINT32_MAX: from a root
};

// The hash of a field's name, by its type and its offset in an element.
struct field {
	heap_type_id type;
	uint64_t offset;
	uint64_t key;
};

struct holders {
	struct session *session;
	struct step *steps;    // [objects]
	uint8_t *state;        // [objects]
	uint8_t *depth;        // [objects] levels up to it, 255 at most
	heap_object_id *queue; // [objects] a level, then the next one
	uint64_t *type_keys;   // [types] 0: not yet
	struct HEAP_ARRAY(struct field) fields;
	struct heap_hash_table by_field;
	size_t begin, end; // of the level in the queue
	unsigned level;
	bool typed_only;
	struct heap_error *error;
};

// --- names -------------------------------------------------------------------------------

// "[3].value" is "[].value".
static const char *without_indexes(struct session *session, const char *field)
{
	CLEANUP_FREE char *name = strdup(field);
	char *to = name;

	if (!name)
		return "";
	for (const char *at = field; *at; at++) {
		*to++ = *at;
		if (*at == '[')
			at += strspn(at + 1, "0123456789");
	}
	*to = '\0';
	return session_keep(session, keep(name));
}

static const char *object_field(struct holders *holders, heap_object_id object, uint64_t offset)
{
	struct session *session = holders->session;

	// An offset in bytes without a type says what the layout is, not who holds.
	if (session->snapshot->type[object] == HEAP_NO_TYPE)
		return "";
	return without_indexes(session,
			       field_brief(session, field_of_object(session, object, offset)));
}

static uint64_t hash_text(const char *text)
{
	return heap_hash_bytes(HEAP_HASH_START, text, strlen(text));
}

static uint64_t type_key(struct holders *holders, heap_type_id type)
{
	uint64_t *key = &holders->type_keys[type];

	if (*key == 0) {
		SESSION_SCOPE(holders->session);

		*key = type == HEAP_NO_TYPE ? 1
					    : hash_text(describe_type(holders->session, type)) | 1;
	}
	return *key;
}

// Elements of an array have the same fields.
static uint64_t field_key(struct holders *holders, heap_object_id object, uint64_t offset)
{
	const struct heap_snapshot *snapshot = holders->session->snapshot;
	heap_type_id type = snapshot->type[object];
	uint64_t size = type == HEAP_NO_TYPE ? 0 : heap_types_size(&snapshot->types, type);
	uint64_t inside = size > 0 && snapshot->elements[object] > 1 ? offset % size : offset;
	uint64_t hash = heap_hash_pair(type, inside);
	uint32_t found;

	if (type == HEAP_NO_TYPE)
		return 1;
	found = heap_hash_find(&holders->by_field, hash, i,
			       holders->fields.items[i].type == type &&
				       holders->fields.items[i].offset == inside);
	if (found != HEAP_HASH_NONE)
		return holders->fields.items[found].key;

	SESSION_SCOPE(holders->session);
	struct field field = { type, inside, hash_text(object_field(holders, object, offset)) };

	if (!holders->error)
		holders->error = heap_array_append(&holders->fields, field);
	if (!holders->error)
		holders->error = heap_hash_add(&holders->by_field, hash,
					       (uint32_t)(holders->fields.count - 1));
	return field.key;
}

// "sessions", "main: list", "a register"
static const char *root_name(struct holders *holders, const struct heap_root_edge *edge)
{
	struct session *session = holders->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[edge->root];
	const char *function = "", *name;

	if (root->frame != HEAP_NO_INDEX)
		function = heap_snapshot_string(snapshot, snapshot->frames[root->frame].function);
	if (root->kind > HEAP_ROOT_LOCAL)
		return session_format(session, "%s%s(%s)", describe_name(session, function),
				      *function ? ": " : "", describe_root_kind(root->kind));
	name = describe_name(session, heap_snapshot_string(snapshot, root->name));
	return session_format(
		session, "%s%s%s%s", describe_name(session, function), *function ? ": " : "", name,
		without_indexes(session, field_brief(session, field_of_root(session, edge->root,
									    edge->offset))));
}

// --- the search --------------------------------------------------------------------------

// Offers an object of the next level a step; the least key wins, whatever the order is.
static void offer(struct holders *holders, heap_object_id object, struct step step)
{
	uint8_t *state = &holders->state[object];

	if (*state == VISITED || (*state == IN_NEXT && holders->steps[object].key <= step.key))
		return;
	if (*state == NOT_VISITED)
		holders->queue[holders->end++] = object;
	*state = IN_NEXT;
	holders->depth[object] = (uint8_t)(holders->level < UINT8_MAX ? holders->level : UINT8_MAX);
	holders->steps[object] = step;
}

static bool is_variable(const struct heap_snapshot *snapshot, const struct heap_root_edge *edge)
{
	return snapshot->roots[edge->root].kind <= HEAP_ROOT_LOCAL &&
	       (edge->flags & HEAP_EDGE_TYPED);
}

static void offer_roots(struct holders *holders)
{
	const struct heap_snapshot *snapshot = holders->session->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (holders->state[edge->target] == VISITED ||
		    (holders->typed_only && !is_variable(snapshot, edge)))
			continue;

		SESSION_SCOPE(holders->session);

		offer(holders, edge->target,
		      (struct step){ hash_text(root_name(holders, edge)) | 1, (uint32_t)i,
				     UINT32_MAX });
	}
}

static void offer_pointees(struct holders *holders, heap_object_id source)
{
	const struct heap_snapshot *snapshot = holders->session->snapshot;

	for (uint32_t i = snapshot->edge_first[source]; i < snapshot->edge_first[source + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		uint64_t key = holders->steps[source].key;

		if (holders->state[target] == VISITED ||
		    (holders->typed_only && !(snapshot->edge_flags[i] & HEAP_EDGE_TYPED)))
			continue;
		if (snapshot->type[source] != snapshot->type[target])
			key = heap_hash_mix(
				      heap_hash_mix(key, type_key(holders, snapshot->type[source])),
				      field_key(holders, source,
						(uint64_t)snapshot->edge_slot[i] * 8)) |
			      1;
		offer(holders, target, (struct step){ key, source, i });
	}
}

// Visits all that a level reaches, a level at a time.
static void search(struct holders *holders)
{
	while (holders->begin < holders->end && !holders->error) {
		size_t begin = holders->begin, end = holders->end;

		holders->level++;
		for (size_t i = begin; i < end; i++)
			holders->state[holders->queue[i]] = VISITED;
		for (size_t i = begin; i < end && !session_must_stop(holders->session); i++)
			offer_pointees(holders, holders->queue[i]);
		holders->begin = end;
	}
}

// First by typed pointers from variables; then all others, from the roots and from what was visited.
static void search_twice(struct holders *holders)
{
	size_t visited;

	holders->typed_only = true;
	offer_roots(holders);
	search(holders);
	holders->typed_only = false;
	visited = holders->end;
	offer_roots(holders);
	for (size_t i = 0; i < visited; i++)
		offer_pointees(holders, holders->queue[i]);
	search(holders);
}

// --- for others --------------------------------------------------------------------------

void holders_destroy(struct holders *holders)
{
	if (!holders)
		return;
	heap_column_destroy(holders->steps);
	heap_column_destroy(holders->state);
	heap_column_destroy(holders->depth);
	heap_column_destroy(holders->queue);
	heap_array_deinit(&holders->fields);
	heap_hash_table_deinit(&holders->by_field);
	heap_error_destroy(holders->error);
	free(holders->type_keys);
	free(holders);
}

static void cleanup_holders(struct holders **holders)
{
	holders_destroy(*holders);
}

struct heap_error *holders_create(struct session *session, struct holders **result)
{
	CLEANUP(cleanup_holders) struct holders *holders = calloc(1, sizeof(*holders));
	size_t count = (size_t)session->snapshot->object_count + 1;
	struct heap_error *error;

	if (!holders)
		return heap_error_out_of_memory();
	holders->session = session;
	holders->type_keys =
		calloc((size_t)session->snapshot->types.count + 1, sizeof(*holders->type_keys));
	if (!holders->type_keys)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_column_create(count, sizeof(*holders->steps), &holders->steps));
	HEAP_TRY(heap_column_create(count, sizeof(*holders->state), &holders->state));
	HEAP_TRY(heap_column_create(count, sizeof(*holders->depth), &holders->depth));
	HEAP_TRY(heap_column_create(count, sizeof(*holders->queue), &holders->queue));
	search_twice(holders);
	error = holders->error;
	holders->error = NULL;
	if (!error)
		*result = keep(holders);
	return error;
}

uint64_t holders_key(const struct holders *holders, heap_object_id object)
{
	return holders->steps[object].key;
}

unsigned holders_depth(const struct holders *holders, heap_object_id object)
{
	return holders->depth[object];
}

// The step of a path in front of @p text; "" between objects of one type.
static const char *name_step(struct holders *holders, heap_object_id object, const char *text)
{
	struct session *session = holders->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct step *step = &holders->steps[object];
	heap_type_id type;

	if (step->edge == UINT32_MAX)
		return session_format(session, "%s%s",
				      root_name(holders, &snapshot->root_edges[step->source]),
				      text);
	type = snapshot->type[step->source];
	if (type == snapshot->type[object])
		return text;
	return session_format(
		session, " → %s%s%s", type == HEAP_NO_TYPE ? "block" : describe_type(session, type),
		object_field(holders, step->source, (uint64_t)snapshot->edge_slot[step->edge] * 8),
		text);
}

const char *holders_path(struct holders *holders, heap_object_id object)
{
	struct session *session = holders->session;
	heap_object_id at = object;
	const char *text = "";

	if (holders->steps[object].key == 0)
		return "";
	for (int named = 0; holders->steps[at].edge != UINT32_MAX && named < MAX_STEPS;) {
		const char *longer = name_step(holders, at, text);

		named += longer != text;
		text = longer;
		at = holders->steps[at].source;
	}
	if (holders->steps[at].edge != UINT32_MAX)
		text = session_format(session, " → ...%s", text);
	while (holders->steps[at].edge != UINT32_MAX)
		at = holders->steps[at].source;
	return name_step(holders, at, text);
}
