// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OBJECT_SCAN_H
#define OBJECT_SCAN_H

/**
 * Finds the live blocks of the frozen copy by their signed headers (dumper/base/header.h).
 *
 * Every 16th byte of private anonymous memory may begin a header; the scan steps over live blocks.
 * Pieces that the program has declared (heapsnap_track()) are blocks, too. If such pieces lie in a
 * block of malloc's, that block ends at the first of them. So are the blocks of other allocators (unsigned_blocks.h).
 *
 *	header_scan    headers in a piece of memory
 *	object_scan    pieces joined in order: objects, ranges, damage
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/objects.h"
#include "dumper/writer/scan/reallocations.h"

/**
 * Adds all blocks, and the damage among them, to @p objects.
 *
 * @param process  whose headers verify
 * @param moves    blocks that a realloc is just moving
 * @param skip     [skip_count] ranges (start, end) of the library's own memory, which are not scanned
 * @param others   blocks that have no header, by address
 */
HEAP_MUST_CHECK
struct heap_error *object_scan_run(struct objects *objects, const struct image *image,
				   const struct heapsnap_process *process, struct moves *moves,
				   const uint64_t (*skip)[2], size_t skip_count,
				   const struct blocks *others);

#endif
