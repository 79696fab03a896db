// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SHELL_MEMORY_USE_H
#define SHELL_MEMORY_USE_H

/**
 * What a process uses its memory for beside live blocks. Who sees it grow looks for a leak, and there may be none:
 *
 *	memory    108.9 MiB of private memory are in use, but for modules' data
 *	             49.1 KiB  live blocks
 *	            107.0 MiB  free memory that malloc keeps, 90.2 MiB of it whole pages
 *	              1.9 MiB  threads' stacks
 *
 * Older snapshots do not know it: then nothing is printed.
 */

#include "shell/base/session.h"

/** Bytes of private memory, but for modules' data. All are 0 if they are not known. */
struct memory_use {
	uint64_t blocks, spare, spare_pages, stacks, mapped;
};

/** @return what the opened snapshot's process used its memory for. */
struct memory_use memory_use_of(const struct heap_snapshot *snapshot);

/** Prints these lines, and the same for JSON. */
void memory_use_print(struct session *session);

/** Says what memory is used for, and what to do, if most of it is no live blocks. Not in JSON. */
void memory_use_advise(struct session *session);

/**
 * Says what else than live blocks has grown since an earlier snapshot, or become less, if it is much; JSON has all of it:
 *
 *	Beside live blocks, the memory in use grew from 3.4 MiB to 108.9 MiB:
 *	       +90.2 MiB  free memory that malloc keeps, and its own
 *	       +15.3 MiB  mapped without malloc
 */
void memory_use_print_growth(struct session *session, const struct memory_use *before);

#endif
