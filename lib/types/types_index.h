// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TYPES_INDEX_H
#define HEAP_TYPES_INDEX_H

/**
 * How a type table finds what it already has; for the table's own files only.
 *
 * Made when it is first needed, and again for whatever was added behind its back.
 */

#include "lib/types/types.h"

/** A hash table of numbers (ids, offsets); 0 is an empty slot. */
struct heap_types_slots {
	uint32_t *slots; /**< [mask + 1] */
	uint32_t mask;
	uint32_t used;
};

/** What the index keeps for each type. */
struct heap_types_entry {
	uint64_t hash;      /**< named ones: of the layout; others: of what they refer to */
	uint64_t reference; /**< as others see it that refer to it: named ones by name alone */
	uint32_t next;      /**< next of that name; of those a declaration comes first */
	uint32_t stamp;     /**< the merge that last met it */
	uint32_t origin;    /**< what it came from, if that merge made it */
	bool several;       /**< another definition of that name has another layout */
};

struct heap_types_index {
	struct heap_types_slots strings;  /**< offsets of strings */
	uint32_t strings_end;             /**< the strings before it are in */
	struct heap_types_slots layouts;  /**< types but declarations, by hash */
	struct heap_types_slots names;    /**< named structs, unions, classes, enums */
	struct heap_types_entry *entries; /**< [capacity] by type */
	uint32_t capacity;
	uint32_t types_end; /**< the types before it are in */
	uint32_t stamp;     /**< of the last merge */
};

/** Makes the table's index unless it has one. */
HEAP_MUST_CHECK
struct heap_error *heap_types_make_index(struct heap_types *types);

void heap_types_drop_index(struct heap_types *types);

/** Makes room for one more number. */
HEAP_MUST_CHECK
struct heap_error *heap_types_slots_reserve(struct heap_types_slots *slots,
					    uint64_t (*hash)(const struct heap_types *types,
							     uint32_t number),
					    const struct heap_types *types);

/** Makes room for @p more in an array that has @p count of @p capacity. */
HEAP_MUST_CHECK
struct heap_error *heap_types_grow(void *array, uint32_t count, uint32_t more, uint32_t *capacity,
				   size_t size);

static inline uint64_t heap_types_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/** A struct, union, class or enum that has a name. */
static inline bool heap_types_is_named(const struct heap_type *type)
{
	return type->name && type->kind >= HEAP_TYPE_STRUCT && type->kind <= HEAP_TYPE_ENUM;
}

static inline bool heap_types_has_members(const struct heap_type *type)
{
	return type->kind >= HEAP_TYPE_STRUCT && type->kind <= HEAP_TYPE_UNION;
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
