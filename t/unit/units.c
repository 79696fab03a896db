// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "dumper/base/units.h"

static const uint64_t UNTOUCHED = 12345;

static uint64_t size_of(const char *text)
{
	uint64_t result = UNTOUCHED;

	assert_true(heapsnap_parse_amount(text, heapsnap_sizes, &result));
	return result;
}

static uint64_t time_of(const char *text)
{
	uint64_t result = UNTOUCHED;

	assert_true(heapsnap_parse_amount(text, heapsnap_times, &result));
	return result;
}

static void amounts(void **state)
{
	(void)state;
	assert_int_equal(size_of("64M"), 64 << 20);
	assert_int_equal(size_of("0"), 0);
	assert_int_equal(size_of("1.5K"), 1536);
	assert_int_equal(size_of("3.0"), 3);
	assert_int_equal(time_of("500ms"), 500000000);
	assert_int_equal(time_of("0.25"), 250000000);
	assert_int_equal(time_of("1.5h"), UINT64_C(5400000000000));
}

static void others(void **state)
{
	// The last two are more than 64 bits have room for, one of them by its fraction alone.
	static const char *const texts[] = {
		"",
		" 1",
		"-1",
		"+1",
		"1 K",
		"1.",
		".5K",
		"1..5K",
		"1.5.5K",
		"1,5K",
		"1e3",
		"1X",
		"1.5",
		"99999999999999999999G",
		"17179869183.9999999999G",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t result = UNTOUCHED;

		if (heapsnap_parse_amount(texts[i], heapsnap_sizes, &result))
			fail_msg("'%s' is taken", texts[i]);
		assert_int_equal(result, UNTOUCHED);
	}
}

UNIT_TESTS("numbers with units", cmocka_unit_test(amounts), cmocka_unit_test(others))
