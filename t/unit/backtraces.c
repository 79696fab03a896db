// SPDX-License-Identifier: GPL-3.0-or-later
// The sites of blocks, by tables of the library that are made up here.
#include "t/unit/unit.h"

#include "dumper/writer/scan/threads/backtraces.h"

#include <unistd.h>

/*
 * main() calls make(), which calls allocate(): it has a path for small blocks and one for large
 * ones, each with its own call of malloc().
 */
enum {
	IN_MAIN = 0x1010,
	IN_MAKE = 0x2020, // the library's site of all blocks: it looked through allocate()
	ALLOCATE = 0x3000,
	SMALL = 0x3030, // in allocate()
	LARGE = 0x3040,
	INNER = 0x4040, // in a function that allocate() calls
	OTHER_INNER = 0x4050,
};

static const struct heapsnap_step steps[] = {
	{ 0 },
	{ .address = IN_MAIN },
	{ .address = IN_MAKE, .caller = 1 },
	{ .address = SMALL, .caller = 2 },
	{ .address = LARGE, .caller = 2 },
	{ .address = INNER, .caller = 3 },
	{ .address = OTHER_INNER, .caller = 3 },
};

enum {
	TO_SMALL = 3,
	TO_LARGE,
	TO_INNER,
	TO_OTHER_INNER,
	STEPS = sizeof(steps) / sizeof(steps[0]),
	KINDS = 4,
	WRAPPERS = 4,
};

// Only allocate() is no wrapper after all.
static bool is_believed(void *context, uint64_t site, uint64_t *start)
{
	(void)context;
	if (site != SMALL && site != LARGE)
		return true;
	*start = ALLOCATE;
	return false;
}

// The same, where allocate() has a single place.
static bool is_believed_but_once(void *context, uint64_t site, uint64_t *start)
{
	return site == LARGE || is_believed(context, site, start);
}

static void read_tables_by(struct backtraces *backtraces, const struct heapsnap_kind *kinds,
			   backtraces_test *test)
{
	static const uint64_t wrappers[WRAPPERS] = { SMALL, LARGE, INNER, OTHER_INNER };
	const struct heapsnap_process process = {
		.steps = (uintptr_t)steps,
		.step_count = STEPS,
		.kinds = (uintptr_t)kinds,
		.kind_slots = KINDS,
		.wrappers = (uintptr_t)wrappers,
		.wrapper_slots = WRAPPERS,
	};
	struct image image;

	assert_null(image_init(&image, getpid()));
	assert_null(backtraces_init(backtraces, &image, &process));
	assert_null(backtraces_choose_wrappers(backtraces, test, NULL));
	image_deinit(&image);
}

static void read_tables(struct backtraces *backtraces, const struct heapsnap_kind *kinds)
{
	read_tables_by(backtraces, kinds, is_believed);
}

static bool knows_nothing(void *context, uint64_t address, uint64_t size)
{
	(void)context;
	(void)address;
	(void)size;
	return false;
}

static uint64_t maker(const struct backtraces *backtraces, uint64_t size)
{
	return backtraces_maker(backtraces, IN_MAKE, size, knows_nothing, NULL);
}

static void each_size_has_its_own_backtrace(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
		{ .site = IN_MAKE, .size = 4096, .backtrace = TO_LARGE },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 16), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 4096), LARGE);
	backtraces_deinit(&backtraces);
}

// Neither line is known to be the right one for it: the caller is.
static void sizes_that_disagree_tell_nothing_of_another(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
		{ .site = IN_MAKE, .size = 4096, .backtrace = TO_LARGE },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), IN_MAKE);
	assert_int_equal(maker(&backtraces, 64), IN_MAKE);
	assert_int_equal(backtraces_called(&backtraces, ALLOCATE), 0);
	backtraces_deinit(&backtraces);
}

static void sizes_that_agree_tell_of_another(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_INNER },
		{ .site = IN_MAKE, .size = 32, .backtrace = TO_INNER },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), SMALL);
	assert_int_equal(maker(&backtraces, 64), INNER);
	backtraces_deinit(&backtraces);
}

// allocate() goes one way for small blocks and another for large ones.
static void the_nearest_sizes_tell(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
		{ .site = IN_MAKE, .size = 32, .backtrace = TO_SMALL },
		{ .site = IN_MAKE, .size = 512, .backtrace = TO_LARGE },
		{ .site = IN_MAKE, .size = 1024, .backtrace = TO_LARGE },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 8), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 24), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 256), IN_MAKE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 768), LARGE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 4096), LARGE);
	backtraces_deinit(&backtraces);
}

// Blocks from before allocate() was taken for a wrapper have sites in it.
static void earlier_blocks_tell_of_later_ones(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
		{ .site = IN_MAKE, .size = 32, .backtrace = TO_SMALL },
		{ .site = LARGE, .size = 512, .backtrace = TO_LARGE },
		{ .site = LARGE, .size = 1024, .backtrace = TO_LARGE },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 512), LARGE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 768), LARGE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), IN_MAKE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 24), SMALL);
	backtraces_deinit(&backtraces);
}

// The calls in which they agree count, from the site inwards.
static void sizes_that_agree_in_part_tell_that_part(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_INNER },
		{ .site = IN_MAKE, .size = 32, .backtrace = TO_OTHER_INNER },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), SMALL);
	assert_int_equal(maker(&backtraces, 64), SMALL);
	backtraces_deinit(&backtraces);
}

// One backtrace that is shorter than the other agrees with its outer part.
static void a_shorter_backtrace_is_the_common_part(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_INNER },
		{ .site = IN_MAKE, .size = 32, .backtrace = TO_SMALL },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), SMALL);
	backtraces_deinit(&backtraces);
}

// allocate() has another call of malloc(), which may be that of other sizes.
static void one_size_tells_of_another_what_is_certain(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables(&backtraces, kinds);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 16), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 8), IN_MAKE);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), IN_MAKE);
	backtraces_deinit(&backtraces);
}

static bool jumps(void *context, uint64_t function)
{
	(void)context;
	return function == ALLOCATE;
}

// allocate() has a single call, but may end with a jump to a function that calls malloc(), too: what no backtrace shows
// may be from there.
static void a_jump_leaves_open_where_blocks_are_from(void **state)
{
	const struct heapsnap_kind kinds[KINDS] = {
		{ .site = IN_MAKE, .size = 16, .backtrace = TO_SMALL },
	};
	struct backtraces backtraces;

	(void)state;
	read_tables_by(&backtraces, kinds, is_believed_but_once);
	assert_true(backtraces_have_refused(&backtraces, ALLOCATE));
	assert_false(backtraces_have_refused(&backtraces, SMALL));
	assert_int_equal(backtraces_called(&backtraces, ALLOCATE), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), SMALL);
	backtraces_find_jumps(&backtraces, jumps, NULL);
	assert_int_equal(backtraces_called(&backtraces, ALLOCATE), 0);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 16), SMALL);
	assert_int_equal(backtraces_site(&backtraces, IN_MAKE, 64), IN_MAKE);
	backtraces_deinit(&backtraces);
}

UNIT_TESTS("backtraces", cmocka_unit_test(each_size_has_its_own_backtrace),
	   cmocka_unit_test(sizes_that_disagree_tell_nothing_of_another),
	   cmocka_unit_test(sizes_that_agree_tell_of_another),
	   cmocka_unit_test(the_nearest_sizes_tell),
	   cmocka_unit_test(earlier_blocks_tell_of_later_ones),
	   cmocka_unit_test(sizes_that_agree_in_part_tell_that_part),
	   cmocka_unit_test(a_shorter_backtrace_is_the_common_part),
	   cmocka_unit_test(one_size_tells_of_another_what_is_certain),
	   cmocka_unit_test(a_jump_leaves_open_where_blocks_are_from))
