// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef AGREEMENT_H
#define AGREEMENT_H

/**
 * How well a block agrees with a struct, where nothing else tells: what its pointers lead to, and what leads to it, *proves*
 * the more the surer that is; and its contents must not contradict.
 *
 *	struct request      a block
 *	long number         17
 *	char *path          ──▶ a text                                 AGREEMENT_TEXT
 *	struct header *     ──▶ a struct header, or may be one ahead   AGREEMENT_STRUCT
 */

#include "dumper/writer/infer/inference.h"

enum {
	AGREEMENT_AHEAD = 1, /**< a pointer to what may be such a struct by its size and contents */
	AGREEMENT_TEXT = 1,  /**< a char * to a text */
	/** A pointer to a struct whose name is good, to one ahead whose pointers prove something, or into the block itself. */
	AGREEMENT_STRUCT = 2,
};

struct agreement {
	struct layout_claim claim;
	uint32_t proof; /**< the sum of these */
	int score;      /**< of the content; below 0 if that contradicts */
};

static inline bool agreement_is_better(const struct agreement *one, const struct agreement *other)
{
	return one->proof != other->proof ? one->proof > other->proof : one->score > other->score;
}

/**
 * Compares a block with a type. What pointers lead to tells nearly all types apart, for less than it takes to
 * score the content: that counts as contradicting, unread, if they prove less than @p least.
 *
 * @param ahead  the most that an object without a name may prove; 0: nothing
 */
struct agreement agreement_of(const struct inference *inference, const struct content *content,
			      heap_type_id type, uint32_t ahead, uint32_t least);

/**
 * How much what a pointer leads to proves, if it has a name, hints or a text; or is in the block itself, as the letters of a
 * short std::string are, and what an empty std::map leads to.
 *
 * @param edge  the pointer's, where the type has one to @p pointee
 */
uint32_t agreement_prove_target(const struct inference *inference, heap_object_id object,
				uint32_t edge, heap_type_id type, heap_type_id pointee);

/** How much the pointers to a block prove that it is of a type. */
uint32_t agreement_prove_hints(const struct inference *inference, heap_object_id object,
			       heap_type_id type);

/** True for a struct of nothing but pointers to the same: contents do not tell it from an array of these. */
bool agreement_is_uniform(const struct inference *inference, heap_type_id type);

/** True for a block of nothing but pointers to texts, and zeros. */
bool agreement_is_all_texts(const struct inference *inference, const struct content *content);

#endif
