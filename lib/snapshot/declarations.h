// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DECLARATIONS_H
#define HEAP_DECLARATIONS_H

/**
 * Declarations: types of objects that people know better than the inference.
 *
 * They are stored beside the snapshot, in a file of its name with ".types":
 *
 *	heapsh types 1 0123456789abcdef0123456789abcdef       the snapshot's id
 *	0x55d0c0ffee40 struct session
 *	like 0x55d0c0fff000 struct slot (cache.c:12)          all objects of its site and size
 *
 * In an open snapshot these objects have these types, with the evidence "declared". Untyped objects
 * that they point to get the type of the pointer, if it fits; and so on. A file that belongs to another
 * snapshot is ignored.
 */

#include "lib/types/repetitions.h"
#include "lib/snapshot/snapshot.h"

struct heap_declaration {
	heap_object_id object;
	heap_type_id type; /**< stripped */
	bool is_for_alike; /**< also for untyped objects of the same site and size */
};

struct heap_declarations {
	struct heap_declaration *list; /**< [count] in the order of their declaration */
	size_t count, capacity;
	uint32_t derived; /**< other objects that have a type because of them, once applied */
	bool are_applied; /**< to the columns that are loaded */
};

/**
 * The number of elements that an object of a type would have, as in the column elements.
 * @return 0 if it is too small, or the type has no size
 */
uint64_t heap_declarations_fit(const struct heap_types *types, heap_type_id type, uint64_t size);

/**
 * True if an object of some bytes may hold values of a type and nothing else, or a header and elements. Where sizes are
 * not exact, what the allocator may have added is left over.
 */
bool heap_declarations_fill(const struct heap_snapshot *snapshot, heap_type_id type, uint64_t size);

/**
 * Scores a type for an object: the number of its pointers where that type has one, minus the number
 * of the others. Loads EDGES, QUALITY, SLOTS and SIZE.
 *
 * @param repetitions  of the snapshot's types
 * @param misled  gets how many of these pointers lead to blocks that have no room for what the type says, or
 *                are pointers to functions by it; NULL: not wanted
 */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_weigh(struct heap_snapshot *snapshot, heap_object_id object,
					   heap_type_id type, struct heap_repetitions *repetitions,
					   int64_t *score, int64_t *misled);

/**
 * Adds a declaration, and stores it.
 *
 * @param declaration  its type need not be stripped
 * @param named  gets the number of other objects that got a type because of it
 * @return NULL; HEAP_ERROR_ARGUMENT: it does not fit, or the snapshot is not from a file;
 *         HEAP_ERROR_SYSTEM: it cannot be stored, and has no effect
 */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_add(struct heap_snapshot *snapshot,
					 struct heap_declaration declaration, uint32_t *named);

/** Removes a declaration; what was inferred holds again. HEAP_ERROR_ABSENT: there is none. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_remove(struct heap_snapshot *snapshot, heap_object_id object);

/** Reads the file beside a snapshot that has just been opened, if there is one. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_read(struct heap_snapshot *snapshot);

/** Applies declarations to the columns. Loads what it needs. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_apply(struct heap_snapshot *snapshot);

/** NULL is fine. */
void heap_declarations_destroy(struct heap_declarations *declarations);

#endif
