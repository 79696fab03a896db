// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DERIVED_STRUCTS_H
#define DERIVED_STRUCTS_H

/**
 * Structs that begin with another one, where only the code that allocates them knows it:
 *
 *	struct closure { struct object base; … } *closure = allocate(sizeof(*closure) + more);
 *	return &closure->base;
 *
 * All pointers lead to a base then, and the block is larger than that. It is no array of it, nor the base with more elements
 * at its end.
 */

#include "dumper/writer/infer/layout.h"

struct inference;

/**
 * The struct that the variable with a new block points to, or that with what a function makes of it, if it begins with a
 * base, and is no larger than the block; HEAP_NO_TYPE: there is none. Thread-safe.
 */
heap_type_id derived_structs_find(const struct inference *inference, heap_object_id object,
				  heap_type_id base);

/** A claim that a block is a base with elements at its end; or one of the struct that it is. Thread-safe. */
struct layout_claim derived_structs_extend(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim);

#endif
