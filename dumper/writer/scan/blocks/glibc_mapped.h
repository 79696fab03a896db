// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_MAPPED_H
#define GLIBC_MAPPED_H

/** Finds the chunks of glibc's malloc that were mapped, and pieces of its heap that were: nothing lists them. */

#include "dumper/writer/scan/blocks/glibc_walker.h"

/** The search for mapped memory, with the amounts that are left to find. */
struct glibc_mapped {
	struct glibc_walker *walker;
	const struct glibc_state *state;
	uint64_t wanted, wanted_bytes; /**< chunks */
	uint64_t wanted_heap;          /**< bytes of the first arena */
	bool wants_top;                /**< of the first arena */
};

/** Searches each page of anonymous memory that nobody has claimed, until all is found. */
HEAP_MUST_CHECK
struct heap_error *glibc_search_mapped(struct glibc_mapped *mapped);

#endif
