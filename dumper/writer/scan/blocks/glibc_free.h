// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_FREE_H
#define GLIBC_FREE_H

/** Removes the chunks that are free although glibc marks them as in use: fast bins and threads' caches hold them. */

#include "dumper/writer/scan/blocks/glibc_walker.h"

/** Removes the blocks in the fast bins of an arena. The blocks must be sorted. */
void glibc_remove_fast_bins(struct glibc_walker *walker, const struct glibc_state *state,
			    uint64_t arena);

/** Removes the caches of all threads, and the blocks in them. The blocks must be sorted. */
HEAP_MUST_CHECK
struct heap_error *glibc_remove_tcaches(struct glibc_walker *walker);

#endif
