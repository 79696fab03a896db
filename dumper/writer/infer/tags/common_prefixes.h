// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMMON_PREFIXES_H
#define COMMON_PREFIXES_H

/**
 * Common prefixes (bases): structs whose scalar members are the first ones of other structs, and to
 * which typed slots point. Interpreters, compilers and servers have them: all objects begin alike, and a
 * pointer to the prefix does not tell which type an object has. C has no syntax for it (C11,
 * 6.5.2.3, paragraph 6, is the guarantee), so only the structs' members show it.
 *
 * Samples of each type show how the objects of one base differ.
 */

#include "dumper/writer/infer/headers.h"

struct inference;

enum {
	MAX_COMMON_PREFIXES = 32,
	PREFIX_TYPES = 32,    /**< of a base, that are sampled */
	PREFIX_SAMPLES = 256, /**< of a type, at most; even */
};

/** How far the name of a block can be trusted as an example. */
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
struct prefix_samples {
	heap_type_id type;
	uint32_t counts[TRUSTS]; /**< how many blocks there are */
	uint32_t kept[TRUSTS];   /**< and how many of them are samples */
	uint32_t steps[TRUSTS];  /**< one block in so many is a sample */
	struct header headers[TRUSTS][PREFIX_SAMPLES];
};

/** The types of a base that have blocks with a name. */
struct prefix_types {
	struct prefix_samples *types[PREFIX_TYPES]; /**< [count] */
	uint32_t count;
};

/** Structs with which others begin, and to which typed slots point. */
struct common_prefixes {
	heap_type_id types[MAX_COMMON_PREFIXES]; /**< [count] */
	uint32_t count;
	uint8_t *of;                   /**< [types] its base, counted from 1; 0: none */
	uint64_t *keys;                /**< [types] that are equal if two begin alike */
	struct prefix_member *members; /**< [member_count] numbers in headers of types, by hash */
	size_t member_count, member_capacity;
	uint32_t *pointed; /**< [types] blocks to whose start pointers to one lead */
	uint32_t hints_seen;
};

void common_prefixes_deinit(struct common_prefixes *prefixes);

/** Finds the bases that slots have pointed to since the last call. */
HEAP_MUST_CHECK
struct heap_error *common_prefixes_find(struct inference *inference);

/** The base with which a type begins, counted from 1; 0: none. */
static inline uint32_t common_prefixes_of_type(const struct common_prefixes *prefixes,
					       heap_type_id type)
{
	return prefixes->of ? prefixes->of[type] : 0;
}

/** The base with which a block begins, as far as is known, counted from 1; 0: none. */
uint32_t common_prefixes_of(const struct inference *inference, heap_object_id object);

/** Samples the blocks of each type that has a base. @param result  [MAX_COMMON_PREFIXES] by base */
HEAP_MUST_CHECK
struct heap_error *common_prefixes_sample(const struct inference *inference,
					  struct prefix_types *result);

void common_prefixes_release_samples(struct prefix_types *samples);

#endif
