// SPDX-License-Identifier: GPL-3.0-or-later
// Which mappings of a frozen copy are divided into parts, and where.
#include "t/unit/unit.h"

#include "dumper/base/vast.h"

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

static void other_mappings_stay_whole(void **state)
{
	static const char *const lines[] = {
		"",
		"VmFlags: rd wr",
		"10000000000-",                                   // nothing behind it
		"10000000000-20000000000 ---p 00000000 00:00 0 ", // reserved
		"10000000000-20000000000 rw-s 00000000 00:00 0 ", // shared
		"10000000000-20000000000 rw-p 00000000 00:01 1024      /anon_hugepage (deleted)",
		"10000000000-20000000000 r--p 00000000 fe:00 25  /srv/table",
		"10000000000-20000000000 rw-p 00000000 00:00 0      [stack]",
		"10000000000-103fffff000 rw-p 00000000 00:00 0 ", // a page less than 16 GiB
		"20000000000-10000000000 rw-p 00000000 00:00 0 ",
	};
	struct heapsnap_vast vast;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(heapsnap_find_vast(lines[i], &vast));
}

static void vast_ones_are_found(void **state)
{
	static const char *const lines[] = {
		"10000000000-20000000000 rw-p 00000000 00:00 0 \n",
		"10000000000-20000000000 r--p 00000000 00:00 0",
		"10000000000-20000000000 rw-p 00000000 00:00 0      [heap]",
		"10000000000-20000000000 rwxp 00000000 00:00 0      [anon:a table]\n",
	};
	struct heapsnap_vast vast;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_true(heapsnap_find_vast(lines[i], &vast));
		assert_int_equal(vast.start, TIB);
		assert_int_equal(vast.end, 2 * TIB);
		assert_int_equal(vast.part, 1024 * MIB);
	}
}

// Parts lie at huge pages' boundaries, and the last one is never left out.
static void check_parts(const char *line, unsigned expected)
{
	struct heapsnap_vast vast;
	uint64_t last = 0;
	unsigned count = 0;

	assert_true(heapsnap_find_vast(line, &vast));
	for (uint64_t at = 0; (at = heapsnap_vast_next(&vast, at)); count++) {
		assert_int_equal(at % (2 * MIB), 0);
		assert_int_equal(vast.part % (2 * MIB), 0);
		assert_true(at > vast.start && at >= last + vast.part);
		assert_true(at + vast.part < vast.end);
		last = at + vast.part;
	}
	assert_int_equal(count, expected);
}

static void every_second_part_is_left_out(void **state)
{
	(void)state;
	check_parts("10000000000-10400000000 rw-p 00000000 00:00 0 ", 127); // 16 GiB: of 64 MiB
	check_parts("10000000000-10404001000 rw-p 00000000 00:00 0 ",
		    128); // a part and a page more
	check_parts("10000001000-10400001000 rw-p 00000000 00:00 0 ", 128);
	check_parts("10000000000-20000000000 rw-p 00000000 00:00 0 ", 511);
	check_parts("7fff8000-10007fff8000 rw-p 00000000 00:00 0 ", 512);
}

UNIT_TESTS("vast", cmocka_unit_test(other_mappings_stay_whole),
	   cmocka_unit_test(vast_ones_are_found), cmocka_unit_test(every_second_part_is_left_out))
