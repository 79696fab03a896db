// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_ARRAYS_H
#define VOID_ARRAYS_H

/**
 * Arrays of void pointers, to which only void pointers lead, as those of the keys and values of a hash table for anything:
 *
 *	struct table { void *keys; ... } ─▶ 0, pointer, 0, 0, pointer, pointer, 0, 0...
 *
 * They consist of pointers and zeros, and those behind one member are of several sizes, as no structs are. Where a
 * member leads to them, some of its targets may be arrays of numbers.
 */

#include "dumper/writer/infer/layout.h"

struct inference;

enum {
	VOID_ARRAYS_SIZES = 6, /**< of targets of one place, the largest ones */
};

/** A target of each size. */
struct void_arrays {
	struct void_array {
		heap_object_id object;
		uint64_t size;
	} list[VOID_ARRAYS_SIZES]; /**< [count] the largest first */
	uint32_t count;
};

/** The type of a void pointer; HEAP_NO_TYPE: the program has none. */
heap_type_id void_arrays_element(const struct inference *inference);

/** Adds a target, if it is larger than others and of another size. */
void void_arrays_add(struct void_arrays *arrays, const struct inference *inference,
		     heap_object_id object);

/**
 * True if an object without a name consists of pointers and zeros.
 *
 * @param words  [CONTENT_WORDS + 1] for its contents
 */
bool void_arrays_hold(const struct inference *inference, heap_object_id object, uint64_t *words);

/**
 * True if some of the targets of one place are such arrays, or known to be.
 *
 * @param element  void_arrays_element()
 * @param words    [CONTENT_WORDS + 1] for contents
 */
bool void_arrays_find(const struct void_arrays *arrays, const struct inference *inference,
		      heap_type_id element, uint64_t *words);

#endif
