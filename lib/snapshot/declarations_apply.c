// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Propagates declarations: the slots of an object's type tell the types of the objects that it points
 * to. Only untyped objects get a type that way.
 */
#include "lib/snapshot/declarations.h"

#include "lib/base/array.h"
#include "lib/snapshot/block_sizes.h"
#include "lib/types/repetitions.h"

#include <stdlib.h>

enum {
	TEXT_BYTES = 256, // of an object that is tested for being a string
};

struct applying {
	struct heap_snapshot *snapshot;
	struct heap_slot_table slots;
	struct heap_repetitions repetitions;
	struct HEAP_ARRAY(heap_object_id) queue; // objects whose slots are to be followed
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

bool heap_declarations_fill(const struct heap_snapshot *snapshot, heap_type_id type, uint64_t size)
{
	enum heap_block_sizes sizes = heap_block_sizes_by(snapshot->info.allocators);
	uint64_t value = heap_types_size(&snapshot->types, type);

	if (value == 0 || heap_declarations_fit(&snapshot->types, type, size) == 0)
		return false;
	return heap_types_flexible(&snapshot->types, type, NULL, NULL) ||
	       size % value <= heap_block_slack(sizes, size);
}

// --- naming ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *name(struct applying *applying, heap_object_id object, heap_type_id type,
			       enum heap_evidence evidence)
{
	struct heap_snapshot *snapshot = applying->snapshot;

	HEAP_TRY(heap_array_append(&applying->queue, object));
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

// Tests whether an object is a printable string: up to its NUL, or as far as it was kept.
HEAP_MUST_CHECK
static struct heap_error *test_string(struct heap_snapshot *snapshot, heap_object_id object,
				      bool *is_string)
{
	uint8_t bytes[TEXT_BYTES];
	size_t kept, length = 0;

	*is_string = false;
	HEAP_TRY(heap_snapshot_read_content(snapshot, object, bytes, sizeof(bytes), &kept));
	while (length < kept && bytes[length] != '\0') {
		if (bytes[length] < ' ' && (bytes[length] < '\t' || bytes[length] > '\r'))
			return NULL;
		length++;
	}
	*is_string = length > 0 && (length < kept || kept < snapshot->size[object]);
	return NULL;
}

// Names an object that a pointer of that type points to. Any object is a whole number of bytes; so
// for bytes, only strings count.
HEAP_MUST_CHECK
static struct heap_error *name_target(struct applying *applying, heap_object_id object,
				      heap_type_id type)
{
	bool fits = true;

	if (heap_types_size(&applying->snapshot->types, type) == 1)
		HEAP_TRY(test_string(applying->snapshot, object, &fits));
	return fits ? name(applying, object, type, HEAP_EVIDENCE_POINTER) : NULL;
}

// Finds the slots of a type at the offset of an edge; NULL if there are none.
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

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		const struct heap_slots *slots;
		uint32_t first, end;

		snapshot->edge_flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		HEAP_TRY(find_slots(snapshot, &applying->repetitions, snapshot->type[object], i,
				    &slots, &first, &end));
		if (!slots)
			continue;
		snapshot->edge_flags[i] |= HEAP_EDGE_TYPED;
		// A union may have several slots there; it is unknown which one is valid.
		if (end - first == 1 && snapshot->edge_interior[i] == 0 &&
		    is_unknown(snapshot, target) &&
		    heap_declarations_fill(snapshot, slots->list[first].pointee,
					   snapshot->size[target]))
			HEAP_TRY(name_target(applying, target, slots->list[first].pointee));
	}
	return NULL;
}

// Names all untyped objects of the site and size of a declared object.
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
	for (size_t i = first; i < applying->queue.count; i++)
		HEAP_TRY(follow(applying, applying->queue.items[i]));
	return NULL;
}

// Pointers are stronger evidence than likeness: all declared objects are followed first.
HEAP_MUST_CHECK
static struct heap_error *apply(struct applying *applying)
{
	struct heap_declarations *declarations = applying->snapshot->declarations;

	for (size_t i = 0; i < declarations->count; i++)
		HEAP_TRY(name(applying, declarations->list[i].object, declarations->list[i].type,
			      HEAP_EVIDENCE_DECLARED));
	HEAP_TRY(follow_from(applying, 0));
	for (size_t i = 0; i < declarations->count; i++) {
		size_t queued = applying->queue.count;

		if (!declarations->list[i].is_for_alike)
			continue;
		HEAP_TRY(name_alike(applying, &declarations->list[i]));
		HEAP_TRY(follow_from(applying, queued));
	}
	declarations->derived = (uint32_t)(applying->queue.count - declarations->count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct applying *applying)
{
	HEAP_TRY(heap_slot_table_init(&applying->slots, &applying->snapshot->types));
	return heap_repetitions_init(&applying->repetitions, &applying->slots);
}

static void release(struct applying *applying)
{
	heap_repetitions_deinit(&applying->repetitions);
	heap_slot_table_deinit(&applying->slots);
	heap_array_deinit(&applying->queue);
}

HEAP_MUST_CHECK
static struct heap_error *load_and_apply(struct heap_snapshot *snapshot)
{
	CLEANUP(release) struct applying applying = { .snapshot = snapshot };

	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_DECLARED_COLUMNS | HEAP_COLUMN_SIZE |
						      HEAP_COLUMN_SITE | HEAP_COLUMN_EDGES |
						      HEAP_COLUMN_SLOTS));
	HEAP_TRY(prepare(&applying));
	return apply(&applying);
}

struct heap_error *heap_declarations_apply(struct heap_snapshot *snapshot)
{
	struct heap_error *error;

	if (snapshot->declarations->are_applied)
		return NULL;
	snapshot->declarations->are_applied = true; // loading columns must not apply them again
	error = load_and_apply(snapshot);
	snapshot->declarations->are_applied = !error;
	return error;
}

// True if an edge may be what a slot means: no code lies in a block, nor anything that it has no room for.
static bool may_lead_there(const struct heap_snapshot *snapshot, heap_type_id pointee,
			   uint32_t edge)
{
	const struct heap_types *types = &snapshot->types;

	return pointee == HEAP_NO_TYPE ||
	       (types->types[pointee].kind != HEAP_TYPE_FUNCTION &&
		snapshot->edge_interior[edge] + heap_types_size(types, pointee) <=
			snapshot->size[snapshot->edge_target[edge]]);
}

struct heap_error *heap_declarations_weigh(struct heap_snapshot *snapshot, heap_object_id object,
					   heap_type_id type, struct heap_repetitions *repetitions,
					   int64_t *score, int64_t *misled)
{
	*score = 0;
	if (misled)
		*misled = 0;
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES | HEAP_COLUMN_QUALITY |
						      HEAP_COLUMN_SLOTS | HEAP_COLUMN_SIZE));
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		const struct heap_slots *slots;
		uint32_t first, end;
		bool leads_there = false;

		HEAP_TRY(find_slots(snapshot, repetitions, type, i, &slots, &first, &end));
		*score += slots ? 1 : -1;
		if (!slots || !misled)
			continue;
		for (uint32_t j = first; j < end; j++)
			leads_there |= may_lead_there(snapshot, slots->list[j].pointee, i);
		*misled += !leads_there;
	}
	return NULL;
}
