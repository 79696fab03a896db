// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_INSTRUCTIONS_H
#define CAST_INSTRUCTIONS_H

/** Instructions: they load from members, store in them, and move from register to register. */

#include "dumper/writer/casts/cast_search.h"

/** @param range  of code that the instruction is in */
void cast_instructions_visit(struct cast_search *search, const struct code_move *move, uint64_t pc,
			     const struct heap_dwarf_code_range *range);

#endif
