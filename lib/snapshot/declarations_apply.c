// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What follows from declarations: an object's slots say what the objects are that they point to.
 * Only what has no type is named so; whatever else is known of an object stays.
 */
#include "lib/base/cleanup.h"
#include "lib/snapshot/declarations.h"
#include "lib/types/repetitions.h"

#include <stdlib.h>

enum {
	TEXT_BYTES = 256, // of an object, that are looked at
};

struct applying {
	struct heap_snapshot *snapshot;
	struct heap_slot_table slots;
	struct heap_repetitions repetitions;
	heap_object_id *queue; // [queued] objects whose slots are to be followed
	size_t queued, capacity;
};

uint64_t heap_declarations_fit(const struct heap_types *types, heap_type_id type, uint64_t size)
{
	uint64_t start, value = heap_types_size(types, type);
	heap_type_id element;

	if (heap_types_flexible(types, type, &start, &element)) {
		uint64_t stride = heap_types_size(types, element);

		return size < start ? 0 : 1 + (stride > 0 ? (size - start) / stride : 0);
	}
	return value > 0 ? size / value : 0;
}

// --- naming ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *name(struct applying *applying, heap_object_id object, heap_type_id type,
			       enum heap_evidence evidence)
{
	struct heap_snapshot *snapshot = applying->snapshot;

	if (applying->queued == applying->capacity) {
		size_t capacity = applying->capacity * 2 + 64;
		void *larger = realloc(applying->queue, capacity * sizeof(*applying->queue));

		if (!larger)
			return heap_error_out_of_memory();
		applying->queue = larger;
		applying->capacity = capacity;
	}
	applying->queue[applying->queued++] = object;
	snapshot->type[object] = type;
	snapshot->elements[object] =
		heap_declarations_fit(&snapshot->types, type, snapshot->size[object]);
	snapshot->evidence[object] = (uint8_t)evidence;
	return NULL;
}

static bool is_unknown(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->type[object] == HEAP_NO_TYPE &&
	       snapshot->evidence[object] == HEAP_EVIDENCE_NONE;
}

// Whether it reads like a text: to its NUL, or as far as it was kept.
HEAP_MUST_CHECK
static struct heap_error *find_text(struct heap_snapshot *snapshot, heap_object_id object,
				    bool *is_text)
{
	uint8_t bytes[TEXT_BYTES];
	size_t kept, length = 0;
	struct heap_error *error =
		heap_snapshot_read_content(snapshot, object, bytes, sizeof(bytes), &kept);

	*is_text = false;
	if (error)
		return error;
	while (length < kept && bytes[length] != '\0') {
		if (bytes[length] < ' ' && (bytes[length] < '\t' || bytes[length] > '\r'))
			return NULL;
		length++;
	}
	*is_text = length > 0 && (length < kept || kept < snapshot->size[object]);
	return NULL;
}

// Whether a whole number of values fills an object.
static bool fills(const struct heap_types *types, heap_type_id type, uint64_t size)
{
	uint64_t value = heap_types_size(types, type);

	if (value == 0)
		return false;
	return heap_types_flexible(types, type, NULL, NULL)
		       ? heap_declarations_fit(types, type, size) > 0
		       : size > 0 && size % value == 0;
}

// Of bytes everything is a whole number; only texts are taken for such.
HEAP_MUST_CHECK
static struct heap_error *name_target(struct applying *applying, heap_object_id object,
				      heap_type_id type)
{
	bool is_it = true;
	struct heap_error *error = NULL;

	if (heap_types_size(&applying->snapshot->types, type) == 1)
		error = find_text(applying->snapshot, object, &is_it);
	return error || !is_it ? error : name(applying, object, type, HEAP_EVIDENCE_POINTER);
}

// The slots where a pointer of an object stands, if it is of that type; NULL if there are none.
HEAP_MUST_CHECK
static struct heap_error *find_slots(const struct heap_snapshot *snapshot,
				     struct heap_repetitions *repetitions, heap_type_id type,
				     uint32_t edge, const struct heap_slots **slots,
				     uint32_t *first, uint32_t *end)
{
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(repetitions, type, &repetition));
	*slots = heap_repetition_slots_at(repetition, (uint64_t)snapshot->edge_slot[edge] * 8,
					  first, end);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct applying *applying, heap_object_id object)
{
	struct heap_snapshot *snapshot = applying->snapshot;
	struct heap_error *error = NULL;

	for (uint32_t i = snapshot->edge_first[object];
	     !error && i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		const struct heap_slots *slots;
		uint32_t first, end;

		snapshot->edge_flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		error = find_slots(snapshot, &applying->repetitions, snapshot->type[object], i,
				   &slots, &first, &end);
		if (error || !slots)
			continue;
		snapshot->edge_flags[i] |= HEAP_EDGE_TYPED;
		// Of a union's several nobody knows which is meant.
		if (end - first == 1 && snapshot->edge_interior[i] == 0 &&
		    is_unknown(snapshot, target) &&
		    fills(&snapshot->types, slots->list[first].pointee, snapshot->size[target]))
			error = name_target(applying, target, slots->list[first].pointee);
	}
	return error;
}

// Names all that are like a declared object.
HEAP_MUST_CHECK
static struct heap_error *name_alike(struct applying *applying,
				     const struct heap_declaration *declaration)
{
	const struct heap_snapshot *snapshot = applying->snapshot;
	heap_object_id like = declaration->object;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (snapshot->site[i] == snapshot->site[like] &&
		    snapshot->size[i] == snapshot->size[like] && is_unknown(snapshot, i))
			HEAP_TRY(name(applying, i, declaration->type, HEAP_EVIDENCE_VOTE));
	}
	return NULL;
}

// @param first  in the queue
HEAP_MUST_CHECK
static struct heap_error *follow_from(struct applying *applying, size_t first)
{
	for (size_t i = first; i < applying->queued; i++)
		HEAP_TRY(follow(applying, applying->queue[i]));
	return NULL;
}

// What pointers say goes before what is merely alike.
HEAP_MUST_CHECK
static struct heap_error *apply(struct applying *applying)
{
	struct heap_declarations *declarations = applying->snapshot->declarations;

	for (size_t i = 0; i < declarations->count; i++)
		HEAP_TRY(name(applying, declarations->list[i].object, declarations->list[i].type,
			      HEAP_EVIDENCE_DECLARED));
	HEAP_TRY(follow_from(applying, 0));
	for (size_t i = 0; i < declarations->count; i++) {
		size_t queued = applying->queued;

		if (!declarations->list[i].is_for_alike)
			continue;
		HEAP_TRY(name_alike(applying, &declarations->list[i]));
		HEAP_TRY(follow_from(applying, queued));
	}
	declarations->derived = (uint32_t)(applying->queued - declarations->count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct applying *applying)
{
	struct heap_error *error =
		heap_slot_table_init(&applying->slots, &applying->snapshot->types);

	return error ? error : heap_repetitions_init(&applying->repetitions, &applying->slots);
}

static void release(struct applying *applying)
{
	heap_repetitions_deinit(&applying->repetitions);
	heap_slot_table_deinit(&applying->slots);
	free(applying->queue);
}

struct heap_error *heap_declarations_apply(struct heap_snapshot *snapshot)
{
	struct applying applying = { .snapshot = snapshot };
	struct heap_error *error;

	if (snapshot->declarations->are_applied)
		return NULL;
	snapshot->declarations->are_applied =
		true; // what is loaded now is not applied to in between
	error = heap_snapshot_load(snapshot, HEAP_DECLARED_COLUMNS | HEAP_COLUMN_SIZE |
						     HEAP_COLUMN_SITE | HEAP_COLUMN_EDGES |
						     HEAP_COLUMN_SLOTS);
	if (!error)
		error = prepare(&applying);
	if (!error)
		error = apply(&applying);
	snapshot->declarations->are_applied = !error;
	release(&applying);
	return error;
}

struct heap_error *heap_declarations_weigh(struct heap_snapshot *snapshot, heap_object_id object,
					   heap_type_id type, struct heap_repetitions *repetitions,
					   int64_t *score)
{
	struct heap_error *error =
		heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES | HEAP_COLUMN_SLOTS);

	*score = 0;
	for (uint32_t i = error ? 0 : snapshot->edge_first[object];
	     !error && i < snapshot->edge_first[object + 1]; i++) {
		const struct heap_slots *slots;
		uint32_t first, end;

		error = find_slots(snapshot, repetitions, type, i, &slots, &first, &end);
		if (!error)
			*score += slots ? 1 : -1;
	}
	return error;
}
