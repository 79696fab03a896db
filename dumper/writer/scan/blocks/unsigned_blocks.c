// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/unsigned_blocks.h"

#include "dumper/base/header.h"
#include "dumper/writer/scan/image/page_cache.h"

#include <string.h>

enum {
	LEAST_BLOCKS = 16,  // fewer are no part of the program
	LEAST_SHARE = 1024, // one in so many blocks, or bytes
};

static void close_pages(struct pages **pages)
{
	pages_destroy(*pages);
}

// True if the allocator's block is that around one of malloc's, or was until that was freed.
static bool is_signed(struct pages *pages, const struct heapsnap_process *process, uint64_t block)
{
	struct heapsnap_header header;
	uint64_t signature;

	pages_read(pages, block, &header, sizeof(header));
	signature = header.origin >> HEAPSNAP_SITE_BITS;
	return signature == HEAPSNAP_WIPED || signature == HEAPSNAP_MOVING ||
	       heapsnap_verifies(process->secret, process->mark, block + HEAPSNAP_HEADER_SIZE,
				 header.extent, header.origin);
}

struct sums {
	uint64_t count, bytes;
};

static bool is_much(const struct sums *part, const struct sums *all)
{
	return part->count >= LEAST_BLOCKS &&
	       (part->count * LEAST_SHARE >= all->count || part->bytes * LEAST_SHARE >= all->bytes);
}

static void forget_all(struct blocks *blocks)
{
	blocks_deinit(blocks);
	*blocks = (struct blocks){ 0 };
}

HEAP_MUST_CHECK
static struct heap_error *drop_signed(struct blocks *blocks, const struct image *image,
				      const struct heapsnap_process *process)
{
	CLEANUP(close_pages) struct pages *pages = pages_create(image, PAGES_IN_ORDER);
	struct block *list = blocks->list.items;
	struct sums all = { 0 }, without = { 0 };

	if (!pages)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < blocks->list.count; i++) {
		const struct block block = list[i];

		all.count++;
		all.bytes += block.size;
		if (is_signed(pages, process, block.address))
			continue;
		list[without.count++] = block;
		without.bytes += block.size;
	}
	blocks->list.count = without.count;
	// None is signed where the program's malloc is another, and passes nothing on to the library.
	if (!is_much(&without, &all) &&
	    !(process->other_malloc[0] != '\0' && without.count == all.count))
		forget_all(blocks);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_all(struct blocks *blocks, const struct image *image,
				   const struct block_threads *threads)
{
	struct heap_error *error = blocks_find(blocks, image, threads);

	if (!error || heap_error_code(error) != HEAP_ERROR_ABSENT)
		return error;
	heap_error_destroy(error);
	forget_all(blocks);
	return NULL;
}

struct heap_error *unsigned_blocks_find(struct blocks *blocks, const struct image *image,
					const struct block_threads *threads,
					const struct heapsnap_process *process,
					bool is_glibc_called)
{
	if (is_glibc_called)
		HEAP_TRY(find_all(blocks, image, threads));
	else
		HEAP_TRY(blocks_find_beside_glibc(blocks, image, threads));
	if (blocks->list.count == 0) {
		forget_all(blocks);
		return NULL;
	}
	return drop_signed(blocks, image, process);
}
