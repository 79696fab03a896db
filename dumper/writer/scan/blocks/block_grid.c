// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/block_grid.h"

#include "lib/base/bits.h"

#include <string.h>

bool block_grid_init(struct block_grid *grid, uint64_t first, uint64_t size, uint64_t count)
{
	if (size == 0 || count == 0 || count > BLOCK_GRID_MOST)
		return false;
	grid->first = first;
	grid->size = size;
	grid->count = (uint32_t)count;
	memset(grid->freed, 0, count / 8 + 1);
	return true;
}

// Lists lead to and fro in the grid: it is read as a whole where the window has room.
static struct window *choose_window(const struct block_grid *grid, struct windows *windows)
{
	struct window *far = &windows->far;
	uint64_t bytes = grid->size * grid->count, before = grid->first - far->start;

	if (bytes > WINDOW_FAR - WINDOW_NEAR)
		return &windows->near;
	if (before >= far->size || far->size - before < bytes)
		window_move(far, grid->first);
	return far;
}

uint32_t block_grid_mark(struct block_grid *grid, struct windows *windows, uint64_t block)
{
	struct window *window;
	uint32_t count = 0;

	if (block == 0)
		return 0;
	window = choose_window(grid, windows);
	while (block != 0) {
		uint64_t offset = block - grid->first, at = offset / grid->size;

		if (offset % grid->size != 0 || at >= grid->count ||
		    heap_bit_get(grid->freed, (uint32_t)at))
			break;
		heap_bit_set(grid->freed, (uint32_t)at);
		count++;
		block = window_peek(window, block);
	}
	return count;
}

struct heap_error *block_grid_add(const struct block_grid *grid, const struct image *image,
				  struct blocks *blocks)
{
	uint64_t end = grid->first + grid->size * grid->count;
	uint64_t touched = 0, until = 0;

	for (uint32_t i = 0; i < grid->count; i++) {
		uint64_t block = grid->first + i * grid->size;

		if (heap_bit_get(grid->freed, i))
			continue;
		if (block >= until)
			touched = image_skip_untouched(image, block, end, &until);
		if (block >= touched)
			HEAP_TRY(blocks_add(blocks, block, grid->size));
	}
	return blocks_end_run(blocks);
}
