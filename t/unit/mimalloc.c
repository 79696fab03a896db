// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks by mimalloc's structures, as each version has them: made up here, since no machine has all
 * versions. t/real/old-glibc.t and t/capture/attach-blocks.t have those that are packaged.
 */
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/core_file.h"
#include "t/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SLICE = 1 << 16,
	DATA_SIZE = 0x1000,
	MAP_SIZE = 0x3000 + SLICE, // page map, with the first submap
	SUBMAP_SIZE = SLICE,
	ARENA_SIZE = 8 * SLICE,
	SMALL = 48, // bytes of a block
	COUNT = 10, // blocks of that size that have been used once
	LARGE = 100000,
};

#define DATA UINT64_C(0x1000000000)
#define MAP UINT64_C(0x1100000000)
#define SUBMAP UINT64_C(0x1200000000)
#define ARENA UINT64_C(0x2000000000) // the first segment, or slice
#define BITS_OF_MAP 39

static const struct piece {
	uint64_t address;
	size_t size;
	const char *name;
} pieces[] = {
	{ DATA, DATA_SIZE, "/lib/any.so" },
	{ MAP, MAP_SIZE, "" },
	{ SUBMAP, SUBMAP_SIZE, "" },
	{ ARENA, ARENA_SIZE, "" },
};

enum {
	PIECES = sizeof(pieces) / sizeof(pieces[0])
};

struct memory {
	struct core core;
	struct core_segment segments[PIECES];
	uint8_t *bytes;
	size_t size;
};

static void make_memory(struct memory *memory)
{
	*memory = (struct memory){ .core = { .descriptor = memfd_create("memory", MFD_CLOEXEC) } };
	for (size_t i = 0; i < PIECES; i++) {
		memory->segments[i] = (struct core_segment){
			.start = pieces[i].address,
			.end = pieces[i].address + pieces[i].size,
			.offset = memory->size,
			.size = pieces[i].size,
			.protection = PROT_READ | PROT_WRITE,
			.name = pieces[i].name,
			.file_offset = 4096, // it is a module's data, not its beginning
			.file = -1,
		};
		memory->size += pieces[i].size;
	}
	memory->core.segments.items = memory->segments;
	memory->core.segments.count = PIECES;
	assert_int_equal(ftruncate(memory->core.descriptor, (off_t)memory->size), 0);
	memory->bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     memory->core.descriptor, 0);
	assert_ptr_not_equal(memory->bytes, MAP_FAILED);
}

static void put(const struct memory *memory, uint64_t address, uint64_t value, size_t size)
{
	for (size_t i = 0; i < PIECES; i++) {
		const struct core_segment *segment = &memory->segments[i];

		if (address - segment->start < segment->size)
			memcpy(memory->bytes + segment->offset + (address - segment->start), &value,
			       size);
	}
}

static void put_word(const struct memory *memory, uint64_t address, uint64_t word)
{
	put(memory, address, word, sizeof(word));
}

// --- what is found ---------------------------------------------------------------------

static void free_memory(struct memory *memory)
{
	munmap(memory->bytes, memory->size);
	close(memory->core.descriptor);
}

// Blocks 1 and 5 are in the list of free ones, 2 in the local one, 3 in that of other threads.
static const int live[] = { 0, 4, 6, 7, 8, 9 };

enum {
	LIVE = sizeof(live) / sizeof(live[0])
};

// @param first, large  addresses of the first small block and of the large one
static void link_lists(const struct memory *memory, uint64_t first, uint64_t large)
{
	put_word(memory, first + 1 * SMALL, first + 5 * SMALL);
	put_word(memory, large, 0x1234);
}

static struct heap_error *find_blocks(const struct memory *memory, struct blocks *blocks)
{
	const struct block_threads threads = { NULL, 0 };
	struct image image;
	struct heap_error *error = image_init_core(&image, &memory->core);

	assert_null(error);
	error = blocks_find(blocks, &image, &threads);
	image_deinit(&image);
	return error;
}

static void are_found(const struct memory *memory, uint64_t first, uint64_t large,
		      uint64_t large_size)
{
	struct blocks blocks;

	assert_null(find_blocks(memory, &blocks));
	assert_string_equal(blocks.allocators, "mimalloc");
	assert_string_equal(blocks.doubts, "");
	assert_int_equal(blocks.list.count, LIVE + 1);
	for (size_t i = 0; i < LIVE; i++) {
		assert_int_equal(blocks.list.items[i].address, first + (uint64_t)live[i] * SMALL);
		assert_int_equal(blocks.list.items[i].size, SMALL);
	}
	assert_int_equal(blocks.list.items[LIVE].address, large);
	assert_int_equal(blocks.list.items[LIVE].size, large_size);
	blocks_deinit(&blocks);
}

// With lists that do not add up nothing is found, and that is said.
static void are_refused(const struct memory *memory)
{
	struct blocks blocks;

	assert_error(find_blocks(memory, &blocks), HEAP_ERROR_ABSENT,
		     "blocks of mimalloc are not known");
	assert_int_equal(blocks.list.count, 0);
	blocks_deinit(&blocks);
}

// --- segments ----------------------------------------------------------------------------

enum {
	SLICES = 0x130, // behind a segment's header
	SLICE_COUNT = 512,
};

// A description of slices: of 80 bytes, or of 96 with the address of the first block.
static void put_slices(const struct memory *memory, int bytes, int at, int count, uint64_t size,
		       uint64_t first)
{
	uint64_t slice = ARENA + SLICES + (uint64_t)(at * bytes), used = size == SMALL ? 7 : 1;

	put(memory, slice, (uint64_t)count, 4);
	if (size == 0)
		return;
	put(memory, slice + 10, size == SMALL ? COUNT : 1, 2);
	put_word(memory, slice + 16, size == SMALL ? first + 1 * SMALL : 0);
	if (bytes == 80) {
		put(memory, slice + 24, used, 4);
		put(memory, slice + 28, size, 4);
	} else {
		put(memory, slice + 32, used, 2);
		put_word(memory, slice + 40, size);
		put_word(memory, slice + 48, first);
	}
	if (size == SMALL) {
		put_word(memory, slice + (bytes == 80 ? 32 : 24), first + 2 * SMALL);
		put_word(memory, slice + (bytes == 80 ? 40 : 56), (first + 3 * SMALL) | 2);
	}
}

static void put_segment(const struct memory *memory, int bytes, uint64_t first, uint64_t large)
{
	const uint64_t slices = ARENA + SLICES;

	put_word(memory, slices - (bytes == 80 ? 56 : 72), 2); // used pages
	put_word(memory, slices - 40, SLICE_COUNT);
	put_word(memory, slices - 32, 1); // of the header
	put_word(memory, slices - 16, SLICE_COUNT);
	put_slices(memory, bytes, 0, 1, 0, 0);
	put_slices(memory, bytes, 1, 1, SMALL, first);
	put_slices(memory, bytes, 2, 2, LARGE, large);
	put_slices(memory, bytes, 4, SLICE_COUNT - 4, 0, 0);
	link_lists(memory, first, large);
}

static void test_segments(void **state)
{
	static const struct {
		int bytes;
		uint64_t shift; // of small blocks
	} versions[] = { { 80, 384 }, { 80, 128 }, { 80, 0 }, { 80, 3 * SMALL }, { 96, 500 * 8 } };
	const uint64_t large = ARENA + 2 * SLICE;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		uint64_t first = ARENA + SLICE + versions[i].shift;
		struct memory memory;

		make_memory(&memory);
		put_segment(&memory, versions[i].bytes, first, large);
		are_found(&memory, first, large, LARGE);
		put_word(&memory, first + SMALL, 0x5a5a5a5a); // as if encoded
		are_refused(&memory);
		free_memory(&memory);
	}
}

// --- page maps ------------------------------------------------------------------------------

enum start {
	START_ADDRESS,
	START_UNITS,
};

static const struct layout {
	const char *name;
	uint64_t header; // bytes before the map
	uint64_t free, thread_free, block_size, used, capacity;
	enum start start;
	uint64_t unit; // of the offset of the first block
} layouts[] = {
	{ "3.0", 0, 8, 32, 40, 16, 18, START_ADDRESS, 1 },
	{ "3.3", 0, 8, 32, 40, 16, 18, START_UNITS, 16 },
	{ "3.4", 0, 8, 32, 40, 16, 18, START_UNITS, 8 },
	{ "3.6", 0x50, 16, 64, 32, 40, 56, START_UNITS, 1 },
};

static void put_page(const struct memory *memory, const struct layout *layout, uint64_t page,
		     uint64_t size, uint64_t first)
{
	bool is_small = size == SMALL;

	put_word(memory, page + layout->free, is_small ? first + 1 * SMALL : 0);
	put_word(memory, page + 24, is_small ? first + 2 * SMALL : 0);
	put_word(memory, page + layout->thread_free, is_small ? (first + 3 * SMALL) | 1 : 1);
	put_word(memory, page + layout->block_size, size);
	put(memory, page + layout->used, is_small ? 7 : 1, 2);
	put(memory, page + layout->capacity, is_small ? COUNT : 1, 2);
	put(memory, page + layout->capacity + 2, is_small ? 100 : 1, 2);
	if (layout->start == START_ADDRESS)
		put_word(memory, page + 48, first);
	else
		put(memory, page + 48, (first - page) / layout->unit, 4);
}

// The map has an entry for each slice of a page.
static void put_map(const struct memory *memory, const struct layout *layout, uint64_t pages[2])
{
	const uint64_t map = MAP + layout->header, submap0 = MAP +
							     (UINT64_C(8) << (BITS_OF_MAP - 29)) +
							     (layout->header ? DATA_SIZE : 0);
	uint64_t slot = SUBMAP + (ARENA >> 16 & 8191) * 8;

	put_word(memory, DATA + 0x40, MAP);
	if (layout->header) {
		put_word(memory, MAP, (submap0 - map) / 8);
		put_word(memory, MAP + 16, MAP);
	}
	put_word(memory, map, submap0);
	put_word(memory, map + (ARENA >> 29) * 8, SUBMAP);
	put_word(memory, slot + 8, pages[0]);
	put_word(memory, slot + 16, pages[1]);
	put_word(memory, slot + 24, pages[1]);
}

static void test_page_maps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct layout *layout = &layouts[i];
		const uint64_t first = ARENA + SLICE + 0x100, large = ARENA + 2 * SLICE + 0x80;
		uint64_t pages[] = { ARENA + SLICE, ARENA + 0x400 }; // the second one lies apart
		struct memory memory;

		make_memory(&memory);
		put_map(&memory, layout, pages);
		put_page(&memory, layout, pages[0], SMALL, first);
		put_page(&memory, layout, pages[1], LARGE, large);
		link_lists(&memory, first, large);
		are_found(&memory, first, large, LARGE);

		// An entry that was left behind when its slice was freed.
		put_word(&memory, SUBMAP + ((ARENA >> 16 & 8191) + 6) * 8, pages[0]);
		are_found(&memory, first, large, LARGE);
		put_word(&memory, first + SMALL, 0x5a5a5a5a); // as if encoded
		are_refused(&memory);
		free_memory(&memory);
	}
}

UNIT_TESTS("mimalloc", cmocka_unit_test(test_segments), cmocka_unit_test(test_page_maps))
