// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VECTOR_ELEMENTS_H
#define VECTOR_ELEMENTS_H

/**
 * The shape of the elements of vectors, whose type has no name. Their size divides the lengths of all vectors of a
 * site, and their fields repeat at that distance.
 */

#include "dumper/writer/infer/symbols/shape_fields.h"
#include "dumper/writer/infer/symbols/vector_buffers.h"

/** The samples of one site. */
struct vector_elements {
	const struct vector_buffer *samples;
	size_t count;
	uint64_t stride; /**< bytes of an element, or a multiple */
};

/**
 * Finds the shape of the elements, and their size. A few lengths do not tell that, unless one of the library's
 * values fills it, or all words are pointers.
 *
 * @param elements  its stride becomes the size of one
 * @return false if they tell no shape
 */
bool vector_elements_find(const struct shape_reader *reader, struct vector_elements *elements,
			  struct shape *shape);

#endif
