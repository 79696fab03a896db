// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HINTED_ELEMENTS_H
#define HINTED_ELEMENTS_H

/**
 * The elements of a slab, if pointers lead to some of them, and to none of them first:
 *
 *	buckets ──┬─────────┬───▶ T
 *	          ▼         ▼
 *	[ T │ T │ T │ T │ T │ T │ T ]
 *
 * These pointers are whole elements apart, but no more have in common: so it is no array of something larger. What
 * lies where no pointer leads has to be values of the type, too.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/** The only type that a block can be an array of by where hints tell of structs in it; HEAP_NO_TYPE: none. */
heap_type_id hinted_elements_find(const struct inference *inference, heap_object_id object);

/** True if nearly all of a block's contents can be elements of a type. */
bool hinted_elements_agree(const struct inference *inference, heap_object_id object,
			   heap_type_id type, uint64_t elements);

#endif
