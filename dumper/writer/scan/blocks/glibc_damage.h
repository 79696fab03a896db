// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_DAMAGE_H
#define GLIBC_DAMAGE_H

/**
 * Goes on behind headers of chunks that the program has overwritten, which is what many crash by.
 *
 *	chunk chunk [overrun ▒▒▒▒▒▒▒▒▒▒▒▒▒] chunk chunk chunk ... top
 *	             its size is known      ╰─ from here on, headers agree with each other
 *
 * The blocks in between cannot be found: nothing else tells where they begin.
 */

#include "dumper/writer/scan/blocks/glibc_chunks.h"

/**
 * Says that a walk has ended in damage, adds the block before it, and finds where the chunks go on.
 *
 * @param walk      ended broken; its start gets where they go on
 * @param arena     GLIBC_NON_MAIN for heaps of arenas but the first
 * @param goes_on   set to false if they do nowhere before its limit
 */
HEAP_MUST_CHECK
struct heap_error *glibc_pass_damage(struct glibc_walker *walker, struct glibc_walk *walk,
				     uint64_t arena, bool *goes_on);

#endif
