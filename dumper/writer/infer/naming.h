// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NAMING_H
#define NAMING_H

/**
 * Names for blocks that no claim has named, by what is known of their kinds: kind by kind
 * (name_kinds.c), all of a site at once (name_sites.c), or each by its own hints (naming.c).
 */

#include "dumper/writer/infer/candidates.h"

#include "lib/base/hash.h"

/** The blocks that a pass considers. */
enum naming_pass {
	PASS_NEWS, /**< kinds, and single ones, of which something has been applied since */
	PASS_ALL,
};

/** All kinds of a site with one tag. */
struct site_summary {
	heap_site_id site;
	uint64_t tag;
	uint32_t first; /**< of its kinds */
	uint32_t sizes; /**< and how many it has */
	uint32_t objects;
	const struct site_types *site_types;
	enum naming_pass pass;
};

/** Claims what blocks without a name are by their kinds (evidence 4 to 7). */
HEAP_MUST_CHECK
struct heap_error *naming_claim(struct inference *inference, enum naming_evidence evidence,
				enum naming_pass pass, uint64_t *claimed);

/** Claims what single hints make of blocks that have no name: arrays and bytes. */
HEAP_MUST_CHECK
struct heap_error *naming_weigh_hints(struct inference *inference, uint64_t *claimed);

/** Drops likely names that what has been named since speaks against. */
HEAP_MUST_CHECK
struct heap_error *naming_reconsider(struct inference *inference, uint64_t *dropped);

/* --- between the files of naming --- */

/** Names those of a kind that what is known leaves no choice for, or by what is likely. */
HEAP_MUST_CHECK
struct heap_error *name_kind(struct inference *inference, struct kind *kind,
			     const struct site_summary *site, enum naming_evidence evidence,
			     uint64_t *words, uint64_t *claimed);

/** Likewise in a kind that is mixed: each block of which there are news, by its own parts. */
HEAP_MUST_CHECK
struct heap_error *name_singly(struct inference *inference, const struct kind *kind,
			       const struct site_summary *site, enum naming_evidence evidence,
			       uint64_t *words, uint64_t *claimed);

/**
 * Names what a site makes in many sizes: arrays, texts, headers with elements.
 *
 * @param is_counted  its kinds have as many members without a claim as kinds_count() has counted
 */
HEAP_MUST_CHECK
struct heap_error *name_site(struct inference *inference, const struct site_summary *site,
			     bool is_counted, uint64_t *words, uint64_t *claimed);

/** Claims for one block what a candidate says. */
HEAP_MUST_CHECK
struct heap_error *naming_claim_member(struct inference *inference, heap_object_id object,
				       const struct candidate *candidate, enum rank rank,
				       uint64_t *claimed);

/**
 * Takes one of each @p step blocks, which are numbered in order: not every so many, since programs often
 * make blocks of different types in turn.
 */
struct sampler {
	uint32_t step;
	uint32_t group; /**< of so many blocks */
	uint64_t next;  /**< number of the block that is taken from it */
	uint64_t seen;  /**< blocks */
};

static inline uint64_t sampler_choose(uint32_t step, uint32_t group)
{
	return (uint64_t)group * step + heap_hash_u64(group) % step;
}

static inline struct sampler sampler_of(uint32_t step)
{
	return (struct sampler){ step, 0, sampler_choose(step, 0), 0 };
}

/** Leaves the chosen block of a group behind. */
static inline void sampler_advance(struct sampler *sampler)
{
	sampler->group++;
	sampler->next = sampler_choose(sampler->step, sampler->group);
}

/** True if the next block is taken. */
static inline bool sampler_takes(struct sampler *sampler)
{
	if (sampler->seen++ != sampler->next)
		return false;
	sampler_advance(sampler);
	return true;
}

#endif
