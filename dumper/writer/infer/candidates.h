// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CANDIDATES_H
#define CANDIDATES_H

/**
 * The types that blocks may have, and the evidence for each: candidates are gathered from hints,
 * code and siblings, checked against the hints and contents of some of the blocks, and then
 * chosen from.
 */

#include "dumper/writer/infer/inference.h"

enum {
	CANDIDATES = 32, /**< at a time */
};

/** Thresholds of naming. */
enum {
	NAMING_SAMPLES = 64,    /**< blocks that stand for all unnamed ones */
	NAMING_VOTERS = 5,      /**< at least, unless all of them agree */
	NAMING_FEW_VOTERS = 2,  /**< at least then, unless contents prove it */
	NAMING_PER_MILLE = 950, /**< of votes, and of samples, that must agree */
};

struct candidate {
	heap_type_id type;
	enum layout_fit fit;
	uint64_t elements;
	uint32_t votes;   /**< siblings that have this name */
	uint32_t depth;   /**< of the code's meaning; UINT32_MAX if the code does not name it */
	uint32_t parts;   /**< samples that have a hint of a part of it */
	uint32_t against; /**< samples whose hints speak against it */
	uint32_t fitting; /**< samples whose contents agree, or are neutral */
	uint32_t parts_fitting; /**< of those that have hinted parts */
	uint32_t proving;       /**< samples whose contents agree */
	uint32_t
		losses; /**< samples with hinted parts whose contents agree better with another one */
	uint32_t wins;    /**< samples whose contents agree with it best */
	int64_t score;    /**< how much the contents of all samples agree */
	bool is_result;   /**< the variable that gets the block points to one */
	bool alternative; /**< one of a union's */
	bool is_followed; /**< bytes follow it, as a text behind a struct in one chunk */
};

struct candidates {
	struct candidate list[CANDIDATES];
	uint32_t count;
	bool too_many;
	uint32_t samples; /**< checked against them */
	uint32_t hinted;  /**< of them, those with hints */
	uint32_t won;     /**< of them, those with one that fits best */
	uint32_t voters;  /**< siblings with a name */
};

/** Empties the list. */
static inline void candidates_init(struct candidates *candidates)
{
	candidates->count = candidates->samples = candidates->hinted = 0;
	candidates->won = candidates->voters = 0;
	candidates->too_many = false;
}

/** Adds a candidate, once. @return it; NULL if there are too many */
struct candidate *candidates_add(struct candidates *candidates, struct layout_claim claim);

/** Adds the types that have the parts hinted for a block. */
void candidates_add_hinted(const struct inference *inference, heap_object_id object,
			   struct candidates *candidates);

/**
 * Drops the candidates that only hints support. When there are too many of them, a choice would
 * depend on the order of the hints.
 */
void candidates_drop_hinted(struct candidates *candidates);

/** The verdict of a block's hints, and of similar blocks' contents, on a candidate. */
enum verdict candidate_ask(const struct inference *inference, heap_object_id object,
			   const struct candidate *candidate);

/** Scores a block's content for a candidate: below 0 if it contradicts. */
int candidate_score(const struct inference *inference, const struct content *content,
		    const struct candidate *candidate);

/**
 * True if all pointers that speak for a candidate lead to the start of a block that may as well be an array of
 * what they point to: of the elements that the candidate consists of, or of numbers or pointers with which it begins,
 * and which agree with the content no less.
 */
bool candidate_may_be_array(const struct inference *inference, const struct content *content,
			    const struct candidate *candidate);

/** Counts the hints on one block for and against each candidate. */
void candidates_ask(const struct inference *inference, heap_object_id object,
		    struct candidates *candidates);

/** Scores a block's content for each candidate, and notes the best of those with hinted parts. */
void candidates_hold(const struct inference *inference, const struct content *content,
		     struct candidates *candidates);

/* Choices: NULL unless exactly one candidate qualifies. */

/** The type of the variable that gets the block. */
const struct candidate *candidates_result(const struct candidates *candidates);

/** The only type that has the hinted parts. */
const struct candidate *candidates_only_whole(const struct inference *inference,
					      const struct candidates *candidates);

/** The candidate named by the code: by the innermost function that names any. */
const struct candidate *candidates_meant(const struct inference *inference,
					 const struct candidates *candidates);

/**
 * The type that nearly all siblings have. Where it is that of most blocks of the kind, hints that no
 * type of their size explains do not speak against it: stale pointers made them.
 *
 * @param siblings  blocks of the kind, with and without a name
 */
const struct candidate *candidates_elected(const struct candidates *candidates, uint32_t siblings);

/**
 * The struct that all siblings with a name are, where these are too few for an election, and nothing speaks against it.
 * One such sibling suffices only if contents agree: the pointer to it may be stale.
 */
const struct candidate *candidates_unanimous(const struct inference *inference,
					     const struct candidates *candidates);

/** The type that agrees best with the contents, of those that have the hinted parts. */
const struct candidate *candidates_best_whole(const struct inference *inference,
					      const struct candidates *candidates);

#endif
