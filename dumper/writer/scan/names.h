// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NAMES_H
#define NAMES_H

/**
 * Names of objects: the type of an object, how many elements of it, and how that is known.
 *
 *	of     3 1 1 1 2 1 3 …     a number for each object
 *	list   {none} {struct node, 1, pointer} {char, 24, pointer} …
 *
 * There are few different names: of a type, each block size gives one at most. So 4 bytes per object stand
 * for 10. Only the types are a column of their own, in the snapshot, since most stages read nothing else.
 */

#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct name {
	uint64_t elements : 55;
	uint64_t evidence : 8; /**< enum heap_evidence */
	uint64_t is_sure : 1;  /**< no guess between a root and the slot that gave it */
	heap_type_id type;
};

/** Zeros at first. */
struct names {
	struct name *list; /**< [count] [0] is that of objects without one: zeros */
	uint32_t count, capacity;
	uint32_t last; /**< that names_find() has found */
	struct heap_hash_table by_name;
	uint32_t *of; /**< [objects] number of its name, times 2, + is_sure; NULL: none has one */
};

/** No object has a name. names_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *names_init(struct names *names, heap_object_id objects);

void names_deinit(struct names *names);

/** Finds the number of a name, or gives it one. */
HEAP_MUST_CHECK
struct heap_error *names_find(struct names *names, const struct name *name, uint32_t *result);

/** Gives an object the name of a number. Several threads may name different objects. */
static inline void names_give(struct names *names, heap_object_id object, uint32_t number)
{
	names->of[object] = number << 1 | names->list[number].is_sure;
}

/** Takes an object's name away. Its is_sure stays, since other evidence was weighed with it. */
static inline void names_take(struct names *names, heap_object_id object)
{
	names->of[object] &= 1;
}

/** Gives an object a name that no claim waits for; is_sure stays. */
HEAP_MUST_CHECK
struct heap_error *names_set(struct names *names, heap_object_id object, heap_type_id type,
			     uint64_t elements, enum heap_evidence evidence);

/** The name of an object. Valid until another one is found. */
static inline const struct name *names_of(const struct names *names, heap_object_id object)
{
	return &names->list[names->of[object] >> 1];
}

/** True if no guess led to the object's name. Thread-safe while names are found. */
static inline bool names_is_sure(const struct names *names, heap_object_id object)
{
	return names->of[object] & 1;
}

#endif
