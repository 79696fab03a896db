// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OBJECT_KINDS_H
#define OBJECT_KINDS_H

/**
 * Kinds of blocks: those of one site and size. Most kinds have many blocks, and keep once what
 * these share.
 */

#include "lib/base/error.h"
#include "lib/base/hash_table.h"

#include <stdint.h>

struct object_kind {
	uint64_t site; /**< address of the code that allocated them */
	uint64_t size; /**< bytes of each */
};

struct object_kinds {
	struct object_kind *list; /**< [count] */
	uint32_t count, capacity;
	uint32_t last;                  /**< that object_kinds_find() has found */
	struct heap_hash_table by_site; /**< and size */
};

/** The number of a kind, which is a new one if it has none. @param kinds  zeros at first */
HEAP_MUST_CHECK
struct heap_error *object_kinds_find(struct object_kinds *kinds, uint64_t site, uint64_t size,
				     uint32_t *result);

void object_kinds_deinit(struct object_kinds *kinds);

#endif
