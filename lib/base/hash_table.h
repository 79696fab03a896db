// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_HASH_TABLE_H
#define HEAP_HASH_TABLE_H

/**
 * Hash tables of numbers: of the indexes of an array's elements, or of ids.
 *
 * The table knows the hashes of its elements and their numbers; the elements, and the knowledge
 * of which are equal, stay with the caller. So it serves any key, and growing it needs no callback:
 *
 *	uint64_t hash = heap_hash_u64(address);
 *	uint32_t found = heap_hash_find(&sites->by_address, hash, i,
 *					sites->items[i].address == address);
 *
 *	if (found == HEAP_HASH_NONE) {
 *		found = (uint32_t)sites->count;
 *		HEAP_TRY(heap_array_append(sites, describe(address)));
 *		HEAP_TRY(heap_hash_add(&sites->by_address, hash, found));
 *	}
 *
 * Open addressing with linear probing; a slot has 32 bits of the hash and the number, and a table
 * is at most three quarters full. Nothing is ever removed. Zeros are an empty table.
 */

#include "lib/base/error.h"
#include "lib/base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_HASH_NONE UINT32_MAX /**< no number: what heap_hash_find() returns for nothing */

struct heap_hash_slot {
	uint32_t hash;   /**< heap_hash_fold() of it */
	uint32_t number; /**< + 1; 0: free */
};

struct heap_hash_table {
	struct heap_hash_slot *slots; /**< [mask + 1], or NULL */
	uint32_t mask;                /**< a power of two, minus 1 */
	uint32_t count;               /**< numbers in it */
};

/** The 32 bits of a hash that tables use. */
static inline uint32_t heap_hash_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/**
 * The next number whose hash, folded, is @p hash.
 *
 * @param at  the slot to begin with, which is moved on; @p hash at first
 * @return false: there are no more
 */
static inline bool heap_hash_next(const struct heap_hash_table *table, uint32_t hash, uint32_t *at,
				  uint32_t *number)
{
	if (!table->slots)
		return false;
	for (;;) {
		const struct heap_hash_slot *slot = &table->slots[*at & table->mask];

		if (!slot->number)
			return false;
		++*at;
		if (slot->hash == hash) {
			*number = slot->number - 1;
			return true;
		}
	}
}

/**
 * The number of the element that is wanted, or HEAP_HASH_NONE.
 *
 * @param table     the address of a table
 * @param wanted    the hash of what is wanted, 64 bits
 * @param index     the name of the variable that the condition refers to: a number
 * @param is_equal  true if element @p index is the one; evaluated for equal hashes only
 */
#define heap_hash_find(table, wanted, index, is_equal) \
	({ \
		const struct heap_hash_table *table_ = (table); \
		const uint32_t hash_ = heap_hash_fold(wanted); \
		uint32_t at_ = hash_, found_ = HEAP_HASH_NONE, index; \
		while (heap_hash_next(table_, hash_, &at_, &index)) \
			if (is_equal) { \
				found_ = index; \
				break; \
			} \
		found_; \
	})

/**
 * Adds a number, which must not be HEAP_HASH_NONE. The caller knows that no equal element is there,
 * or wants both.
 *
 * @return NULL, HEAP_ERROR_MEMORY; the table is as before then
 */
HEAP_MUST_CHECK
struct heap_error *heap_hash_add(struct heap_hash_table *table, uint64_t hash, uint32_t number);

/** Puts @p number in the place of @p old, which is in the table with that hash. */
void heap_hash_replace(struct heap_hash_table *table, uint64_t hash, uint32_t old, uint32_t number);

/** Makes room for @p more numbers, so that so many heap_hash_add() cannot fail. */
HEAP_MUST_CHECK
struct heap_error *heap_hash_reserve(struct heap_hash_table *table, uint32_t more);

/** Removes all numbers; the room stays. */
void heap_hash_clear(struct heap_hash_table *table);

/** Frees the slots; the table is empty then. */
void heap_hash_table_deinit(struct heap_hash_table *table);

/** For tables that free themselves when their block is left. */
#define CLEANUP_HASH_TABLE __attribute__((cleanup(heap_hash_table_deinit)))

#endif
