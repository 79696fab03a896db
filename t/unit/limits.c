// SPDX-License-Identifier: GPL-3.0-or-later
// Snapshots that claim more objects, pointers or rows than 32 bits can count, and those at the limit.
// The files are whole: the values are zeros, of which a deflated block holds 65,536 in some 80 bytes.
#include "t/unit/unit.h"

#include "lib/file/file.h"
#include "lib/file/file_format.h"
#include "lib/graph/dominators.h"
#include "lib/graph/graph.h"
#include "lib/graph/root_sizes.h"
#include "lib/snapshot/snapshot.h"
#include "t/helper/sample_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FIVE_BILLION UINT64_C(5000000000)
#define MOST (UINT32_MAX - 1) // objects, pointers or rows

enum {
	BLOCK = HEAP_BLOCK_ELEMENTS,
};

static uint8_t *find_entry(uint8_t *file, size_t length, const char *tag)
{
	const uint8_t *trailer = file + length - HEAP_TRAILER_SIZE;
	uint8_t *entry = file + heap_get_u64(trailer);

	for (uint32_t i = heap_get_u32(trailer + 16); i > 0; i--, entry += HEAP_ENTRY_SIZE) {
		if (memcmp(entry, tag, 4) == 0)
			return entry;
	}
	fail_msg("there is no section '%s'", tag);
	return NULL;
}

static uint8_t *put_block(uint8_t *table, const uint8_t *stored, uint32_t length, uint32_t elements)
{
	heap_put_u32(table, length);
	heap_put_u32(table + 4, elements);
	heap_put_u32(table + 8, (uint32_t)crc32(0, stored, length));
	return table + HEAP_BLOCK_ENTRY_SIZE;
}

// Writes a section of zeros: its blocks, then their table. @return its end
static uint8_t *put_zeros(uint8_t *at, uint64_t count, uint64_t *blocks)
{
	static const uint8_t zeros[BLOCK];
	uint8_t full[256], last[256];
	uLongf full_length = sizeof(full), last_length = sizeof(last);
	uint32_t rest = (uint32_t)((count - 1) % BLOCK + 1);

	assert_int_equal(compress2(full, &full_length, zeros, BLOCK, 9), Z_OK);
	assert_int_equal(compress2(last, &last_length, zeros, rest, 9), Z_OK);
	*blocks = (count - 1) / BLOCK + 1;
	for (uint64_t i = 1; i < *blocks; i++, at += full_length)
		memcpy(at, full, full_length);
	memcpy(at, last, last_length);
	at += last_length;
	for (uint64_t i = 1; i < *blocks; i++)
		at = put_block(at, full, (uint32_t)full_length, BLOCK);
	return put_block(at, last, (uint32_t)last_length, rest);
}

// Makes a copy of the sample, one section of which has `count` zeros.
static uint8_t *claim(const char *tag, uint64_t count, size_t *length)
{
	uint64_t start = heap_get_u64(bytes + size - HEAP_TRAILER_SIZE), blocks;
	size_t directory = size - start;
	uint8_t *file = malloc(size + (count / BLOCK + 1) * (256 + HEAP_BLOCK_ENTRY_SIZE));
	uint8_t *end, *entry, *trailer, *table;
	uint32_t crc;

	assert_non_null(file);
	memcpy(file, bytes, start);
	end = put_zeros(file + start, count, &blocks);
	memcpy(end, bytes + start, directory);
	*length = (size_t)(end - file) + directory;
	trailer = file + *length - HEAP_TRAILER_SIZE;
	heap_put_u64(trailer, (uint64_t)(end - file));
	entry = find_entry(file, *length, tag);
	table = end - blocks * HEAP_BLOCK_ENTRY_SIZE;
	heap_put_u64(entry + 8, start);
	heap_put_u64(entry + 16, (uint64_t)(end - file) - start);
	heap_put_u64(entry + 24, count);
	heap_put_u32(entry + 32, (uint32_t)blocks);
	heap_put_u32(entry + 36, (uint32_t)crc32_z(0, table, (size_t)(end - table)));
	crc = (uint32_t)crc32(0, file, HEAP_HEADER_SIZE);
	crc = (uint32_t)crc32(crc, end, (uInt)(trailer + HEAP_TRAILER_CHECKED - end));
	heap_put_u32(trailer + 20, crc);
	return file;
}

static void too_many_are_refused(void **state)
{
	static const struct {
		const char *tag;
		uint64_t count; // of elements
		const char *message;
	} claims[] = {
		{ "oadr", FIVE_BILLION,
		  "it has 5000000000 objects, and this version reads at most 4294967294" },
		{ "oadr", UINT32_MAX,
		  "it has 4294967295 objects, and this version reads at most 4294967294" },
		{ "etgt", FIVE_BILLION,
		  "it has 5000000000 pointers, and this version reads at most 4294967294" },
		{ "etgt", UINT32_MAX,
		  "it has 4294967295 pointers, and this version reads at most 4294967294" },
		{ "step", 2 * FIVE_BILLION,
		  "section 'step' has 5000000000 rows, and this version reads at most 4294967294" },
		{ "epoc", FIVE_BILLION,
		  "it has 5000000000 epochs, and this version reads at most 4294967294" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct heap_snapshot *snapshot = NULL;
		size_t length;
		uint8_t *file = claim(claims[i].tag, claims[i].count, &length);

		assert_error(heap_snapshot_open_memory(file, length, &snapshot), HEAP_ERROR_FORMAT,
			     claims[i].message);
		assert_null(snapshot);
		free(file);
	}
}

// The file is opened, and what does not fit these numbers is found before memory is taken for them.
static void the_most_are_read(void **state)
{
	struct heap_snapshot *snapshot;
	size_t length;
	uint8_t *file = claim("oadr", MOST, &length);

	(void)state;
	snapshot = sample_open(file, length);
	assert_int_equal(snapshot->object_count, MOST);
	assert_error(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE), HEAP_ERROR_FORMAT,
		     "section 'osiz' is damaged: it has too few or too many values");
	assert_error(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES), HEAP_ERROR_FORMAT,
		     "section 'ecnt' is damaged: it has too few or too many values");
	heap_snapshot_close(snapshot);
	free(file);

	file = claim("etgt", MOST, &length);
	snapshot = sample_open(file, length);
	assert_int_equal(snapshot->edge_count, MOST);
	assert_error(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES), HEAP_ERROR_FORMAT,
		     "section 'ecnt' is damaged: its sum is not the number of edges");
	heap_snapshot_close(snapshot);
	free(file);
}

// Graphs that are computed count roots besides objects, and their pointers besides those of objects.
static void graphs_beyond_32_bits_are_refused(void **state)
{
	struct heap_snapshot model = { .object_count = MOST, .root_count = 2 };
	struct heap_graph graph = { .snapshot = &model };
	struct heap_dominators dominators = { 0 };
	struct heap_root_sizes *sizes = NULL;

	(void)state;
	assert_error(heap_dominators_init(&dominators, &graph), HEAP_ERROR_ARGUMENT,
		     "dominators: 4294967294 objects and 2 roots are too many for 32 bits");
	assert_error(heap_root_sizes_create(&graph, &sizes), HEAP_ERROR_ARGUMENT,
		     "roots: 4294967294 objects and 2 roots are too many for 32 bits");
	assert_null(sizes);
	model = (struct heap_snapshot){ .edge_count = MOST, .root_edge_count = 1 };
	assert_error(heap_dominators_init(&dominators, &graph), HEAP_ERROR_ARGUMENT,
		     "dominators: 4294967294 pointers and 1 of roots are too many for 32 bits");
	assert_null(dominators.nearest);
}

UNIT_TESTS("limits", ON_SAMPLE(too_many_are_refused), ON_SAMPLE(the_most_are_read),
	   cmocka_unit_test(graphs_beyond_32_bits_are_refused))
