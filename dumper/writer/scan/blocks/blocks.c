// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/blocks/own_heap.h"

#include "lib/base/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define REMOVED UINT64_MAX // as a size

void blocks_name(struct blocks *blocks, const char *allocator)
{
	size_t length = strlen(blocks->allocators);

	if (strstr(blocks->allocators, allocator)) // a second one, in another module
		return;
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
	blocks->sizes = HEAP_BLOCK_SIZES_GEOMETRIC;
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

// Allocators, some of which are unknown here, others only in some versions: their libraries, and a text that they
// have in them when they are part of another file.
static const struct {
	const char *file, *name, *text;
} strangers[] = {
	{ "libtcmalloc", "tcmalloc", "tcmalloc.current_total_thread_cache_bytes" },
	{ "libmimalloc", "mimalloc", "mimalloc: warning: " },
	{ "libjemalloc", "jemalloc", "<jemalloc>: " },
	{ "libsnmalloc", "snmalloc", "Failed to initialise snmalloc" },
	{ "librpmalloc", "rpmalloc", NULL },
	{ "libhoard", "Hoard", NULL },
	{ "libtbbmalloc", "tbbmalloc", "TBBmalloc: " },
	{ "libclang_rt.scudo", "scudo", "Scudo ERROR: " },
	{ "ld-musl-", "musl", NULL },
};

enum {
	STRANGERS = sizeof(strangers) / sizeof(strangers[0]),
	TEXT_PIECE = 128 << 10, // bytes that are searched at once
	LONGEST_TEXT = 64,
};

// Searches constants for the texts of allocators. A core file may claim terabytes that it does not have: those are
// left out. @param is_there  [STRANGERS] gets true for those that are there
static void search_texts(const struct image *image, const struct image_mapping *mapping,
			 char *buffer, bool is_there[])
{
	uint64_t until;

	for (uint64_t at = mapping->start;
	     (at = image_skip_untouched(image, at, mapping->end, &until)) < mapping->end;) {
		uint64_t wanted = TEXT_PIECE + LONGEST_TEXT; // a text may lie across two pieces
		size_t size = until - at < wanted ? until - at : wanted;

		image_read_padded(image, at, buffer, size);
		for (size_t i = 0; i < STRANGERS; i++) {
			const char *text = strangers[i].text;

			if (text && !is_there[i])
				is_there[i] = memmem(buffer, size, text, strlen(text)) != NULL;
		}
		at = until - at > TEXT_PIECE ? at + TEXT_PIECE : until;
	}
}

static bool has_constants(const struct image_mapping *mapping)
{
	return mapping->kind == IMAGE_FILE && !mapping->shared &&
	       (mapping->protection & PROT_READ) && !(mapping->protection & PROT_WRITE);
}

static bool is_of_library(const struct image_mapping *mapping, const char *library)
{
	const char *slash = strrchr(mapping->name, '/');

	return slash && strncmp(slash + 1, library, strlen(library)) == 0;
}

// A process that has crashed cannot be started in another way any more.
static const char *next_time(const struct image *image)
{
	return image->core ? "the next time, " : "";
}

// Names the allocators that are in the process, but whose blocks were not found.
HEAP_MUST_CHECK
static struct heap_error *doubt_strangers(struct blocks *blocks, const struct image *image)
{
	CLEANUP_FREE char *buffer = malloc(TEXT_PIECE + LONGEST_TEXT);
	bool is_there[STRANGERS] = { false };

	if (!buffer)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < image->mapping_count; i++) {
		for (size_t j = 0; j < STRANGERS; j++)
			is_there[j] |= is_of_library(&image->mappings[i], strangers[j].file);
		if (has_constants(&image->mappings[i]))
			search_texts(image, &image->mappings[i], buffer, is_there);
	}
	for (size_t j = 0; j < STRANGERS; j++) {
		const char *name = strangers[j].name;

		if (is_there[j] && !strstr(blocks->allocators, name) &&
		    !strstr(blocks->doubts, name))
			blocks_doubt(blocks,
				     "blocks of %s are not known: %sstart it by heapsnap run", name,
				     next_time(image));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_others(struct blocks *blocks, const struct image *image,
				      const struct block_threads *threads)
{
	HEAP_TRY(blocks_find_jemalloc(blocks, image, threads));
	HEAP_TRY(blocks_find_mimalloc(blocks, image));
	HEAP_TRY(blocks_find_mimalloc3(blocks, image));
	return blocks_find_tcmalloc(blocks, image);
}

struct heap_error *blocks_find_beside_glibc(struct blocks *blocks, const struct image *image,
					    const struct block_threads *threads)
{
	*blocks = (struct blocks){ 0 };
	HEAP_TRY(find_others(blocks, image, threads));
	HEAP_TRY(blocks_sort(blocks));
	compact(blocks);
	return NULL;
}

struct heap_error *blocks_find(struct blocks *blocks, const struct image *image,
			       const struct block_threads *threads)
{
	*blocks = (struct blocks){ 0 };
	HEAP_TRY(blocks_find_glibc(blocks, image, threads));
	HEAP_TRY(find_others(blocks, image, threads));
	if (blocks->allocators[0] == '\0')
		HEAP_TRY(blocks_find_musl(blocks, image));
	HEAP_TRY(blocks_sort(blocks));
	compact(blocks);
	HEAP_TRY(doubt_strangers(blocks, image));
	if (blocks->allocators[0] != '\0')
		return NULL;
	if (blocks->doubts[0] != '\0')
		return heap_error_create(HEAP_ERROR_ABSENT, "%s", blocks->doubts);
	return own_heap_explain(image);
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

enum {
	RECENT_SIZES = 1024, // whose kinds are remembered; a power of 2
};

// Most sizes of a process are few: their kinds are remembered, which saves hashing.
struct recent_kinds {
	struct {
		uint64_t size;
		uint32_t kind;
		bool is_known;
	} list[RECENT_SIZES];
};

HEAP_MUST_CHECK
static struct heap_error *find_kind(struct object_kinds *kinds, struct recent_kinds *recent,
				    uint64_t size, uint32_t *result)
{
	size_t at = size / 8 % RECENT_SIZES;

	if (!recent->list[at].is_known || recent->list[at].size != size) {
		HEAP_TRY(object_kinds_find(kinds, 0, size, &recent->list[at].kind));
		recent->list[at].size = size;
		recent->list[at].is_known = true;
	}
	*result = recent->list[at].kind;
	return NULL;
}

// Drops the blocks that no mapping holds, and cuts off what others have behind the end of theirs.
static void clip(struct blocks *blocks, const struct image *image)
{
	struct block *list = blocks->list.items;
	uint64_t end = 0; // of the memory that the last block lies in
	size_t count = 0;

	for (size_t i = 0; i < blocks->list.count; i++) {
		struct block block = list[i];

		if (block.address >= end) {
			const struct image_mapping *mapping = image_find(image, block.address);

			if (!mapping)
				continue;
			end = end_of_mappings(image, mapping);
		}
		if (block.size > end - block.address)
			block.size = end - block.address;
		if (block.size > HEAPSNAP_SIZE_MAX)
			block.size = HEAPSNAP_SIZE_MAX;
		list[count++] = block;
	}
	blocks->list.count = count;
}

// Turns the list into the objects' columns. Of many blocks each column costs as much time as the walk that has
// found them, for its pages have to be zeroed: that of the addresses is in the list's memory.
HEAP_MUST_CHECK
static struct heap_error *make_columns(struct blocks *blocks, struct objects *objects)
{
	CLEANUP_FREE struct recent_kinds *recent = calloc(1, sizeof(*recent));
	struct block *list = blocks->list.items;
	uint16_t *offset = (void *)list, *shorter;
	uint32_t count = (uint32_t)blocks->list.count;

	if (!recent)
		return heap_error_out_of_memory();
	blocks->list.items = NULL;
	blocks->list.count = blocks->list.capacity = 0;
	HEAP_TRY(objects_take(objects, offset, count));
	for (uint32_t i = 0; i < count; i++) {
		const struct block block = list[i];
		uint32_t kind;

		HEAP_TRY(find_kind(&objects->kinds, recent, block.size, &kind));
		HEAP_TRY(objects_set_kind(objects, i, kind));
		// In the memory of a block that has been read.
		HEAP_TRY(objects_set_address(objects, i, block.address));
	}
	shorter = realloc(offset, count * sizeof(*offset));
	if (shorter)
		objects->offset = shorter;
	return NULL;
}

struct heap_error *blocks_add_objects(struct blocks *blocks, const struct image *image,
				      struct objects *objects)
{
	clip(blocks, image);
	if (blocks->list.count == 0)
		return NULL;
	if (blocks->list.count > OBJECTS_MOST)
		return objects_too_many();
	HEAP_TRY(make_columns(blocks, objects));
	for (uint32_t i = 0; i < objects->count;) {
		const struct image_mapping *mapping =
			image_find(image, objects_address(objects, i));
		struct object_range range = { .first = i };

		range.start = mapping->start;
		range.end = end_of_mappings(image, mapping);
		i = heap_partition_point(at, i, objects->count,
					 objects_address(objects, at) < range.end);
		range.count = i - range.first;
		HEAP_TRY(objects_add_range(objects, &range));
	}
	return NULL;
}

void blocks_deinit(struct blocks *blocks)
{
	heap_array_deinit(&blocks->list);
	heap_array_deinit(&blocks->runs);
	heap_array_deinit(&blocks->regions);
}
