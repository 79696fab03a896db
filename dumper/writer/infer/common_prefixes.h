// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BASES_H
#define BASES_H

/**
 * Bases: structs with whose numbers other structs begin, and to which slots point that do not
 * know more. Interpreters, compilers and servers have them: all objects begin alike, and a
 * pointer to the beginning says nothing of which object it is. C has no word for it (C11,
 * 6.5.2.3, paragraph 6, has the guarantee), so that only the structs' members show it.
 *
 * What tells the objects of one base apart is found by looking at some of each type.
 */

#include "dumper/writer/infer/headers.h"

enum {
	BASE_TYPES = 32,    /**< of a base, that are looked at */
	BASE_SAMPLES = 256, /**< of a type, at most; even */
};

/** How much the name of a block is worth to learn from. */
enum trust {
	TRUST_SURE,
	TRUST_POINTER, /**< a slot points to it, of a holder that is not sure */
	TRUST_NAMED,
	TRUSTS,
};

/**
 * Some of the blocks of a type, evenly spread over all of them. The first ones are often special:
 * they were allocated before the allocating functions were known to be wrappers.
 */
struct base_samples {
	heap_type_id type;
	uint32_t counts[TRUSTS]; /**< how many blocks there are */
	uint32_t kept[TRUSTS];   /**< and how many of them are samples */
	uint32_t steps[TRUSTS];  /**< one block in so many is a sample */
	struct header headers[TRUSTS][BASE_SAMPLES];
};

/** The types of a base, of which there are blocks that have a name. */
struct base_types {
	struct base_samples *types[BASE_TYPES]; /**< [count] */
	uint32_t count;
};

/** Finds the bases that slots have pointed to since it was last asked. */
HEAP_MUST_CHECK
struct heap_error *bases_find(struct inference *inference);

/** The base with which a type begins, counted from 1; 0: none. */
static inline uint32_t bases_of_type(const struct inference *inference, heap_type_id type)
{
	return inference->bases.of ? inference->bases.of[type] : 0;
}

/** The base with which a block begins, as far as is known, counted from 1; 0: none. */
uint32_t bases_of(const struct inference *inference, heap_object_id object);

/** Looks at some blocks of each type that has a base. @param result  [MAX_BASES] by base */
HEAP_MUST_CHECK
struct heap_error *bases_sample(const struct inference *inference, struct base_types *result);

void bases_release_samples(struct base_types *samples);

#endif
