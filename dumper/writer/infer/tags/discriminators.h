// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DISCRIMINATORS_H
#define DISCRIMINATORS_H

/**
 * Discriminators: the number in a common prefix that tells what a block is, such as an enum kind, or the address of
 * its class with flags in the lowest bits.
 * The type of some blocks with one value of it holds for all of them.
 */

#include "dumper/writer/infer/tags/common_prefixes.h"
#include "dumper/writer/infer/kinds.h"

struct tag_value {
	uint64_t tag;      /**< the base, and the number that it has there */
	heap_type_id type; /**< of nearly all blocks with that tag whose types are sure */
	bool is_elected;   /**< there are none: by a vote of those that have a name */
};

/** Discriminators, by base, and their values. */
struct discriminators {
	struct header_member members[MAX_COMMON_PREFIXES]; /**< by base, if */
	bool has_member[MAX_COMMON_PREFIXES];
	bool is_renewed[MAX_COMMON_PREFIXES]; /**< kinds have not been sorted by it yet */
	uint32_t hints_applied;               /**< that led to claims */
	struct tag_value *values;             /**< [count] by tag */
	uint32_t count, capacity;
	uint8_t *values_of; /**< [types] values known for it, a few at most; NULL: none are known */
	heap_object_id *late; /**< [late_count] blocks with many hints, which are applied last */
	uint32_t late_count, late_capacity;
};

/** Finds the discriminators. @param learned  the number of values is added */
HEAP_MUST_CHECK
struct heap_error *discriminators_learn(struct inference *inference,
					const struct prefix_types *samples, uint64_t *learned);

/** The base whose discriminator gives an object its tag; 0: none is known. */
uint32_t discriminators_prefix(const struct inference *inference, heap_object_id object);

/** An object's tag, of a base that is not 0. */
uint64_t discriminators_read(const struct inference *inference, heap_object_id object,
			     uint32_t base);

/** True if there are hints that discriminators_apply() has not applied. */
bool discriminators_wait(const struct inference *inference);

/**
 * Claims the objects with hints by their tags. Objects with many hints wait, or each hint on one
 * would lead to all of them.
 */
HEAP_MUST_CHECK
struct heap_error *discriminators_apply(struct inference *inference);

/** The same for those with many hints. */
HEAP_MUST_CHECK
struct heap_error *discriminators_apply_late(struct inference *inference);

/** True if the tag of a kind rules a type out. */
bool discriminators_exclude(const struct inference *inference, const struct kind *kind,
			    heap_type_id type);

void discriminators_deinit(struct discriminators *discriminators);

#endif
