// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_PLACES_H
#define CAST_PLACES_H

/**
 * The registers, and places in the frame, that the variables of a function are in at each address, for
 * code_casts.h. (DWARF 5, sections 2.6 and 4.1.)
 */

#include "dumper/writer/casts/moves.h"
#include "lib/base/array.h"
#include "lib/dwarf/dwarf_code_unit.h"
#include "lib/dwarf/dwarf_location.h"

#include <stdbool.h>

enum {
	CAST_IN_FRAME = MOVE_REGISTERS, /**< instead of a register */
};

/** A variable that matters. */
struct cast_variable {
	uint64_t place; /**< of its DIE */
	uint64_t type;  /**< place of its type */
	uint8_t roles;  /**< enum cast_role */
	/** The code that it belongs to, of a block or an inlined call; NULL: all of the function. */
	const struct heap_dwarf_code_range *ranges; /**< [range_count] */
	uint32_t range_count;
};

/** Where one is in [low, high). */
struct cast_place {
	uint64_t low, high;
	uint64_t type;
	uint32_t variable; /**< its number among the variables */
	int64_t offset;    /**< CAST_IN_FRAME: from the frame pointer; else 0 */
	uint8_t reg;       /**< DWARF number, or CAST_IN_FRAME */
	uint8_t roles;
	uint8_t parameter; /**< 1 + the register that it is in when the function is entered; 0: not known */
};

/** Zeros are no places. */
struct cast_places {
	struct HEAP_ARRAY(struct cast_place) list; /**< by register, then by address */
	uint32_t first[CAST_IN_FRAME + 2];         /**< in list, of each register */
	bool has_frame;                            /**< variables in the frame are found */
	/** But by the frame pointer only where code sets it: else it is like any register. The stack pointer leads to them anywhere. */
	bool is_framed_by_code;
	bool is_on_stack;   /**< offsets count from the stack pointer, not from the frame pointer */
	int64_t frame_base; /**< from there */
};

void cast_places_deinit(struct cast_places *places);

/**
 * Finds the places of a function's variables. Those at which they are not by themselves, or are but computed, do
 * not count, nor do damaged ones.
 *
 * @param function   place of its DIE
 * @param entry      address of its first instruction
 * @param variables  [count]
 * @return NULL or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *cast_places_read(struct cast_places *places,
				    struct heap_dwarf_locations *locations, uint64_t function,
				    uint64_t entry, const struct cast_variable *variables,
				    size_t count);

/**
 * The next place that is a register, or that offset of the frame, at an address.
 *
 * @param roles  that its variable has at least one of
 * @param at     0 at first; moved on
 * @return NULL: there are no more
 */
struct cast_place *cast_places_next(const struct cast_places *places, uint8_t reg, int64_t offset,
				    uint64_t pc, unsigned roles, uint32_t *at);

#endif
