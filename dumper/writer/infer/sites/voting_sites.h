// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOTING_SITES_H
#define VOTING_SITES_H

/**
 * The allocation sites of the blocks that vote for a type. A wrapper is the maker of the blocks of all its callers.
 * If it is not known to have a pointer to that type, it serves all of them, and equal sizes are chance:
 * blocks get a name by vote only where one of their own site has it.
 */

#include "dumper/writer/infer/naming.h"

struct voting_sites {
	uint8_t *bits; /**< by site; NULL: all blocks may have the type */
};

/**
 * Finds the sites of the blocks that have a type. voting_sites_deinit() frees the result.
 *
 * @param first  of the blocks, in kinds.members
 */
HEAP_MUST_CHECK
struct heap_error *voting_sites_find(const struct inference *inference,
				     const struct site_summary *maker, uint32_t first,
				     uint32_t count, heap_type_id type,
				     struct voting_sites *result);

void voting_sites_deinit(struct voting_sites *sites);

/** True if a block of the site of an object has the type. */
bool voting_sites_have(const struct voting_sites *sites, const struct inference *inference,
		       heap_object_id object);

#endif
