// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NAMING_H
#define NAMING_H

/**
 * Names for blocks that no claim has named, by what is known of their kinds: kind by kind
 * (name_kinds.c), all of a site at once (name_sites.c), or each by its own hints (naming.c).
 */

#include "dumper/writer/infer/candidates.h"

enum {
	NAMING_SAMPLES = 64,    /**< of the blocks in question, so many are looked at */
	NAMING_VOTERS = 5,      /**< at least */
	NAMING_PER_MILLE = 950, /**< of votes, and of samples, that must agree */
};

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

/** Names what a site makes in many sizes: arrays, texts, headers with elements. */
HEAP_MUST_CHECK
struct heap_error *name_site(struct inference *inference, const struct site_summary *site,
			     uint64_t *words, uint64_t *claimed);

/** Claims for one block what a candidate says. */
HEAP_MUST_CHECK
struct heap_error *naming_claim_member(struct inference *inference, heap_object_id object,
				       const struct candidate *candidate, enum rank rank,
				       uint64_t *claimed);

#endif
