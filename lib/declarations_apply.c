// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What follows from declarations: an object's slots say what the objects are that they point to.
 * Only what has no type is named so; whatever else is known of an object stays.
 */
#include "lib/cleanup.h"
#include "lib/declarations.h"

#include <stdlib.h>

enum {
	TEXT_BYTES = 256, // of an object, that are looked at
};

struct slot {
	uint64_t offset;
	heap_type_id pointee; // stripped
};

// Where pointers are in a value of a type.
struct slots {
	heap_type_id type;
	struct slot *list; // [count] by offset
	size_t count, capacity;
	bool is_short; // of memory
};

struct applying {
	struct heap_snapshot *snapshot;
	struct slots *known; // [known_count] of the types that were asked for
	size_t known_count;
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

// --- slots -------------------------------------------------------------------

static bool add_slot(void *context, uint64_t offset, heap_type_id pointer)
{
	struct slots *slots = context;

	if (slots->count == slots->capacity) {
		size_t capacity = slots->capacity * 2 + 16;
		void *larger = realloc(slots->list, capacity * sizeof(*slots->list));

		slots->is_short = !larger;
		if (!larger)
			return false;
		slots->list = larger;
		slots->capacity = capacity;
	}
	slots->list[slots->count++] = (struct slot){ offset, pointer };
	return true;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

HEAP_MUST_CHECK
static struct heap_error *find_slots(struct applying *applying, heap_type_id type,
				     const struct slots **result)
{
	const struct heap_types *types = &applying->snapshot->types;
	struct slots *known, *slots;

	for (size_t i = 0; i < applying->known_count; i++) {
		*result = &applying->known[i];
		if ((*result)->type == type)
			return NULL;
	}
	known = realloc(applying->known, (applying->known_count + 1) * sizeof(*known));
	if (!known)
		return heap_error_out_of_memory();
	applying->known = known;
	slots = &known[applying->known_count++];
	*slots = (struct slots){ .type = type };
	heap_types_visit_pointers(types, type, add_slot, slots);
	if (slots->is_short)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < slots->count; i++)
		slots->list[i].pointee =
			heap_types_strip(types, types->types[slots->list[i].pointee].target);
	if (slots->count > 0)
		qsort(slots->list, slots->count, sizeof(*slots->list), compare_slots);
	*result = slots;
	return NULL;
}

// The slot at an offset, or NULL. @param is_one_of  of a union's several, which nobody tells apart
static const struct slot *slot_at(const struct slots *slots, uint64_t offset, bool *is_one_of)
{
	size_t low = 0, high = slots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots->list[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == slots->count || slots->list[low].offset != offset)
		return NULL;
	*is_one_of = low + 1 < slots->count && slots->list[low + 1].offset == offset;
	return &slots->list[low];
}

// The slot at an offset of an object of that type, in any of its values or elements.
HEAP_MUST_CHECK
static struct heap_error *find_slot(struct applying *applying, heap_type_id type, uint64_t offset,
				    const struct slot **result, bool *is_one_of)
{
	const struct heap_types *types = &applying->snapshot->types;
	uint64_t start, stride = heap_types_size(types, type);
	const struct slots *slots;
	heap_type_id element;
	struct heap_error *error;

	if (heap_types_flexible(types, type, &start, &element) && offset >= start) {
		type = heap_types_strip(types, element);
		stride = heap_types_size(types, type);
		offset -= start;
	}
	*result = NULL;
	*is_one_of = false;
	if (stride == 0)
		return NULL;
	error = find_slots(applying, type, &slots);
	if (!error)
		*result = slot_at(slots, offset % stride, is_one_of);
	return error;
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

HEAP_MUST_CHECK
static struct heap_error *follow(struct applying *applying, heap_object_id object)
{
	struct heap_snapshot *snapshot = applying->snapshot;
	struct heap_error *error = NULL;

	for (uint32_t i = snapshot->edge_first[object];
	     !error && i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		const struct slot *slot;
		bool is_one_of;

		snapshot->edge_flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		error = find_slot(applying, snapshot->type[object],
				  (uint64_t)snapshot->edge_slot[i] * 8, &slot, &is_one_of);
		if (error || !slot)
			continue;
		snapshot->edge_flags[i] |= HEAP_EDGE_TYPED;
		if (!is_one_of && snapshot->edge_interior[i] == 0 && is_unknown(snapshot, target) &&
		    fills(&snapshot->types, slot->pointee, snapshot->size[target]))
			error = name_target(applying, target, slot->pointee);
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
	struct heap_error *error = NULL;

	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++) {
		if (snapshot->site[i] == snapshot->site[like] &&
		    snapshot->size[i] == snapshot->size[like] && is_unknown(snapshot, i))
			error = name(applying, i, declaration->type, HEAP_EVIDENCE_VOTE);
	}
	return error;
}

// @param first  in the queue
HEAP_MUST_CHECK
static struct heap_error *follow_from(struct applying *applying, size_t first)
{
	struct heap_error *error = NULL;

	for (size_t i = first; !error && i < applying->queued; i++)
		error = follow(applying, applying->queue[i]);
	return error;
}

// What pointers say goes before what is merely alike.
HEAP_MUST_CHECK
static struct heap_error *apply(struct applying *applying)
{
	struct heap_declarations *declarations = applying->snapshot->declarations;
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < declarations->count; i++)
		error = name(applying, declarations->list[i].object, declarations->list[i].type,
			     HEAP_EVIDENCE_DECLARED);
	if (!error)
		error = follow_from(applying, 0);
	for (size_t i = 0; !error && i < declarations->count; i++) {
		size_t queued = applying->queued;

		if (!declarations->list[i].is_for_alike)
			continue;
		error = name_alike(applying, &declarations->list[i]);
		if (!error)
			error = follow_from(applying, queued);
	}
	declarations->derived = (uint32_t)(applying->queued - declarations->count);
	return error;
}

static void release(struct applying *applying)
{
	for (size_t i = 0; i < applying->known_count; i++)
		free(applying->known[i].list);
	free(applying->known);
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
		error = apply(&applying);
	snapshot->declarations->are_applied = !error;
	release(&applying);
	return error;
}

struct heap_error *heap_declarations_weigh(struct heap_snapshot *snapshot, heap_object_id object,
					   heap_type_id type, int64_t *score)
{
	struct applying applying = { .snapshot = snapshot };
	struct heap_error *error =
		heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES | HEAP_COLUMN_SLOTS);

	*score = 0;
	for (uint32_t i = error ? 0 : snapshot->edge_first[object];
	     !error && i < snapshot->edge_first[object + 1]; i++) {
		const struct slot *slot;
		bool is_one_of;

		error = find_slot(&applying, type, (uint64_t)snapshot->edge_slot[i] * 8, &slot,
				  &is_one_of);
		*score += slot ? 1 : -1;
	}
	release(&applying);
	return error;
}
