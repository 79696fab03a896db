// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/slots.h"

#include "lib/base/array.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	MAX_SLOTS = 1 << 22, // of a type; a hostile file may have arrays of any length
	HUGE_TYPE = 1 << 29, // bytes: its array stands for a flexible one (heap_types_flexible())
};

struct finding {
	const struct heap_types *types;
	uint64_t end; // offset at which slots are no longer listed
	struct HEAP_ARRAY(struct heap_slot) found;
	struct heap_error *error;
};

static bool add_slot(void *context, const struct heap_pointer_place *place)
{
	struct finding *finding = context;
	const struct heap_types *types = finding->types;
	heap_type_id pointee = heap_types_strip(types, types->types[place->pointer].target);

	if (finding->found.count == MAX_SLOTS || place->offset >= finding->end)
		return false;
	finding->error = heap_array_append(
		&finding->found,
		(struct heap_slot){
			.offset = place->offset,
			.pointee = pointee,
			// A text of any length may have its first letters in the bytes: its pointer is none of these.
			.may_be_bytes = place->beside_bytes &&
					heap_types_has_members(&types->types[pointee]),
		});
	return !finding->error;
}

static int compare_slots(const void *left, const void *right)
{
	const struct heap_slot *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->pointee < b->pointee ? -1 : a->pointee > b->pointee;
}

// The offset at which the slots of a type are no longer listed. A huge array that stands for a flexible one
// is listed as that with one element would be; nobody has all of its elements.
static uint64_t end_of_slots(const struct heap_types *types, heap_type_id type)
{
	uint64_t array;
	heap_type_id element;

	return heap_types_size(types, type) > HUGE_TYPE &&
			       heap_types_flexible(types, type, &array, &element)
		       ? array + heap_types_size(types, element)
		       : UINT64_MAX;
}

// Members of a union that lead to the same leave no choice. @return how many are left
static uint32_t drop_equal(struct heap_slot *list, size_t count)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || compare_slots(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	return kept;
}

// Most types list their pointers in order, and may have very many.
static void sort(struct heap_slot *list, size_t count)
{
	size_t sorted = 1;

	while (sorted < count && compare_slots(&list[sorted - 1], &list[sorted]) <= 0)
		sorted++;
	if (sorted < count)
		qsort(list, count, sizeof(*list), compare_slots);
}

// @return false if memory is short
static bool find_slots(const struct heap_types *types, heap_type_id type, struct heap_slots *slots)
{
	struct finding finding = { .types = types, .end = end_of_slots(types, type) };

	heap_types_visit_places(types, type, add_slot, &finding);
	if (finding.error) {
		heap_error_destroy(finding.error);
		heap_array_deinit(&finding.found);
		return false;
	}
	sort(finding.found.items, finding.found.count);
	slots->list = finding.found.items;
	slots->count = drop_equal(slots->list, finding.found.count);
	__atomic_store_n(&slots->are_known, true, __ATOMIC_RELEASE);
	return true;
}

struct heap_error *heap_slot_table_init(struct heap_slot_table *table,
					const struct heap_types *types)
{
	*table = (struct heap_slot_table){
		.types = types,
		.slots = calloc(types->count, sizeof(*table->slots)),
	};
	return table->slots ? NULL : heap_error_out_of_memory();
}

void heap_slot_table_deinit(struct heap_slot_table *table)
{
	for (uint32_t i = 0; table->slots && i < table->types->count; i++)
		free(table->slots[i].list);
	free(table->slots);
}

const struct heap_slots *heap_slot_table_get(const struct heap_slot_table *table, heap_type_id type)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct heap_slots *slots = &table->slots[type];
	bool is_found = true;

	if (__atomic_load_n(&slots->are_known, __ATOMIC_ACQUIRE))
		return slots;
	pthread_mutex_lock(&lock);
	if (!slots->are_known)
		is_found = find_slots(table->types, type, slots);
	pthread_mutex_unlock(&lock);
	return is_found ? slots : NULL;
}
