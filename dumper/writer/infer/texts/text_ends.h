// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TEXT_ENDS_H
#define TEXT_ENDS_H

/**
 * Structs that end in their own key, to which alone pointers lead:
 *
 *	struct item { struct value value; char flags; char key[]; }
 *	                                          └◀ slot.key
 *
 * The program finds the item by subtraction. The place where the text begins tells which structs it may be.
 * If the text ends where the block does, it is the one with which the contents agree best.
 */

#include "lib/types/types.h"

struct inference;

enum {
	MAX_TEXT_ENDS = 256,
};

/** A struct with a flexible array of characters. */
struct text_end {
	uint64_t start;
	heap_type_id type;
	uint32_t chosen; /**< blocks with which it alone agrees best */
};

struct text_ends {
	struct text_end list[MAX_TEXT_ENDS]; /**< [count] */
	uint32_t count;
	bool is_known; /**< the list is complete */
	uint32_t hints_seen;
};

/** Claims the structs to whose texts slots lead that are new. @param claimed  increased by their number */
HEAP_MUST_CHECK
struct heap_error *text_ends_claim(struct inference *inference, uint64_t *claimed);

#endif
