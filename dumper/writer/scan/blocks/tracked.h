// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACKED_H
#define TRACKED_H

/**
 * Blocks without a header: the pieces of memory that the program has declared by heapsnap_track(), and the blocks of
 * allocators beside malloc.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/image.h"

#include <stddef.h>

struct tracked_piece {
	uint64_t address;
	uint64_t extent; /**< as a block's header has it (header.h) */
	uint64_t site;
	/** An allocator's block: where one with a header is in it, it is what malloc has got for that. */
	bool is_block;
};

struct tracked {
	struct tracked_piece *pieces; /**< [count] by address */
	size_t count;
	size_t at; /**< those before it have been added to the objects, or left out */
};

/**
 * Reads the process' table. What makes no sense in it is left out.
 * @param blocks  that have no header either, by address
 */
HEAP_MUST_CHECK
struct heap_error *tracked_init(struct tracked *tracked, const struct image *image,
				const struct heapsnap_process *process,
				const struct blocks *blocks);

void tracked_deinit(struct tracked *tracked);

/** Leaves out the pieces that begin before an address. */
void tracked_skip(struct tracked *tracked, uint64_t before);

/** Leaves out allocators' blocks that begin before an address. */
void tracked_skip_blocks(struct tracked *tracked, uint64_t before);

/** Takes back the pieces that begin at or after an address: they may be added again. */
void tracked_rewind(struct tracked *tracked, uint64_t after);

/** The address of the next piece; UINT64_MAX if there is none. */
uint64_t tracked_next(const struct tracked *tracked);

#endif
