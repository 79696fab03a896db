// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NAMING_H
#define NAMING_H

/**
 * Names blocks that no claim has named, by the evidence of their kinds: kind by kind (name_kinds.c),
 * all kinds of a site at once (name_sites.c), or each block by its own hints (naming.c).
 */

#include "dumper/writer/infer/candidates.h"

/** The blocks that a pass considers. */
enum naming_pass {
	PASS_NEWS, /**< kinds, and single blocks, with new evidence */
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

/** Claims types for blocks without a name by the evidence of their kinds. */
HEAP_MUST_CHECK
struct heap_error *naming_claim(struct inference *inference, enum naming_evidence evidence,
				enum naming_pass pass, uint64_t *claimed);

/**
 * Claims types for the few blocks with new hints whose kinds have no one name for all, as naming_claim() would,
 * but without a look at any other block. A list whose pointers lead to a member of its nodes is named one or
 * two nodes at a time, so that a look at all of them for each would take the square of their number.
 */
HEAP_MUST_CHECK
struct heap_error *naming_follow(struct inference *inference, enum naming_evidence evidence,
				 uint64_t *claimed);

/** Claims types for blocks without a name by single hints: arrays and bytes. */
HEAP_MUST_CHECK
struct heap_error *naming_weigh_hints(struct inference *inference, uint64_t *claimed);

/**
 * Claims the type of a few blocks for their siblings, if all that are known agree: the last resort for those that
 * leaked but for a few.
 */
HEAP_MUST_CHECK
struct heap_error *naming_ask_few(struct inference *inference, uint64_t *claimed);

/** Withdraws likely names that newer names contradict. */
HEAP_MUST_CHECK
struct heap_error *naming_reconsider(struct inference *inference, uint64_t *dropped);

/* --- between the files of naming --- */

/** Names the blocks of a kind, by evidence that leaves no choice or by likely evidence. */
HEAP_MUST_CHECK
struct heap_error *name_kind(struct inference *inference, struct kind *kind,
			     const struct site_summary *site, enum naming_evidence evidence,
			     uint64_t *words, uint64_t *claimed);

/** Names the blocks of a kind by a few siblings that agree. */
HEAP_MUST_CHECK
struct heap_error *name_by_few(struct inference *inference, const struct kind *kind,
			       const struct site_summary *site, uint64_t *words, uint64_t *claimed);

/** Names each block of a mixed kind that has new evidence, by its own parts. */
HEAP_MUST_CHECK
struct heap_error *name_singly(struct inference *inference, const struct kind *kind,
			       const struct site_summary *site, enum naming_evidence evidence,
			       uint64_t *words, uint64_t *claimed);

/** Does so for one block. */
HEAP_MUST_CHECK
struct heap_error *name_block(struct inference *inference, const struct kind *kind,
			      const struct site_summary *site, enum naming_evidence evidence,
			      heap_object_id object, uint64_t *words, uint64_t *claimed);

/**
 * Names the blocks of a site that makes many sizes: arrays, texts, headers with elements.
 *
 * @param is_counted  its kinds have as many members without a claim as kinds_count() has counted
 */
HEAP_MUST_CHECK
struct heap_error *name_site(struct inference *inference, const struct site_summary *site,
			     bool is_counted, uint64_t *words, uint64_t *claimed);

/**
 * Names the blocks of a wrapper's callers, each of which makes arrays or texts of one type.
 *
 * @param words  [CONTENT_WORDS + 1] are overwritten
 */
HEAP_MUST_CHECK
struct heap_error *name_callers(struct inference *inference, const struct site_summary *maker,
				uint64_t *words, uint64_t *claimed);

/** True if nearly all blocks of a kind that have a better name than the code gives, and most of all, are one struct. */
bool naming_is_of_structs(const struct inference *inference, const struct kind *kind);

/** True if a block may be one or several of a type, by its size, hints and content. @param words  likewise */
bool naming_may_repeat(const struct inference *inference, heap_object_id object, heap_type_id type,
		       uint64_t *words);

/** The number of elements of a type that a block has room for. */
uint64_t naming_elements(const struct inference *inference, heap_object_id object,
			 heap_type_id type);

/** Claims the type of a candidate for one block. */
HEAP_MUST_CHECK
struct heap_error *naming_claim_member(struct inference *inference, heap_object_id object,
				       const struct candidate *candidate, enum rank rank,
				       uint64_t *claimed);

#endif
