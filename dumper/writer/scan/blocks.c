// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks.h"

#include "lib/base/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMOVED UINT64_MAX // as a size

void blocks_name(struct blocks *blocks, const char *allocator)
{
	size_t length = strlen(blocks->allocators);

	snprintf(blocks->allocators + length, sizeof(blocks->allocators) - length, "%s%s",
		 length ? ", " : "", allocator);
}

void blocks_doubt(struct blocks *blocks, const char *format, ...)
{
	size_t length = strlen(blocks->doubts);
	va_list arguments;

	if (length + 2 >= sizeof(blocks->doubts))
		return;
	if (length > 0)
		length = (size_t)(stpcpy(blocks->doubts + length, "; ") - blocks->doubts);
	va_start(arguments, format);
	vsnprintf(blocks->doubts + length, sizeof(blocks->doubts) - length, format, arguments);
	va_end(arguments);
}

struct heap_error *blocks_add(struct blocks *blocks, uint64_t address, uint64_t size)
{
	return heap_array_append(&blocks->list, (struct block){ address, size });
}

struct block_mark blocks_mark(const struct blocks *blocks)
{
	return (struct block_mark){ blocks->list.count, blocks->runs.count };
}

void blocks_rewind(struct blocks *blocks, struct block_mark mark)
{
	blocks->list.count = blocks->run_start = mark.blocks;
	blocks->runs.count = mark.runs;
}

bool blocks_accept(struct blocks *blocks, struct block_mark mark, const struct block_audit *audit)
{
	if (audit->agreeing * 100 < audit->count * BLOCKS_MIN_AGREEING) {
		blocks_rewind(blocks, mark);
		return false;
	}
	blocks_name(blocks, audit->allocator);
	blocks->sizes = BLOCK_SIZES_GEOMETRIC;
	if (audit->agreeing != audit->count)
		blocks_doubt(blocks, "%zu of %s's %zu %s count other %s",
			     audit->count - audit->agreeing, audit->allocator, audit->count,
			     audit->parts, audit->free);
	return true;
}

struct heap_error *blocks_end_run(struct blocks *blocks)
{
	struct block_run run = { blocks->run_start, blocks->list.count - blocks->run_start };

	blocks->run_start = blocks->list.count;
	return run.count > 0 ? heap_array_append(&blocks->runs, run) : NULL;
}

static int compare_runs(const void *left, const void *right, void *context)
{
	const struct block *list = context;
	const struct block_run *a = left, *b = right;

	return (list[a->first].address > list[b->first].address) -
	       (list[a->first].address < list[b->first].address);
}

// True if each run begins where the one before it has ended.
static bool is_sorted(const struct blocks *blocks)
{
	for (size_t i = 1; i < blocks->runs.count; i++) {
		const struct block *first = &blocks->list.items[blocks->runs.items[i].first];

		if (first->address <= first[-1].address)
			return false;
	}
	return true;
}

struct heap_error *blocks_sort(struct blocks *blocks)
{
	CLEANUP_FREE struct block *sorted = NULL;
	size_t count = 0;

	HEAP_TRY(blocks_end_run(blocks));
	if (is_sorted(blocks))
		return NULL;
	qsort_r(blocks->runs.items, blocks->runs.count, sizeof(*blocks->runs.items), compare_runs,
		blocks->list.items);
	sorted = malloc(blocks->list.count * sizeof(*sorted));
	if (!sorted)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < blocks->runs.count; i++) {
		struct block_run *run = &blocks->runs.items[i];

		memcpy(sorted + count, blocks->list.items + run->first,
		       run->count * sizeof(*sorted));
		run->first = count;
		count += run->count;
	}
	free(blocks->list.items);
	blocks->list.items = keep(sorted);
	blocks->list.capacity = blocks->list.count;
	return NULL;
}

static struct block *search(const struct blocks *blocks, uint64_t address)
{
	const struct block *list = blocks->list.items;
	size_t at =
		heap_partition_point(i, (size_t)0, blocks->list.count, list[i].address < address);

	return at < blocks->list.count && list[at].address == address && list[at].size != REMOVED
		       ? &blocks->list.items[at]
		       : NULL;
}

const struct block *blocks_search(const struct blocks *blocks, uint64_t address)
{
	return search(blocks, address);
}

bool blocks_remove(struct blocks *blocks, uint64_t address)
{
	struct block *block = search(blocks, address);

	if (block)
		block->size = REMOVED;
	return block != NULL;
}

void blocks_remove_around(struct blocks *blocks, uint64_t address)
{
	struct block *list = blocks->list.items;
	size_t at =
		heap_partition_point(i, (size_t)0, blocks->list.count, list[i].address <= address);

	if (at > 0 && address - list[at - 1].address < list[at - 1].size)
		list[at - 1].size = REMOVED;
}

// Drops what was removed, and what overlaps the block before it.
static void compact(struct blocks *blocks)
{
	struct block *list = blocks->list.items;
	size_t count = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < blocks->list.count; i++) {
		if (list[i].size == REMOVED || list[i].address < end ||
		    list[i].size > UINT64_MAX - list[i].address)
			continue;
		end = list[i].address + list[i].size;
		list[count++] = list[i];
	}
	blocks->list.count = count;
}

// Libraries of allocators. Some are unknown here, others only in some versions.
static const struct {
	const char *file, *name;
} strangers[] = {
	{ "libtcmalloc", "tcmalloc" },   { "libmimalloc", "mimalloc" },
	{ "libjemalloc", "jemalloc" },   { "libsnmalloc", "snmalloc" },
	{ "librpmalloc", "rpmalloc" },   { "libhoard", "Hoard" },
	{ "libtbbmalloc", "tbbmalloc" }, { "ld-musl-", "musl" },
};

// The allocator of a module, if its blocks were not found; or NULL.
static const char *find_stranger(const struct blocks *blocks, const struct image_mapping *mapping)
{
	const char *slash = strrchr(mapping->name, '/');

	for (size_t i = 0; slash && i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		if (strncmp(slash + 1, strangers[i].file, strlen(strangers[i].file)) == 0 &&
		    !strstr(blocks->allocators, strangers[i].name))
			return strangers[i].name;
	}
	return NULL;
}

static void doubt_strangers(struct blocks *blocks, const struct image *image)
{
	for (size_t i = 0; i < image->mapping_count; i++) {
		const char *name = find_stranger(blocks, &image->mappings[i]);

		if (name && !strstr(blocks->doubts, name))
			blocks_doubt(blocks, "blocks of %s are not known: start it by heapsnap run",
				     name);
	}
}

struct heap_error *blocks_find(struct blocks *blocks, const struct image *image,
			       const struct block_threads *threads)
{
	*blocks = (struct blocks){ 0 };
	HEAP_TRY(blocks_find_glibc(blocks, image, threads));
	HEAP_TRY(blocks_find_jemalloc(blocks, image, threads));
	HEAP_TRY(blocks_find_mimalloc(blocks, image));
	HEAP_TRY(blocks_find_tcmalloc(blocks, image));
	if (blocks->allocators[0] == '\0')
		HEAP_TRY(blocks_find_musl(blocks, image));
	HEAP_TRY(blocks_sort(blocks));
	compact(blocks);
	doubt_strangers(blocks, image);
	if (blocks->allocators[0] != '\0')
		return NULL;
	if (blocks->doubts[0] != '\0')
		return heap_error_create(HEAP_ERROR_ABSENT, "%s", blocks->doubts);
	return heap_error_create(
		HEAP_ERROR_ABSENT,
		"it has allocated nothing yet, or its allocator is none that is "
		"known (glibc, jemalloc 5.3, mimalloc 2.0, musl, tcmalloc 2.10 to 2.16): "
		"start it by heapsnap run");
}

// The mappings that touch, from the one that holds an address on.
static uint64_t end_of_mappings(const struct image *image, const struct image_mapping *mapping)
{
	const struct image_mapping *last = image->mappings + image->mapping_count - 1;

	while (mapping < last && mapping[1].start == mapping->end && !mapping[1].shared &&
	       mapping[1].kind == mapping->kind)
		mapping++;
	return mapping->end;
}

struct heap_error *blocks_add_objects(const struct blocks *blocks, const struct image *image,
				      struct objects *objects)
{
	const struct block *list = blocks->list.items;

	for (size_t i = 0; i < blocks->list.count;) {
		const struct image_mapping *mapping = image_find(image, list[i].address);
		struct object_range range = { .first = objects->count };

		if (!mapping) {
			i++;
			continue;
		}
		range.start = mapping->start;
		range.end = end_of_mappings(image, mapping);
		for (; i < blocks->list.count && list[i].address < range.end; i++) {
			uint64_t left = range.end - list[i].address;
			uint64_t size = list[i].size < left ? list[i].size : left;

			if (size > HEAPSNAP_SIZE_MAX)
				size = HEAPSNAP_SIZE_MAX;
			HEAP_TRY(objects_add(objects, list[i].address,
					     heapsnap_extent(size, 0, HEAPSNAP_BEFORE, 0), 0));
		}
		range.count = objects->count - range.first;
		HEAP_TRY(objects_add_range(objects, &range));
	}
	return NULL;
}

void blocks_deinit(struct blocks *blocks)
{
	heap_array_deinit(&blocks->list);
	heap_array_deinit(&blocks->runs);
}
