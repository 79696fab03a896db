// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/slots.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	MAX_SLOTS = 1 << 22, // of a type; a hostile file may have arrays of any length
};

struct finding {
	const struct heap_types *types;
	struct heap_slot *list;
	uint32_t count, capacity;
	bool is_short; // of memory
};

static bool add_slot(void *context, uint64_t offset, heap_type_id pointer)
{
	struct finding *finding = context;

	if (finding->count == MAX_SLOTS)
		return false;
	if (finding->count == finding->capacity) {
		uint32_t capacity = finding->capacity ? finding->capacity * 2 : 8;
		void *larger = realloc(finding->list, capacity * sizeof(*finding->list));

		finding->is_short = !larger;
		if (!larger)
			return false;
		finding->list = larger;
		finding->capacity = capacity;
	}
	finding->list[finding->count++] = (struct heap_slot){
		.offset = offset,
		.pointee = heap_types_strip(finding->types, finding->types->types[pointer].target),
	};
	return true;
}

static int compare_slots(const void *left, const void *right)
{
	const struct heap_slot *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->pointee < b->pointee ? -1 : a->pointee > b->pointee;
}

// @return false if memory is short
static bool find_slots(const struct heap_types *types, heap_type_id type, struct heap_slots *slots)
{
	struct finding finding = { .types = types };

	heap_types_visit_pointers(types, type, add_slot, &finding);
	if (finding.is_short) {
		free(finding.list);
		return false;
	}
	if (finding.count > 0)
		qsort(finding.list, finding.count, sizeof(*finding.list), compare_slots);
	slots->list = finding.list;
	slots->count = finding.count;
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
