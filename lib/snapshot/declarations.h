// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DECLARATIONS_H
#define HEAP_DECLARATIONS_H

/**
 * What people know better: that an object of a snapshot is of some type.
 *
 * It is kept beside the snapshot, in a text of its name and ".types":
 *
 *	heapsh types 1 0123456789abcdef0123456789abcdef       the snapshot's id
 *	0x55d0c0ffee40 struct session
 *	like 0x55d0c0fff000 struct slot (cache.c:12)          and all of its site and size
 *
 * Whoever opens the snapshot finds these objects with these types, and with the evidence
 * "declared". What they point to, and has no type, gets that of the pointer, if it fits; and so on.
 * A text that is of another snapshot counts for nothing.
 */

#include "lib/types/repetitions.h"
#include "lib/snapshot/snapshot.h"

struct heap_declaration {
	heap_object_id object;
	heap_type_id type; /**< stripped */
	bool is_for_alike; /**< also of objects of its site and size that have no type */
};

struct heap_declarations {
	struct heap_declaration *list; /**< [count] in the order in which they were made */
	size_t count;
	uint32_t derived; /**< objects that have a type because of them, if they are applied */
	bool are_applied; /**< to the columns that are loaded */
};

/**
 * How many values of a type an object is, if it is of that type; as in the column elements.
 * @return 0: it is too small, or the type has no size
 */
uint64_t heap_declarations_fit(const struct heap_types *types, heap_type_id type, uint64_t size);

/**
 * How well an object's pointers agree with its being of a type: how many stand where that has
 * one, less those that do not. Loads EDGES and SLOTS.
 *
 * @param repetitions  of the snapshot's types
 */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_weigh(struct heap_snapshot *snapshot, heap_object_id object,
					   heap_type_id type, struct heap_repetitions *repetitions,
					   int64_t *score);

/**
 * Declares an object to be of a type, and stores that.
 *
 * @param declaration  its type need not be stripped
 * @param named  gets how many other objects have a type because of that
 * @return NULL, HEAP_ERROR_ARGUMENT: it does not fit, or the snapshot is no file's;
 *         HEAP_ERROR_SYSTEM: it cannot be stored, and then it does not hold
 */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_add(struct heap_snapshot *snapshot,
					 struct heap_declaration declaration, uint32_t *named);

/** Takes one back; what was inferred holds again. HEAP_ERROR_ABSENT: there is none. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_remove(struct heap_snapshot *snapshot, heap_object_id object);

/** Reads the text beside a snapshot that has just been opened. No text is fine. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_read(struct heap_snapshot *snapshot);

/** Makes columns say what is declared. Loads what it needs. */
HEAP_MUST_CHECK
struct heap_error *heap_declarations_apply(struct heap_snapshot *snapshot);

/** The columns that it changes: not to be loaded but wholly. */
enum {
	HEAP_DECLARED_COLUMNS = HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_EVIDENCE |
				HEAP_COLUMN_QUALITY,
};

/** NULL is fine. */
void heap_declarations_destroy(struct heap_declarations *declarations);

#endif
