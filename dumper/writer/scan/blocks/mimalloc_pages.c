// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/mimalloc_pages.h"

#include <string.h>

struct heap_error *mimalloc_walk_init(struct mimalloc_walk *walk, struct blocks *blocks,
				      const struct image *image)
{
	*walk = (struct mimalloc_walk){ .blocks = blocks, .image = image };
	return windows_init(&walk->windows, image);
}

void mimalloc_walk_deinit(struct mimalloc_walk *walk)
{
	windows_deinit(&walk->windows);
}

void mimalloc_reset_pages(struct mimalloc_walk *walk)
{
	walk->well_formed = walk->malformed = 0;
	walk->pages = (struct block_audit){ "mimalloc", "pages", "free blocks", 0, 0 };
}

static bool is_page(const struct mimalloc_walk *walk, const struct mimalloc_page *page)
{
	return page->block_size >= 8 && page->used <= page->capacity && page->capacity > 0 &&
	       page->block_size <= page->room / page->capacity &&
	       image_is_private_memory(image_find(walk->image, page->first));
}

struct heap_error *mimalloc_add_page(struct mimalloc_walk *walk, const struct mimalloc_page *page)
{
	struct block_grid *grid = &walk->grid;
	struct windows *windows = &walk->windows;
	uint32_t count;

	if (!is_page(walk, page) ||
	    !block_grid_init(grid, page->first, page->block_size, page->capacity)) {
		walk->pages.count++;
		walk->malformed++;
		return NULL;
	}
	walk->well_formed++;
	count = block_grid_mark(grid, windows, page->free) +
		block_grid_mark(grid, windows, page->local_free);
	if (count > 0 || page->used != page->capacity) {
		walk->pages.count++;
		walk->pages.agreeing += count + page->used == page->capacity;
	}
	block_grid_mark(grid, windows, page->thread_free);
	return block_grid_add(grid, walk->image, walk->blocks);
}

void mimalloc_doubt(struct blocks *blocks)
{
	if (!strstr(blocks->doubts, "blocks of mimalloc"))
		blocks_doubt(blocks,
			     "blocks of mimalloc are not known, as its free lists are encoded "
			     "(secure mode) or its version is not known: start it by heapsnap run");
}
