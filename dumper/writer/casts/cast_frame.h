// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_FRAME_H
#define CAST_FRAME_H

/** Variables in the frame of a function, and what other functions store there. */

#include "dumper/writer/casts/cast_search.h"

/**
 * Where in the frame an address is, as an offset that variables there have.
 *
 * Code that is optimized has any pointer in the frame pointer's register, and the stack pointer leads to the frame.
 *
 * @return false: it is not there
 */
bool cast_frame_has(const struct cast_search *search, const struct code_move *move, uint64_t pc,
		    int64_t *offset);

/** Notes that a function has stored members at an offset in the frame. There they come into the variables. */
void cast_frame_give(struct cast_search *search, int64_t offset, const struct cast_origin *origin,
		     uint64_t pc);

/** The value at an offset in the frame. */
struct cast_value cast_frame_load(const struct cast_search *search, int64_t offset, uint64_t pc);

/** A register is stored in a variable in the frame: also those of the parameters, at first. */
void cast_frame_store(struct cast_search *search, const struct code_move *move, int64_t offset,
		      uint64_t pc);

#endif
