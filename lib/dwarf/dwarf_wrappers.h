// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_WRAPPERS_H
#define HEAP_DWARF_WRAPPERS_H

/**
 * Inlined functions that pass on memory of no type: xmalloc() of a header.
 *
 *	static inline void *xmalloc(size_t size)
 *	{
 *		void *memory = malloc(size);
 *		...
 *
 * A function that was compiled by itself shows what it does with what malloc() returns. An inlined one has no
 * code of its own; but one that returns a pointer to void and is told a number does not know what its
 * caller puts there.
 */

#include "lib/dwarf/dwarf_code.h"

/**
 * True if a function is declared as a wrapper of malloc() is: it returns a pointer to void, and a parameter is
 * an integer of 4 bytes or more.
 *
 * @param place  of the DIE of the function, or of a copy of it
 * @return NULL, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_is_wrapper(struct heap_dwarf_code *code, uint64_t place,
					 bool *result);

#endif
