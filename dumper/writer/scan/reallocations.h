// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REALLOCATIONS_H
#define REALLOCATIONS_H

/**
 * Blocks that a thread's realloc was moving when the process was frozen: they are live, but have no
 * valid header.
 *
 *	old place   [extent, stamp]contents          the thread's note: place, site, stamp
 *	new place   [extent, stamp]conte             libc copies headers along
 *
 * The block is at the place in the note while the stamp stands there; otherwise wherever the stamp
 * is found. dumper/base/protocol.h describes the note.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/image/image.h"

struct move {
	struct heapsnap_move note;
	uint64_t place; /**< where the block is; 0: not found yet */
};

struct moves {
	struct move *moves; /**< [count] */
	size_t count;
};

/** Reads the notes of all threads whose storage is known. */
HEAP_MUST_CHECK
struct heap_error *moves_init(struct moves *moves, const struct image *image,
			      const struct heapsnap_process *process,
			      const struct heapsnap_thread *threads);

void moves_deinit(struct moves *moves);

/** The note on the block at @p block with the header @p extent, @p stamp; NULL if there is none. */
const struct heapsnap_move *moves_find(struct moves *moves, uint64_t block, uint64_t extent,
				       uint64_t stamp);

#endif
