// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/hash_table.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	FIRST_SLOTS = 64, // a power of two
};

// There is room.
static void put(struct heap_hash_table *table, struct heap_hash_slot slot)
{
	uint32_t at = slot.hash & table->mask;

	while (table->slots[at].number)
		at = (at + 1) & table->mask;
	table->slots[at] = slot;
}

// The slots of the smallest table that is at most three quarters full with so many numbers.
static uint64_t slots_for(uint64_t count)
{
	uint64_t slots = FIRST_SLOTS;

	while (slots / 4 * 3 < count)
		slots *= 2;
	return slots;
}

struct heap_error *heap_hash_reserve(struct heap_hash_table *table, uint32_t more)
{
	uint64_t slots = slots_for((uint64_t)table->count + more);
	struct heap_hash_table larger = { .mask = (uint32_t)(slots - 1), .count = table->count };

	if (table->slots && slots <= (uint64_t)table->mask + 1)
		return NULL;
	if (slots > (uint64_t)UINT32_MAX + 1)
		return heap_error_out_of_memory();
	larger.slots = calloc(slots, sizeof(*larger.slots));
	if (!larger.slots)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; table->slots && i <= table->mask; i++)
		if (table->slots[i].number)
			put(&larger, table->slots[i]);
	free(table->slots);
	*table = larger;
	return NULL;
}

struct heap_error *heap_hash_add(struct heap_hash_table *table, uint64_t hash, uint32_t number)
{
	// Most calls end here: heap_hash_reserve() counts slots in a loop.
	if (!table->slots || table->count >= table->mask / 4 * 3)
		HEAP_TRY(heap_hash_reserve(table, 1));
	put(table, (struct heap_hash_slot){ heap_hash_fold(hash), number + 1 });
	table->count++;
	return NULL;
}

void heap_hash_replace(struct heap_hash_table *table, uint64_t hash, uint32_t old, uint32_t number)
{
	uint32_t at = heap_hash_fold(hash) & table->mask;

	while (table->slots[at].number != old + 1)
		at = (at + 1) & table->mask;
	table->slots[at].number = number + 1;
}

void heap_hash_clear(struct heap_hash_table *table)
{
	if (table->slots)
		memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
	table->count = 0;
}

void heap_hash_table_deinit(struct heap_hash_table *table)
{
	free(table->slots);
	*table = (struct heap_hash_table){ 0 };
}
