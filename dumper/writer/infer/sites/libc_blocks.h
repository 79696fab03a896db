// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBC_BLOCKS_H
#define LIBC_BLOCKS_H

/**
 * Blocks that libc allocates for itself or for its caller, and whose types are part of its
 * documented behaviour: the buffer of a stream, a line that getline() read. They are named by the
 * function that allocates them, since most machines have no debug information of libc. So is the
 * reserve of the C++ runtime, of 71 KiB in each program.
 */

#include "dumper/writer/infer/inference.h"

/**
 * Makes sure that the snapshot has the types of these blocks. Call it before anything indexes
 * the type table.
 */
HEAP_MUST_CHECK
struct heap_error *libc_blocks_add_types(struct capture *capture);

/**
 * Finds the types that the debug information of libc alone has: no code of the program makes such blocks. Where libc
 * does, its own code tells.
 *
 * @param result  gets malloc'd bits.h, one for each type; NULL if no libc has debug information
 */
HEAP_MUST_CHECK
struct heap_error *libc_blocks_find_types(const struct capture *capture, uint8_t **result);

/** Claims these blocks by their sites, so that whatever points to them may still say better. */
HEAP_MUST_CHECK
struct heap_error *libc_blocks_claim(struct inference *inference);

#endif
