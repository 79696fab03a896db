// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OBJECT_KINDS_H
#define OBJECT_KINDS_H

/**
 * Blocks of one site and size: there are many of most, and what they share is kept once.
 */

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct object_kind {
	uint64_t site; /**< address of the code that allocated them */
	uint64_t size; /**< bytes of each */
};

struct object_kinds {
	struct object_kind *list; /**< [count] */
	uint32_t count;
	uint32_t *slots; /**< [slot_count] hash table: kind + 1 */
	size_t slot_count;
};

/** The number of a kind, which is a new one if it has none. @param kinds  zeros at first */
HEAP_MUST_CHECK
struct heap_error *object_kinds_find(struct object_kinds *kinds, uint64_t site, uint64_t size,
				     uint32_t *result);

void object_kinds_deinit(struct object_kinds *kinds);

#endif
