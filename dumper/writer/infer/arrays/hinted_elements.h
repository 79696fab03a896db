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
 * These pointers are whole elements apart, but no more have in common: so it is no array of something larger. A program
 * that makes its values in one order over and over has pointers to each ninth element, say; but slabs do not begin with
 * the same one of nine. So all slabs of a size are looked at before one is judged. What lies where no pointer leads has to
 * be values of the type, too.
 */

#include "lib/base/array.h"
#include "lib/base/error.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/** Blocks of a size, in which hints tell of elements of one type. */
struct hinted_kind {
	heap_type_id type;
	uint64_t size;
	uint64_t first;   /**< number of an element that a hint tells of */
	uint64_t divisor; /**< of the distances of the others from it */
};

/** A block of a kind, by itself. */
struct hinted_block {
	heap_object_id object;
	uint32_t kind; /**< in kinds */
	bool is_told;  /**< its own hints tell the distance */
	bool is_clear; /**< they are many, and all of that type */
};

/** Zeros at first; hinted_elements_deinit() frees it. */
struct hinted_elements {
	struct HEAP_ARRAY(struct hinted_kind) kinds;
	struct heap_hash_table by_kind;
	struct HEAP_ARRAY(struct hinted_block) blocks; /**< by object */
};

/** Notes where hints tell of structs in a block. To be called for all blocks, in their order, before one is asked for. */
HEAP_MUST_CHECK
struct heap_error *hinted_elements_note(struct hinted_elements *elements,
					const struct inference *inference, heap_object_id object);

void hinted_elements_deinit(struct hinted_elements *elements);

/** The only type that a block can be an array of by where hints tell of structs in it; HEAP_NO_TYPE: none. */
heap_type_id hinted_elements_find(const struct hinted_elements *elements, heap_object_id object);

/** True if nearly all of a block's contents can be elements of a type. */
bool hinted_elements_agree(const struct inference *inference, heap_object_id object,
			   heap_type_id type, uint64_t elements);

#endif
