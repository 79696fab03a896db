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
 * The claim that a block, which is larger than a base, is the struct that the variable with the new block points to, or that with
 * what a function makes of it, if that begins with the base, and is no larger than the block. Thread-safe.
 *
 * @param claim  that the block is the base
 * @param fit    of the result
 * @return @p claim, if there is no such struct
 */
struct layout_claim derived_structs_extend(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim, enum layout_fit fit);

/**
 * Likewise for a block of the base's very size: a struct may have no more than its base, but a type of its own.
 *
 *	struct blob { struct object object; };
 *
 * Several larger structs begin with the base. The code that allocates the block handles that struct alone, of those that are a
 * base and nothing more; where no such code is known, it is the only one. Thread-safe.
 *
 * @return @p claim, if it is another than that the block is one base, or there is no such struct
 */
struct layout_claim derived_structs_wrap(const struct inference *inference, heap_object_id object,
					 const struct layout_claim *claim);

/**
 * True if a block that would be a base with elements at its end may be a larger struct instead that begins with the base:
 * where no site tells which. Thread-safe.
 */
bool derived_structs_may_be(const struct inference *inference, heap_object_id object,
			    const struct layout_claim *claim);

/**
 * Such a block, if its contents cannot be those elements: the claim of the only struct with which they agree best.
 *
 * @return @p claim, if it may be the base; LAYOUT_NONE: it is none, and may be one of several
 */
struct layout_claim derived_structs_choose(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim);

#endif
