// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPLAINED_POINTERS_H
#define EXPLAINED_POINTERS_H

/**
 * The pointers of a block that are where a type has one. A type that has a number there is a bad guess where
 * another type explains them all:
 *
 *	union { struct item **items; struct pair *pairs; } ─▶ ▪ ▪ ▪ ▪ ▪ ▪
 *	items explain                                        ✓ ✓ ✓ ✓ ✓ ✓
 *	struct pair { struct item *item; long count; }       ✓ ✗ ✓ ✗ ✓ ✗
 */

#include "lib/snapshot/snapshot.h"

struct inference;

enum {
	EXPLAINED_ASKED = 8, /**< pointers of a block, at most */
};

struct explained_pointers {
	uint32_t asked; /**< the first pointers of the block */
	uint32_t count; /**< of these, those that the type explains */
};

/** Holds a block's first pointers against a type, or an array of it. */
struct explained_pointers explained_pointers_find(const struct inference *inference,
						  heap_object_id object, heap_type_id type);

#endif
