// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TYPES_INDEX_H
#define HEAP_TYPES_INDEX_H

/**
 * The index of a type table, which finds equal strings and types; for the table's own files only.
 *
 * It is made when it is first needed, and brought up to date with what has been added since.
 */

#include "lib/base/hash_table.h"
#include "lib/types/types.h"

/** The index's entry for a type. */
struct heap_types_entry {
	uint64_t hash;      /**< of a named type: of its layout; of others: of what they refer to */
	uint64_t reference; /**< the type's part in the hash of one that refers to it: of a named
			     *   type, its name alone */
	uint32_t next;      /**< the next type of that name; a declaration comes first */
	uint32_t stamp;     /**< the last merge that matched it */
	uint32_t origin;    /**< the type that it was copied from, if that merge added it */
	bool several;       /**< another definition of that name has another layout */
};

struct heap_types_index {
	struct heap_hash_table strings;   /**< offsets of strings */
	uint32_t strings_end;             /**< the strings before it are indexed */
	struct heap_hash_table layouts;   /**< types except declarations, by hash */
	struct heap_hash_table names;     /**< the first of the named types of each name */
	struct heap_types_entry *entries; /**< [capacity] by type */
	uint32_t capacity;
	uint32_t types_end; /**< the types before it are indexed */
	uint32_t stamp;     /**< of the last merge */
};

/** Makes the table's index unless it has one. */
HEAP_MUST_CHECK
struct heap_error *heap_types_make_index(struct heap_types *types);

/** Frees the index, if there is one. */
void heap_types_drop_index(struct heap_types *types);

/** Makes room for @p more in an array that has @p count of @p capacity. */
HEAP_MUST_CHECK
struct heap_error *heap_types_grow(void *array, uint32_t count, uint32_t more, uint32_t *capacity,
				   size_t size);

static inline uint64_t heap_types_mix(uint64_t hash, uint64_t value)
{
	return heap_hash_mix(hash, value);
}

/**
 * As heap_types_merge(), for a table whose types are in part in @p types already.
 *
 * @param known  [from->count] where a type of @p from already is in @p types, or 0; of
 *               those nothing else in @p from counts. NULL: none
 *
 * If @p from has the very strings of @p types, names are the same numbers in both.
 */
HEAP_MUST_CHECK
struct heap_error *heap_types_merge_known(struct heap_types *types, const struct heap_types *from,
					  const heap_type_id *known, heap_type_id *map);

#endif
