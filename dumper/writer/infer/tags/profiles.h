// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROFILES_H
#define PROFILES_H

/**
 * Profiles: the few values that the numbers of a common prefix have in the blocks of one type. A
 * block with another value is of another type.
 */

#include "dumper/writer/infer/tags/common_prefixes.h"

struct inference;

/** The values of a common prefix's numbers in the blocks of one type. */
struct profiles {
	struct profile *list; /**< [count] by type */
	uint32_t count, capacity;
};

/** Notes what the blocks whose types are sure hold. */
HEAP_MUST_CHECK
struct heap_error *profiles_learn(struct inference *inference, const struct prefix_types *samples);

/** True if a block holds what none of a type does. */
bool profiles_exclude(const struct inference *inference, heap_object_id object, heap_type_id type);

void profiles_deinit(struct profiles *profiles);

#endif
