// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALLBACKS_H
#define CALLBACKS_H

/**
 * Pointers to functions in structs. A callback and the void * that it is called with lie side by side, so the
 * callback tells what the void * leads to:
 *
 *	struct job { void (*run)(void *); void *argument; }	resize ──▶ struct image
 *								search ──▶ struct query
 *
 * An object with several such pairs has one for each: two std::function of a struct have a callback each.
 */

#include "dumper/writer/infer/layout.h"

#define NO_CALLBACK UINT64_MAX

/** A pointer to a function, or to a table of these. */
struct callback {
	uint64_t offset; /**< in the type; NO_CALLBACK: there is none */
	bool is_element; /**< it lies in the same element of an array in the type as the pointer beside it */
};

/**
 * Finds the callback beside a pointer: that of the innermost struct around the pointer which has one outside its unions
 * and arrays. Of several the first counts, and one before a pointer to a struct with callbacks, as a table of operations.
 *
 * @param offset  of the pointer in the type; the first elements of arrays are meant
 */
struct callback callbacks_find(const struct layouts *layouts, heap_type_id type, uint64_t offset);

#endif
