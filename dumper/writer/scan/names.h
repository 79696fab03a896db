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
 * for 14, and what is read of them is in the processor's cache. A name never moves, so several threads may read
 * names while one finds new ones.
 *
 * The number may also be that of a name that an object without one waits for. Few objects that have a name
 * wait for another: these are in a list, until there are so many that a column takes less memory.
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct name {
	uint64_t elements : 55;
	uint64_t evidence : 8; /**< enum heap_evidence */
	uint64_t is_sure : 1;  /**< no guess between a root and the slot that gave it */
	heap_type_id type;
};

/** A name that an object with another one waits for. */
struct awaited_name {
	heap_object_id object;
	uint32_t number;
};

enum {
	NAMES_BITS =
		8, /**< the first of the chunks has 2^8 names, each other one twice as many as the one before */
	NAMES_CHUNKS = 23, /**< room for 2^30 names and more */
};

/** Zeros at first. */
struct names {
	struct name
		*chunks[NAMES_CHUNKS]; /**< number 0 is the name of objects without one: zeros */
	uint32_t count;
	uint32_t last; /**< that names_find() has found */
	struct heap_hash_table by_name;
	/** [objects] number of its name, or if it has NAME_WAITS of the one it waits for; NULL: none has one */
	uint32_t *of;
	heap_object_id objects;
	struct HEAP_ARRAY(struct awaited_name) awaited;
	struct heap_hash_table by_object; /**< of those awaited */
	uint32_t
		*awaited_of; /**< [objects] the number, in place of the list; NULL: there are few */
};

enum {
	NAME_IS_SURE = 1,
	NAME_WAITS = 2,
	NAME_FLAGS = 2, /**< bits behind the number */
};

/** No object has a name. names_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *names_init(struct names *names, heap_object_id objects);

void names_deinit(struct names *names);

/** Finds the number of a name, or gives it one. */
HEAP_MUST_CHECK
struct heap_error *names_find(struct names *names, const struct name *name, uint32_t *result);

/** The name of a number. */
static inline struct name *names_get(const struct names *names, uint32_t number)
{
	uint32_t place = number + (1u << NAMES_BITS);
	uint32_t bits = 31 - (uint32_t)__builtin_clz(place);

	return &names->chunks[bits - NAMES_BITS][place - (1u << bits)];
}

/** Gives an object the name of a number. Several threads may name different objects. */
static inline void names_give(struct names *names, heap_object_id object, uint32_t number)
{
	names->of[object] =
		number << NAME_FLAGS | (names_get(names, number)->is_sure ? NAME_IS_SURE : 0);
}

/** Takes an object's name away. Its is_sure stays, since other evidence was weighed with it. */
static inline void names_take(struct names *names, heap_object_id object)
{
	if (!(names->of[object] & NAME_WAITS))
		names->of[object] &= NAME_IS_SURE;
}

/** Gives an object a name that no claim waits for; is_sure stays. */
HEAP_MUST_CHECK
struct heap_error *names_set(struct names *names, heap_object_id object, heap_type_id type,
			     uint64_t elements, enum heap_evidence evidence);

/** The number of an object's name. */
static inline uint32_t names_number(const struct names *names, heap_object_id object)
{
	uint32_t of = names->of[object];

	return of & NAME_WAITS ? 0 : of >> NAME_FLAGS;
}

/** The name of an object. */
static inline const struct name *names_of(const struct names *names, heap_object_id object)
{
	return names_get(names, names_number(names, object));
}

/** The type of an object, or HEAP_NO_TYPE. Thread-safe while names are found, and awaited. */
static inline heap_type_id names_type(const struct names *names, heap_object_id object)
{
	return names_of(names, object)->type;
}

/** Gives all types new numbers. From then on no name is found. */
void names_renumber(struct names *names, const heap_type_id *map);

/**
 * Counts the objects of each name, which takes a fraction of the time to look at each object's type.
 *
 * @param counts  gets an array [names->count] by number, to be freed by the caller
 */
HEAP_MUST_CHECK
struct heap_error *names_count(const struct names *names, heap_object_id objects,
			       uint32_t **counts);

/** True if no guess led to the object's name. Thread-safe while names are found. */
static inline bool names_is_sure(const struct names *names, heap_object_id object)
{
	return names->of[object] & NAME_IS_SURE;
}

/** Lets an object wait for the name of a number. It keeps the name that it has. */
HEAP_MUST_CHECK
struct heap_error *names_await(struct names *names, heap_object_id object, uint32_t number);

/** The number of the name that an object waits for. Thread-safe while none begins to wait. */
uint32_t names_awaited(const struct names *names, heap_object_id object);

/** No object with a name waits any more: frees what was needed for that. */
void names_end_waiting(struct names *names);

#endif
