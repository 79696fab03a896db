// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/foreign_memory.h"

#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	SAMPLE = 256, // pages of each mapping
};

static bool is_written(const struct image *image, uint64_t page)
{
	char bytes[PAGE];

	image_read_padded(image, page, bytes, sizeof(bytes));
	return bytes[0] != 0 || memcmp(bytes, bytes + 1, sizeof(bytes) - 1) != 0;
}

// A core file has all pages of a mapping: those that are not zeros, by a sample.
static uint64_t written_bytes(const struct image *image, uint64_t start, uint64_t end)
{
	uint64_t step = (end - start) / PAGE / SAMPLE + 1, pages = 0;

	for (uint64_t at = start; at < end; at += step * PAGE)
		pages += is_written(image, at);
	return pages * step * PAGE < end - start ? pages * step * PAGE : end - start;
}

static uint64_t touched_bytes(const struct image *image, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0, until = start;

	if (image->core)
		return written_bytes(image, start, end);
	while (start < end) {
		start = image_skip_untouched(image, start, end, &until);
		if (start >= end || until <= start)
			break;
		bytes += until - start;
		start = until;
	}
	return bytes;
}

static bool holds_block(const struct blocks *blocks, const struct image_mapping *mapping)
{
	const struct block *list = blocks->list.items;
	size_t at = heap_partition_point(i, (size_t)0, blocks->list.count,
					 list[i].address < mapping->start);

	return (at < blocks->list.count && list[at].address < mapping->end) ||
	       (at > 0 && list[at - 1].address + list[at - 1].size > mapping->start);
}

// A thread's stack lies below its storage.
static bool holds_thread(const struct block_threads *threads, const struct image_mapping *mapping)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->pointers[i] >= mapping->start && threads->pointers[i] < mapping->end)
			return true;
	}
	return false;
}

// True for pages of a file that the process may have made its own: a heap that was dumped before.
static bool is_changed_file(const struct image_mapping *mapping)
{
	return mapping->kind == IMAGE_FILE && !mapping->shared &&
	       (mapping->protection & PROT_WRITE);
}

// The bytes that are touched of a mapping that may hold blocks.
static uint64_t measure(const struct image *image, const struct image_mapping *mapping)
{
	if (mapping->kind == IMAGE_HEAP || image_is_private_memory(mapping))
		return touched_bytes(image, mapping->start, mapping->end);
	return is_changed_file(mapping) ? image_written_bytes(image, mapping) : 0;
}

struct heap_error *foreign_memory_init(struct foreign_memory *memory, const struct image *image)
{
	uint64_t data_end = 0; // of the last module's data

	*memory = (struct foreign_memory){ .image = image };
	memory->touched = calloc(image->mapping_count + 1, sizeof(*memory->touched));
	if (!memory->touched)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < image->mapping_count; i++) {
		uint64_t end = image_data_end(image, i);

		data_end = end > data_end ? end : data_end;
		if (image->mappings[i].start >= data_end)
			memory->touched[i] = measure(image, &image->mappings[i]);
	}
	return NULL;
}

void foreign_memory_deinit(struct foreign_memory *memory)
{
	free(memory->touched);
}

void foreign_memory_count(struct foreign_memory *memory, const struct blocks *blocks,
			  const struct block_threads *threads)
{
	const struct image *image = memory->image;

	memory->foreign = memory->all = 0;
	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (memory->touched[i] == 0)
			continue;
		memory->all += memory->touched[i];
		if (!holds_block(blocks, mapping) && !holds_thread(threads, mapping))
			memory->foreign += memory->touched[i];
	}
}

bool foreign_memory_is_much(const struct foreign_memory *memory, uint64_t known)
{
	const uint64_t little = 1 << 20;
	uint64_t unknown = memory->foreign > known ? memory->foreign - known : 0;

	return unknown > little && unknown > memory->all / 4;
}
