// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COUNTED_H
#define COUNTED_H

/**
 * The blocks of `new T[n]` where T has a destructor: n, for delete[], and behind it the elements,
 * to which the program's pointers lead (Itanium C++ ABI, 2.7, "Array Operator new Cookies"). No
 * debug information has such types, so they are made here.
 */

#include "dumper/writer/scan/capture.h"

enum {
	COUNTED_START = 8, /**< bytes before the elements; more only at alignments beyond 8 */
};

/** True if there may be such blocks: some are from operator new[], or it is not known where they are from. */
bool counted_may_be(const struct capture *capture);

/**
 * Adds the type of an array behind its number for each class that may be an element.
 *
 * @param counted  gets the new types [types] by element; the caller frees it
 */
HEAP_MUST_CHECK
struct heap_error *counted_add_types(struct capture *capture, heap_type_id **counted);

#endif
