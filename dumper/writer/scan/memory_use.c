// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/memory_use.h"

#include "dumper/writer/scan/blocks/gaps.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	SAMPLE = 256,    // pages of each mapping of a core file
	CHUNK_HEAD = 16, // what malloc has before a block, or before the library's header
	THREAD_STORAGE = 64 * 1024, // at most, on either side of a thread pointer
};

static uint64_t page_down(uint64_t address)
{
	return address & ~(uint64_t)(PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
	return page_down(address + PAGE - 1);
}

// --- what is touched ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_touched(struct memory_use *use, uint64_t start, uint64_t end)
{
	struct block_region *last = use->touched.items + use->touched.count;

	if (use->touched.count > 0 && last[-1].end == start) {
		last[-1].end = end;
		return NULL;
	}
	return heap_array_append(&use->touched, ((struct block_region){ start, end }));
}

static bool is_written(const struct image *image, uint64_t page)
{
	char bytes[PAGE];

	image_read_padded(image, page, bytes, sizeof(bytes));
	return bytes[0] != 0 || memcmp(bytes, bytes + 1, sizeof(bytes) - 1) != 0;
}

// A core file has all pages of a mapping: those that are not zeros, by a sample.
HEAP_MUST_CHECK
static struct heap_error *sample_core(struct memory_use *use, uint64_t start, uint64_t end)
{
	uint64_t step = ((end - start) / PAGE / SAMPLE + 1) * PAGE;

	for (uint64_t at = start; at < end; at += step) {
		if (is_written(use->image, at))
			HEAP_TRY(add_touched(use, at, end - at < step ? end : at + step));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *measure_memory(struct memory_use *use, uint64_t start, uint64_t end)
{
	uint64_t until = start;

	if (use->image->core)
		return sample_core(use, start, end);
	while (start < end) {
		start = image_skip_untouched(use->image, start, end, &until);
		if (start >= end || until <= start)
			break;
		HEAP_TRY(add_touched(use, start, until));
		start = until;
	}
	return NULL;
}

// True for pages of a file that the process may have made its own: a heap that was dumped before.
static bool is_changed_file(const struct image_mapping *mapping)
{
	return mapping->kind == IMAGE_FILE && !mapping->shared &&
	       (mapping->protection & PROT_WRITE);
}

static bool is_memory(const struct image_mapping *mapping)
{
	return mapping->kind == IMAGE_HEAP || mapping->kind == IMAGE_STACK ||
	       image_is_private_memory(mapping);
}

struct heap_error *memory_use_init(struct memory_use *use, const struct image *image)
{
	uint64_t data_end = 0; // of the last module's data

	*use = (struct memory_use){ .image = image };
	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t end = image_data_end(image, i), written = 0;

		data_end = end > data_end ? end : data_end;
		if (mapping->start >= data_end && is_memory(mapping))
			HEAP_TRY(measure_memory(use, mapping->start, mapping->end));
		else if (mapping->start >= data_end && is_changed_file(mapping))
			written = image_written_bytes(image, mapping);
		HEAP_TRY(heap_array_append(&use->written, written));
	}
	return NULL;
}

void memory_use_deinit(struct memory_use *use)
{
	heap_array_deinit(&use->touched);
	heap_array_deinit(&use->written);
}

// Bytes that are touched in [start, end).
static uint64_t touched_in(const struct memory_use *use, uint64_t start, uint64_t end)
{
	const struct block_region *spans = use->touched.items;
	size_t i = heap_partition_point(at, (size_t)0, use->touched.count, spans[at].end <= start);
	uint64_t sum = 0;

	for (; i < use->touched.count && spans[i].start < end; i++) {
		uint64_t from = spans[i].start > start ? spans[i].start : start;
		uint64_t to = spans[i].end < end ? spans[i].end : end;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

// --- whose it is --------------------------------------------------------------------

struct regions HEAP_ARRAY(struct block_region);

struct counting {
	struct memory_use *use;
	const struct memory_owners *owners;
	struct regions threads; // what each thread has, by address
	struct regions pieces;  // what allocators have of a mapping, by address
};

static void counting_deinit(struct counting *counting)
{
	heap_array_deinit(&counting->threads);
	heap_array_deinit(&counting->pieces);
}

static int compare_regions(const void *left, const void *right)
{
	const struct block_region *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static void sort_regions(struct block_region *regions, size_t count)
{
	if (count > 0)
		qsort(regions, count, sizeof(*regions), compare_regions);
}

// A thread's stack lies below its storage, and a guard below that, which a core file may lack. The first thread has its
// stack elsewhere.
static struct block_region thread_region(const struct image *image, uint64_t pointer,
					 uint64_t stack_pointer)
{
	const struct image_mapping *mapping = image_find(image, pointer);
	bool has_stack;
	struct block_region region;

	if (!mapping)
		return (struct block_region){ 0, 0 };
	has_stack = (stack_pointer >= mapping->start && stack_pointer < pointer) ||
		    (mapping > image->mappings && mapping[-1].end == mapping->start &&
		     mapping[-1].protection == 0);
	region.start = has_stack || pointer - mapping->start < THREAD_STORAGE
			       ? mapping->start
			       : page_down(pointer - THREAD_STORAGE);
	region.end = mapping->end - pointer < THREAD_STORAGE ? mapping->end
							     : page_up(pointer + THREAD_STORAGE);
	return region;
}

HEAP_MUST_CHECK
static struct heap_error *find_threads(struct counting *counting)
{
	const struct block_threads *threads = counting->owners->threads;

	for (size_t i = 0; threads && i < threads->count; i++) {
		struct block_region region =
			thread_region(counting->use->image, threads->pointers[i],
				      counting->owners->stack_pointers[i]);

		if (region.end > region.start)
			HEAP_TRY(heap_array_append(&counting->threads, region));
	}
	sort_regions(counting->threads.items, counting->threads.count);
	return NULL;
}

// The first block from an address on.
static heap_object_id first_block(const struct objects *objects, uint64_t address)
{
	return heap_partition_point(i, (heap_object_id)0, objects->count,
				    objects_address(objects, i) < address);
}

static bool holds_block(const struct objects *objects, uint64_t start, uint64_t end)
{
	heap_object_id first = first_block(objects, start);

	return first < objects->count && objects_address(objects, first) < end;
}

// Adds what an allocator has of a mapping: from where the piece before it ends.
HEAP_MUST_CHECK
static struct heap_error *add_piece(struct counting *counting, const struct image_mapping *mapping,
				    uint64_t start, uint64_t end)
{
	struct regions *pieces = &counting->pieces;
	uint64_t least = pieces->count > 0 ? pieces->items[pieces->count - 1].end : mapping->start;

	start = start > least ? start : least;
	end = end < mapping->end ? end : mapping->end;
	return end > start ? heap_array_append(pieces, ((struct block_region){ start, end }))
			   : NULL;
}

// The pages of the blocks in [start, end): beside its regions an allocator has large blocks alone.
HEAP_MUST_CHECK
static struct heap_error *add_pages(struct counting *counting, const struct image_mapping *mapping,
				    uint64_t start, uint64_t end)
{
	const struct memory_owners *owners = counting->owners;

	for (heap_object_id i = first_block(owners->objects, start);
	     i < owners->objects->count && objects_address(owners->objects, i) < end; i++) {
		uint64_t address = objects_address(owners->objects, i);

		HEAP_TRY(add_piece(counting, mapping,
				   page_down(address - owners->lead - CHUNK_HEAD),
				   page_up(address + objects_size(owners->objects, i))));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_regions(struct counting *counting,
				      const struct image_mapping *mapping)
{
	const struct memory_owners *owners = counting->owners;
	const struct block_region *regions = owners->regions;
	uint64_t start = mapping->start;
	size_t i = heap_partition_point(at, (size_t)0, owners->region_count,
					regions[at].end <= mapping->start);

	for (; i < owners->region_count && regions[i].start < mapping->end; i++) {
		if (regions[i].start > start)
			HEAP_TRY(add_pages(counting, mapping, start, regions[i].start));
		HEAP_TRY(add_piece(counting, mapping, regions[i].start, regions[i].end));
		start = regions[i].end > start ? regions[i].end : start;
	}
	return start < mapping->end ? add_pages(counting, mapping, start, mapping->end) : NULL;
}

// Where an allocator does not tell its regions, it has all of a mapping, but gaps between large blocks.
HEAP_MUST_CHECK
static struct heap_error *add_all_but_gaps(struct counting *counting,
					   const struct image_mapping *mapping)
{
	const struct memory_owners *owners = counting->owners;
	CLEANUP_ARRAY struct gaps gaps = { 0 };
	uint64_t start = mapping->start;

	if (owners->has_chunks && mapping->kind == IMAGE_ANONYMOUS)
		HEAP_TRY(gaps_find(counting->use->image, owners->objects, mapping, owners->lead,
				   &gaps));
	for (size_t i = 0; i < gaps.count; i++) {
		if (gaps.items[i].start > start)
			HEAP_TRY(add_piece(counting, mapping, start, gaps.items[i].start));
		start = gaps.items[i].end;
	}
	return start < mapping->end ? add_piece(counting, mapping, start, mapping->end) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_pieces(struct counting *counting,
				      const struct image_mapping *mapping)
{
	const struct memory_owners *owners = counting->owners;

	counting->pieces.count = 0;
	if (owners->region_count > 0)
		return add_regions(counting, mapping);
	return owners->objects && holds_block(owners->objects, mapping->start, mapping->end)
		       ? add_all_but_gaps(counting, mapping)
		       : NULL;
}

// --- counting -----------------------------------------------------------------------

// Counts what no allocator has: that of threads, and the rest.
static void count_rest(struct counting *counting, uint64_t start, uint64_t end)
{
	struct memory_use *use = counting->use;
	const struct block_region *threads = counting->threads.items;
	uint64_t of_threads = 0, at = start;
	size_t i = heap_partition_point(j, (size_t)0, counting->threads.count,
					threads[j].end <= start);

	for (; i < counting->threads.count && threads[i].start < end; i++) {
		uint64_t from = threads[i].start > at ? threads[i].start : at;
		uint64_t to = threads[i].end < end ? threads[i].end : end;

		of_threads += to > from ? touched_in(use, from, to) : 0;
		at = to > at ? to : at;
	}
	use->stacks += of_threads;
	use->mapped += touched_in(use, start, end) - of_threads;
}

// Counts what an allocator has: blocks, pages between them, and the rest. Small blocks are touched.
static void count_piece(struct counting *counting, const struct block_region *piece)
{
	struct memory_use *use = counting->use;
	const struct objects *objects = counting->owners->objects;
	uint64_t touched = touched_in(use, piece->start, piece->end);
	uint64_t lead = counting->owners->lead + CHUNK_HEAD;
	uint64_t in_blocks = 0, end = piece->start;

	for (heap_object_id i = objects ? first_block(objects, piece->start) : 0;
	     objects && i < objects->count; i++) {
		uint64_t address = objects_address(objects, i), size = objects_size(objects, i);

		if (address >= piece->end)
			break;
		if (page_down(address - lead) > page_up(end))
			use->spare_pages +=
				touched_in(use, page_up(end), page_down(address - lead));
		in_blocks +=
			size < (uint64_t)2 * PAGE ? size : touched_in(use, address, address + size);
		end = address + size > end ? address + size : end;
	}
	if (page_down(piece->end) > page_up(end))
		use->spare_pages += touched_in(use, page_up(end), page_down(piece->end));
	in_blocks = in_blocks < touched ? in_blocks : touched;
	use->blocks += in_blocks;
	use->spare += touched - in_blocks;
}

static bool is_own(const struct memory_owners *owners, const struct image_mapping *mapping)
{
	for (size_t i = 0; i < owners->own_count; i++) {
		if (owners->own[i][0] >= mapping->start && owners->own[i][0] < mapping->end)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *count_mapping(struct counting *counting,
					const struct image_mapping *mapping)
{
	struct memory_use *use = counting->use;
	uint64_t at = mapping->start;

	if (mapping->kind == IMAGE_STACK) {
		use->stacks += touched_in(use, mapping->start, mapping->end);
		return NULL;
	}
	HEAP_TRY(find_pieces(counting, mapping));
	if (counting->pieces.count == 0 && is_own(counting->owners, mapping))
		return NULL;
	for (size_t i = 0; i < counting->pieces.count; i++) {
		const struct block_region *piece = &counting->pieces.items[i];

		count_rest(counting, at, piece->start);
		count_piece(counting, piece);
		at = piece->end;
	}
	count_rest(counting, at, mapping->end);
	return NULL;
}

struct heap_error *memory_use_count(struct memory_use *use, const struct memory_owners *owners)
{
	CLEANUP(counting_deinit) struct counting counting = { .use = use, .owners = owners };

	use->blocks = use->spare = use->spare_pages = use->stacks = use->mapped = 0;
	sort_regions(owners->regions, owners->region_count);
	HEAP_TRY(find_threads(&counting));
	for (size_t i = 0; i < use->image->mapping_count; i++) {
		const struct image_mapping *mapping = &use->image->mappings[i];

		if (is_memory(mapping))
			HEAP_TRY(count_mapping(&counting, mapping));
		use->mapped += use->written.items[i];
	}
	use->spare_pages = use->spare_pages < use->spare ? use->spare_pages : use->spare;
	use->all = use->blocks + use->spare + use->stacks + use->mapped;
	return NULL;
}

bool memory_use_is_foreign(const struct memory_use *use, uint64_t known)
{
	const uint64_t little = 1 << 20;
	uint64_t unknown = use->mapped > known ? use->mapped - known : 0;

	return unknown > little && unknown > use->all / 4;
}
