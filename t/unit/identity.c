// SPDX-License-Identifier: GPL-3.0-or-later
// Which snapshots are of one process.
#include "t/unit/unit.h"

#include "lib/series/identity.h"

#define SECOND UINT64_C(1000000000)

static struct heap_info info_of(enum heap_origin origin, uint64_t pid, uint64_t start_ns)
{
	return (struct heap_info){
		.program = "app",
		.host = "here",
		.origin = origin,
		.pid = pid,
		.start_time_ns = start_ns,
	};
}

static void is(bool wanted, struct heap_info a, struct heap_info b)
{
	assert_int_equal(heap_is_one_process(&a, &b), wanted);
	assert_int_equal(heap_is_one_process(&b, &a), wanted);
}

static void with_the_library(void **state)
{
	struct heap_info other_host = info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND);

	(void)state;
	other_host.host = "there";
	is(true, info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND));
	is(false, info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_LIBRARY, 8, 5 * SECOND));
	is(false, info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND + 1));
	is(false, info_of(HEAP_ORIGIN_LIBRARY, 7, 5 * SECOND), other_host);
}

// The start is worked out from clocks: it differs by a little.
static void from_outside(void **state)
{
	(void)state;
	is(true, info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND + 1234));
	is(true, info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_LIBRARY, 7, 6 * SECOND));
	is(false, info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_ATTACHED, 7, 8 * SECOND));
	is(false, info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND),
	   info_of(HEAP_ORIGIN_ATTACHED, 8, 5 * SECOND));
}

// A core file does not tell when its process began.
static void from_a_core(void **state)
{
	struct heap_info other = info_of(HEAP_ORIGIN_CORE, 7, 5 * SECOND);

	(void)state;
	other.program = "another";
	is(true, info_of(HEAP_ORIGIN_CORE, 7, 90 * SECOND),
	   info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND));
	is(false, other, info_of(HEAP_ORIGIN_ATTACHED, 7, 5 * SECOND));
}

UNIT_TESTS("identity", cmocka_unit_test(with_the_library), cmocka_unit_test(from_outside),
	   cmocka_unit_test(from_a_core))
