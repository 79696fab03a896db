// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks by glibc's structures, as each version since 2.17 has them: made up here, since no machine
 * has all versions.
 */
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/core_file.h"
#include "t/unit/unit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// --- memory that is made up ----------------------------------------------------------

enum {
	DATA_SIZE = 0x4000,
	HEAP_SIZE = 0x21000,
	MAPPED_SIZE = 0x5000,
	STORAGE_SIZE = 0x2000,
	OTHER_HEAP_SIZE = 0x2000,
	ARENA = 0x100,       // in the data
	PARAMETERS = 0x2000, // likewise
};

#define DATA UINT64_C(0x7f0000100000)
#define HEAP UINT64_C(0x555500001000)
#define MAPPED UINT64_C(0x7f0000800000)
#define STORAGE UINT64_C(0x7f0000900000)
#define THREAD (STORAGE + 0x1800)
#define OTHER_HEAP UINT64_C(0x7f0004000000) // at 64 MiB

struct memory {
	uint8_t data[DATA_SIZE], heap[HEAP_SIZE], mapped[MAPPED_SIZE], storage[STORAGE_SIZE],
		other_heap[OTHER_HEAP_SIZE];
};

static const struct piece {
	uint64_t address;
	size_t offset, size;
} pieces[] = {
	{ HEAP, offsetof(struct memory, heap), HEAP_SIZE },
	{ DATA, offsetof(struct memory, data), DATA_SIZE },
	{ MAPPED, offsetof(struct memory, mapped), MAPPED_SIZE },
	{ STORAGE, offsetof(struct memory, storage), STORAGE_SIZE },
	{ OTHER_HEAP, offsetof(struct memory, other_heap), OTHER_HEAP_SIZE },
};

enum {
	PIECES = sizeof(pieces) / sizeof(pieces[0])
};

// A core file of it, in which the data is that of a file. The kernel has a name for huge pages, too.
static int write_core(const struct memory *memory)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[PIECES + 1];
		Elf64_Nhdr note;
		char owner[12]; // so that what follows is aligned
		uint64_t count, page;
		struct {
			uint64_t start, end, offset;
		} files[2];
		char names[40];
	} head = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
			    .e_type = ET_CORE,
			    .e_machine = EM_X86_64,
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = PIECES + 1 },
		.note = { 12, 104, NT_FILE },
		.owner = "CORE",
		.count = 2,
		.page = 4096,
		.files = { { DATA, DATA + DATA_SIZE, 0 }, { MAPPED, MAPPED + MAPPED_SIZE, 0 } },
		.names = "/lib/libc.so.6\0/anon_hugepage (deleted)",
	};
	int file = memfd_create("core", 0);

#if defined(__aarch64__)
	head.header.e_machine = EM_AARCH64;
#endif
	head.segments[0] = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = (uint64_t)((char *)&head.note - (char *)&head),
		.p_filesz = sizeof(Elf64_Nhdr) + 12 + 104,
	};
	for (int i = 0; i < PIECES; i++)
		head.segments[i + 1] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_offset = sizeof(head) + pieces[i].offset,
			.p_vaddr = pieces[i].address,
			.p_filesz = pieces[i].size,
			.p_memsz = pieces[i].size,
		};
	assert_true(file >= 0);
	assert_int_equal(write(file, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(file, memory, sizeof(*memory)), sizeof(*memory));
	return file;
}

static uint8_t *at(struct memory *memory, uint64_t address)
{
	for (int i = 0; i < PIECES; i++) {
		if (address - pieces[i].address < pieces[i].size)
			return (uint8_t *)memory + pieces[i].offset + (address - pieces[i].address);
	}
	abort();
}

static void put(struct memory *memory, uint64_t address, uint64_t word)
{
	memcpy(at(memory, address), &word, sizeof(word));
}

static void put_half(struct memory *memory, uint64_t address, uint32_t word)
{
	memcpy(at(memory, address), &word, sizeof(word));
}

// --- versions ---------------------------------------------------------------------------

static const struct version {
	const char *name;
	uint64_t bins;
	uint64_t heap_header; // bytes
	bool has_threads, has_fast_bins, is_mangled;
	uint64_t tcache_chunk; // 0: there is none
	unsigned tcache_bins, tcache_count;
	uint64_t max_count_at, count_at, bytes_at, base_at;
	bool counts_mapped;
} versions[] = {
	{ "2.17", 0x68, 0x20, false, true, false, 0, 0, 0, 44, 40, 56, 80, false },
	{ "2.23", 0x68, 0x20, true, true, false, 0, 0, 0, 44, 40, 56, 80, false },
	{ "2.25", 0x68, 0x20, true, true, false, 0, 0, 0, 44, 40, 56, 72, false },
	{ "2.26", 0x68, 0x20, true, true, false, 0x250, 64, 1, 44, 40, 56, 72, false },
	{ "2.28", 0x70, 0x20, true, true, false, 0x250, 64, 1, 44, 40, 56, 72, false },
	{ "2.31", 0x70, 0x20, true, true, false, 0x290, 64, 2, 44, 40, 56, 72, false },
	{ "2.33", 0x70, 0x20, true, true, true, 0x290, 64, 2, 44, 40, 56, 72, false },
	{ "2.36", 0x70, 0x30, true, true, true, 0x290, 64, 2, 64, 60, 80, 96, false },
	{ "2.42", 0x70, 0x30, true, true, true, 0x300, 76, 2, 64, 60, 80, 96, false },
	{ "2.43", 0x18, 0x30, true, false, true, 0x300, 76, 2, 72, 68, 88, 104, true },
};

struct making {
	struct memory *memory;
	const struct version *version;
	uint64_t next; // chunk
	bool before_in_use;
	uint64_t live[16][2]; // address and size
	int live_count;
};

static uint64_t add_chunk(struct making *making, uint64_t size, bool in_use)
{
	uint64_t chunk = making->next;

	put(making->memory, chunk + 8, size | making->before_in_use);
	if (!in_use)
		put(making->memory, chunk + size, size);
	making->before_in_use = in_use;
	making->next += size;
	return chunk;
}

static void add_live(struct making *making, uint64_t size)
{
	uint64_t chunk = add_chunk(making, size, true);

	making->live[making->live_count][0] = chunk + 16;
	making->live[making->live_count++][1] = size - 8;
}

static uint64_t link_of(const struct making *making, uint64_t place, uint64_t to)
{
	return making->version->is_mangled ? place >> 12 ^ to : to;
}

// A cache with two blocks of one size, the first of which is followed by the second.
static void fill_tcache(struct making *making, uint64_t tcache, uint64_t first, uint64_t second,
			unsigned bin)
{
	const struct version *version = making->version;
	uint64_t entries = tcache + version->tcache_bins * version->tcache_count;

	if (version->tcache_chunk == 0x300) {
		for (unsigned i = 0; i < version->tcache_bins; i++)
			at(making->memory, tcache)[i * 2] = i == bin ? 14 : 16;
	} else {
		at(making->memory, tcache)[bin * version->tcache_count] = 2;
	}
	put(making->memory, entries + bin * 8, first);
	put(making->memory, first, link_of(making, first, second));
	put(making->memory, second, link_of(making, second, 0));
}

// An arena whose bins are empty. @return where it ends
static uint64_t fill_state(struct making *making, uint64_t arena, uint64_t top, uint64_t next,
			   uint64_t size)
{
	struct memory *memory = making->memory;
	uint64_t bins = arena + making->version->bins;
	uint64_t more = bins + 254 * 8 + 32; // behind binmap, next and next_free

	for (int i = 0; i < 127; i++) {
		put(memory, bins + (uint64_t)i * 16, bins + (uint64_t)i * 16 - 16);
		put(memory, bins + (uint64_t)i * 16 + 8, bins + (uint64_t)i * 16 - 16);
	}
	put(memory, bins - 16, top);
	put(memory, bins + 254 * 8 + 16, next);
	if (making->version->has_threads) {
		put(memory, more, 1);
		more += 8;
	}
	put(memory, more, size);
	put(memory, more + 8, size);
	return more + 16;
}

// The arena of a thread, at the start of its heap, with two blocks.
static void add_thread_arena(struct making *making)
{
	struct memory *memory = making->memory;
	uint64_t arena = OTHER_HEAP + making->version->heap_header;
	uint64_t end = fill_state(making, arena, 0, DATA + ARENA, OTHER_HEAP_SIZE);

	put(memory, OTHER_HEAP, arena);
	put(memory, OTHER_HEAP + 16, OTHER_HEAP_SIZE);
	put(memory, OTHER_HEAP + 24, OTHER_HEAP_SIZE);
	making->next = (end + 15) & ~UINT64_C(15);
	making->before_in_use = true;
	add_live(making, 0x40);
	add_live(making, 0x310);
	put(memory, making->next + 8, (OTHER_HEAP + OTHER_HEAP_SIZE - making->next) | 1);
	put(memory, arena + making->version->bins - 16, making->next);
}

static void fill_arena(struct making *making, uint64_t free_chunk, uint64_t top)
{
	struct memory *memory = making->memory;
	uint64_t arena = DATA + ARENA, bins = arena + making->version->bins;

	fill_state(making, arena, top, OTHER_HEAP + making->version->heap_header, HEAP_SIZE);
	// One ring goes through a free chunk.
	put(memory, bins + 32, free_chunk);
	put(memory, bins + 40, free_chunk);
	put(memory, free_chunk + 16, bins + 32 - 16);
	put(memory, free_chunk + 24, bins + 32 - 16);
}

static void fill_parameters(struct making *making, uint64_t mapped_bytes)
{
	struct memory *memory = making->memory;
	const struct version *version = making->version;
	uint64_t at_ = DATA + PARAMETERS;

	put(memory, at_, 0x20000);      // trim_threshold
	put(memory, at_ + 8, 0x20000);  // top_pad
	put(memory, at_ + 16, 0x20000); // mmap_threshold
	put(memory, at_ + 24, 8);       // arena_test
	put_half(memory, at_ + version->max_count_at, 65536);
	put_half(memory, at_ + version->count_at, 1);
	put(memory, at_ + version->bytes_at, mapped_bytes);
	put(memory, at_ + version->base_at, HEAP);
}

static struct memory *make(const struct version *version, struct making *making)
{
	uint64_t tcache = 0, cached[2] = { 0 }, fast = 0, free_chunk, top;

	*making = (struct making){
		calloc(1, sizeof(struct memory)), version, HEAP, true, { { 0 } }, 0
	};
	if (version->tcache_chunk)
		tcache = add_chunk(making, version->tcache_chunk, true) + 16;
	add_live(making, 0x20);
	add_live(making, 0x90);
	for (int i = 0; i < 2 && tcache; i++)
		cached[i] = add_chunk(making, 0x40, true) + 16;
	add_live(making, 0x1230);
	if (version->has_fast_bins)
		fast = add_chunk(making, 0x30, true);
	free_chunk = add_chunk(making, 0x110, false);
	add_live(making, 0x50);
	top = making->next;
	put(making->memory, top + 8, (HEAP + HEAP_SIZE - top) | 1);

	fill_arena(making, free_chunk, top);
	if (tcache)
		fill_tcache(making, tcache, cached[0], cached[1], 2);
	if (tcache)
		put(making->memory, THREAD - 0x48, tcache);
	if (fast) {
		put(making->memory, DATA + ARENA + version->bins - 96 + 8, fast);
		put(making->memory, fast + 16, link_of(making, fast + 16, 0));
	}
	// A chunk of three pages that has a mapping of its own, aligned to 256 bytes.
	uint64_t size = 0x3000 - (version->counts_mapped ? 16 : 0), lead = 0xf0;

	put(making->memory, MAPPED + 0x1008, size | 2);
	put(making->memory, MAPPED + 0x1000 + lead, lead);
	put(making->memory, MAPPED + 0x1008 + lead, (size - lead) | 2);
	making->live[making->live_count][0] = MAPPED + 0x1000 + lead + 16;
	making->live[making->live_count++][1] = 0x3000 - lead - 16;
	fill_parameters(making, 0x3000);
	add_thread_arena(making);
	return making->memory;
}

static void find(const struct memory *memory, struct blocks *blocks)
{
	static const uint64_t threads[] = { THREAD };
	int file = write_core(memory);
	struct core core;
	struct image image;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	assert_null(core_open(&core, path, ""));
	assert_null(image_init_core(&image, &core));
	assert_null(blocks_find(blocks, &image, &(struct block_threads){ threads, 1 }));
	image_deinit(&image);
	core_close(&core);
	close(file);
}

static void all_versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct making making;
		struct memory *memory = make(&versions[i], &making);
		struct blocks blocks;

		find(memory, &blocks);
		print_message("glibc %s: %zu blocks, doubts: %s\n", versions[i].name,
			      blocks.list.count, blocks.doubts);
		assert_string_equal(blocks.allocators, "glibc");
		assert_string_equal(blocks.doubts, "");
		assert_int_equal(blocks.list.count, making.live_count);
		for (int j = 0; j < making.live_count; j++) {
			assert_int_equal(blocks.list.items[j].address, making.live[j][0]);
			assert_int_equal(blocks.list.items[j].size, making.live[j][1]);
		}
		blocks_deinit(&blocks);
		free(memory);
	}
}

// Pieces of the first arena's heap that are mapped, where brk(2) fails: glibc shrinks the last top by two headers, and where
// that leaves no room for a chunk, there are three.
static void mapped_pieces(void **state)
{
	const uint64_t piece = MAPPED + 0x4000, size = 0x1000;

	(void)state;
	for (uint64_t headers = 2; headers <= 3; headers++) {
		struct making making;
		struct memory *memory = make(&versions[7], &making);
		uint64_t system = DATA + ARENA + versions[7].bins + 254 * 8 + 40;
		uint64_t fence = piece + size - headers * 16;
		struct blocks blocks;

		making.next = piece;
		making.before_in_use = true;
		add_live(&making, 0x40);
		add_live(&making, fence - making.next);
		for (uint64_t i = 0; i < headers; i++)
			put(memory, fence + i * 16 + 8, 16 | 1);
		put(memory, system, HEAP_SIZE + size);
		find(memory, &blocks);
		assert_string_equal(blocks.doubts, "");
		assert_int_equal(blocks.list.count, making.live_count);
		for (int i = making.live_count - 2; i < making.live_count; i++)
			assert_non_null(blocks_search(&blocks, making.live[i][0]));
		blocks_deinit(&blocks);
		free(memory);
	}
}

// A damaged header is reported, and the blocks that can be found are found.
static void damage(void **state)
{
	struct making making;
	struct memory *memory = make(&versions[7], &making);
	struct blocks blocks;

	(void)state;
	put(memory, making.live[2][0] - 8, 0x4141414141414141);
	find(memory, &blocks);
	assert_non_null(strstr(blocks.doubts, "damaged at 0x"));
	// Those behind it lead to the top.
	assert_non_null(blocks_search(&blocks, making.live[0][0]));
	assert_non_null(blocks_search(&blocks, making.live[3][0]));
	blocks_deinit(&blocks);

	put(memory, making.live[2][0] - 8, 0x1231);
	put_half(memory, DATA + PARAMETERS + versions[7].count_at, 3);
	find(memory, &blocks);
	assert_non_null(strstr(blocks.doubts, "2 of glibc's mapped chunks"));
	assert_int_equal(blocks.list.count, making.live_count);
	blocks_deinit(&blocks);
	free(memory);
}

// Rings, sizes and links that lead in cycles or nowhere end: each word of the structures in turn.
static void hostile(void **state)
{
	static const uint64_t values[] = { 0,
					   1,
					   2,
					   UINT64_MAX,
					   HEAP,
					   HEAP + 16,
					   DATA + ARENA,
					   DATA + ARENA + 0x70,
					   0x21,
					   0x8000000000000011,
					   MAPPED + 0x1000 };

	(void)state;
	for (size_t i = 7; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct making making;
		struct memory *memory = make(&versions[i], &making);

		for (int round = 0; round < 300; round++) {
			struct memory *copy = malloc(sizeof(*copy));
			struct blocks blocks;
			size_t words[] = { DATA_SIZE / 8, 0x1800 / 8, 0x1200 / 8 };
			uint64_t starts[] = { DATA, HEAP, MAPPED + 0x1000 };
			int file;
			char path[64];
			struct core core;
			struct image image;

			memcpy(copy, memory, sizeof(*copy));
			for (int j = 0; j <= round % 3; j++) {
				int where = (round + j) % 3;

				put(copy,
				    starts[where] + (uint64_t)(rand() % (int)words[where]) * 8,
				    values[(unsigned)rand() % (sizeof(values) / 8)]);
			}
			file = write_core(copy);
			snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
			assert_null(core_open(&core, path, ""));
			assert_null(image_init_core(&image, &core));
			heap_error_destroy(
				blocks_find(&blocks, &image, &(struct block_threads){ NULL, 0 }));
			blocks_deinit(&blocks);
			image_deinit(&image);
			core_close(&core);
			close(file);
			free(copy);
		}
		free(memory);
	}
}

UNIT_TESTS("blocks", cmocka_unit_test(all_versions), cmocka_unit_test(mapped_pieces),
	   cmocka_unit_test(damage), cmocka_unit_test(hostile))
