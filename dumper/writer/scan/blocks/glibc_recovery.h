// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_RECOVERY_H
#define GLIBC_RECOVERY_H

/**
 * Finds glibc's blocks in a core file that was cut off, and lacks the variables of libc: by the chunks
 * themselves, whose sizes lead from one to the next.
 *
 *	anonymous memory ─┬─ a heap of an arena, by its first words ──▶ its chunks
 *	                  └─ a page from which chunks lead to the end of the memory, to a fence, or to
 *	                     where the file ends
 *
 * Chunks in the first arena's fast bins are free, and look like blocks: nothing else tells them. So do those
 * in a thread's cache behind one that is missing.
 */

#include "dumper/writer/scan/blocks/glibc_walker.h"

/** Adds the blocks, and notes the allocator's name if there are any; the list is sorted then. */
HEAP_MUST_CHECK
struct heap_error *glibc_recover(struct glibc_walker *walker);

#endif
