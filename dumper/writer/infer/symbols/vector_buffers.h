// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VECTOR_BUFFERS_H
#define VECTOR_BUFFERS_H

/**
 * Blocks that hold the elements of vectors, by the vectors in memory that own them.
 *
 *	{ begin, end, capacity }  anywhere      a block from begin to capacity: elements up to end
 *
 * The vectors whose blocks one site allocates have elements of one size: the greatest that divides all lengths.
 */

#include "dumper/writer/infer/symbols/library_values.h"

#include "lib/base/array.h"

/** A block with elements. */
struct vector_buffer {
	heap_object_id object;
	uint32_t site;
	uint64_t used; /**< bytes of elements */
};

struct vector_buffers {
	uint32_t *count;  /**< [kinds] blocks that are some */
	uint64_t *stride; /**< [sites] bytes of an element; 0: there is no vector */
	struct HEAP_ARRAY(
		struct vector_buffer) samples; /**< some of each kind, sorted by their sites */
};

/** @param used  bytes of elements. @return an error, which ends the visit */
typedef struct heap_error *vector_buffers_visitor(void *context, heap_object_id buffer,
						  uint64_t used, uint64_t capacity);

/**
 * Visits the blocks of all vectors, once for each vector.
 *
 * @param is_wanted  [kinds of objects] blocks of others are left out
 */
HEAP_MUST_CHECK
struct heap_error *vector_buffers_visit(const struct library_values *values, const bool *is_wanted,
					vector_buffers_visitor *visit, void *context);

/**
 * Finds the vectors of all blocks.
 *
 * @param is_wanted  [kinds of objects] blocks of others are left out
 */
HEAP_MUST_CHECK
struct heap_error *vector_buffers_find(struct vector_buffers *buffers,
				       const struct library_values *values, const bool *is_wanted);

void vector_buffers_deinit(struct vector_buffers *buffers);

#endif
