// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/tracked.h"

#include "dumper/base/header.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MAX_PIECES = 1 << 24, // the process' count may have been overwritten
};

static int compare_pieces(const void *left, const void *right)
{
	const struct tracked_piece *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void add_blocks(struct tracked *tracked, const struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->list.count; i++) {
		const struct block *block = &blocks->list.items[i];
		uint64_t size = block->size < HEAPSNAP_SIZE_MAX ? block->size : HEAPSNAP_SIZE_MAX;

		if (block->address % 8 == 0 && size > 0)
			tracked->pieces[tracked->count++] = (struct tracked_piece){
				block->address, heapsnap_extent(size, 0, HEAPSNAP_BEFORE, 0), 0,
				true
			};
	}
}

// The process' table.
HEAP_MUST_CHECK
static struct heap_error *read_table(const struct image *image,
				     const struct heapsnap_process *process, size_t count,
				     struct heapsnap_piece **table)
{
	*table = calloc(count + 1, sizeof(**table));
	if (!*table)
		return heap_error_out_of_memory();
	image_read_padded(image, process->pieces, *table, count * sizeof(**table));
	return NULL;
}

struct heap_error *tracked_init(struct tracked *tracked, const struct image *image,
				const struct heapsnap_process *process, const struct blocks *blocks)
{
	size_t count =
		process->pieces && process->piece_count <= MAX_PIECES ? process->piece_count : 0;
	CLEANUP_FREE struct heapsnap_piece *table = NULL;

	*tracked = (struct tracked){ .pieces = calloc(count + blocks->list.count + 1,
						      sizeof(*tracked->pieces)) };
	if (!tracked->pieces)
		return heap_error_out_of_memory();
	HEAP_TRY(read_table(image, process, count, &table));
	for (size_t i = 0; i < count; i++) {
		const struct heapsnap_piece piece = table[i];

		if (piece.address % 8 == 0 && heapsnap_extent_size(piece.extent) > 0)
			tracked->pieces[tracked->count++] =
				(struct tracked_piece){ piece.address, piece.extent, piece.site,
							false };
	}
	add_blocks(tracked, blocks);
	qsort(tracked->pieces, tracked->count, sizeof(*tracked->pieces), compare_pieces);
	return NULL;
}

void tracked_deinit(struct tracked *tracked)
{
	free(tracked->pieces);
}

void tracked_skip(struct tracked *tracked, uint64_t before)
{
	while (tracked_next(tracked) < before)
		tracked->at++;
}

void tracked_skip_blocks(struct tracked *tracked, uint64_t before)
{
	while (tracked_next(tracked) < before && tracked->pieces[tracked->at].is_block)
		tracked->at++;
}

void tracked_rewind(struct tracked *tracked, uint64_t after)
{
	while (tracked->at > 0 && tracked->pieces[tracked->at - 1].address >= after)
		tracked->at--;
}

uint64_t tracked_next(const struct tracked *tracked)
{
	return tracked->at < tracked->count ? tracked->pieces[tracked->at].address : UINT64_MAX;
}
