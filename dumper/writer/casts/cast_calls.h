// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_CALLS_H
#define CAST_CALLS_H

/** Void pointers that go into functions as parameters, and come out of them: cast_paths.h. */

#include "dumper/writer/casts/cast_search.h"

/** A call: its parameters go into the function, and its result comes into a register. */
void cast_calls_visit(struct cast_search *search, const struct code_move *move, uint64_t pc);

/** The function ends with its result. */
void cast_calls_return(struct cast_search *search, uint64_t pc);

#endif
