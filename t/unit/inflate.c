// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks decompress, and damaged ones are told. With libdeflate where it is installed: the tests of
// files use zlib.
#include "t/unit/unit.h"

#include "lib/file/file_inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	RAW = 100000,
	STORED = RAW + RAW / 1000 + 64,
};

static uint8_t raw[RAW], stored[STORED], result[RAW];

// Runs and noise.
static uint32_t compress_at(int level)
{
	uLongf length = STORED;

	for (uint32_t i = 0; i < RAW; i++)
		raw[i] = (uint8_t)(i % 1000 < 700 ? i / 1000 : i * 2654435761u >> 24);
	assert_int_equal(compress2(stored, &length, raw, RAW, level), Z_OK);
	return (uint32_t)length;
}

static bool inflates(uint32_t stored_length, uint32_t raw_length)
{
	// In memory of their own, so that valgrind and sanitizers see what lies behind.
	uint8_t *from = malloc(stored_length), *to = malloc(raw_length);
	bool is_good;

	memcpy(from, stored, stored_length);
	assert_null(heap_inflate(from, stored_length, to, raw_length, &is_good));
	if (is_good && raw_length == RAW)
		memcpy(result, to, RAW);
	free(from);
	free(to);
	return is_good;
}

static void all_levels_inflate(void **state)
{
	(void)state;
	for (int level = 0; level <= 9; level++) {
		memset(result, 0, RAW);
		assert_true(inflates(compress_at(level), RAW));
		assert_memory_equal(result, raw, RAW);
	}
}

static void another_length_is_damage(void **state)
{
	uint32_t length = compress_at(1);

	(void)state;
	assert_false(inflates(length, RAW - 1));
	assert_false(inflates(length, RAW + 1));
	assert_false(inflates(length / 2, RAW));
	assert_false(inflates(3, RAW));
	assert_false(inflates(2, RAW));
	assert_false(inflates(1, RAW));
}

static void another_header_is_damage(void **state)
{
	uint32_t length = compress_at(1);
	uint8_t first = stored[0], second = stored[1];

	(void)state;
	stored[0] = 0x79; // no method that there is
	assert_false(inflates(length, RAW));
	stored[0] = first;
	stored[1] ^= 1; // its check
	assert_false(inflates(length, RAW));
	stored[1] = 0x20 | (uint8_t)(31 - (first << 8 | 0x20) % 31); // wants a dictionary
	assert_false(inflates(length, RAW));
	stored[1] = second;
	assert_true(inflates(length, RAW));
}

// Flipped bits never lead out of the buffers; most are told.
static void flipped_bits_do_no_harm(void **state)
{
	uint32_t length = compress_at(6), told = 0, flips = 0;

	(void)state;
	for (uint32_t at = 2; at + 4 < length; at += 97, flips++) {
		stored[at] ^= (uint8_t)(1 << at % 8);
		told += !inflates(length, RAW) || memcmp(result, raw, RAW) != 0;
		stored[at] ^= (uint8_t)(1 << at % 8);
	}
	assert_int_equal(told, flips);
}

UNIT_TESTS("inflate", cmocka_unit_test(all_levels_inflate),
	   cmocka_unit_test(another_length_is_damage), cmocka_unit_test(another_header_is_damage),
	   cmocka_unit_test(flipped_bits_do_no_harm))
