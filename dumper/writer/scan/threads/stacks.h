// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STACKS_H
#define STACKS_H

/**
 * The threads: their frames, and the contents of variables, registers and stack words.
 *
 * A stack is unwound by call frame information. Words that belong to no variable are attributed to
 * the frame that they lie in; words above the last frame that could be found, to the thread. So a
 * frame that cannot be named loses its name, and nothing that it holds.
 */

#include "dumper/writer/scan/capture.h"

/** Finds all frames, the variables that are live in them, and what registers hold. */
HEAP_MUST_CHECK
struct heap_error *stacks_unwind(struct capture *capture);

/** Gathers the words of the stacks that no variable has claimed. */
HEAP_MUST_CHECK
struct heap_error *stacks_gather_words(struct capture *capture);

/**
 * Gathers the variables of the snapshot's frames, those in memory that are found without registers.
 */
HEAP_MUST_CHECK
struct heap_error *stacks_gather_locals(struct capture *capture);

#endif
