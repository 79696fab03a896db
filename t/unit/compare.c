// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/series/compare.h"

#include <stdlib.h>
#include <string.h>

struct object {
	uint64_t address;
	uint64_t size;
	uint32_t birth;
};

static const uint64_t epochs[] = { 100, 200, 300 };

// A snapshot in memory: epochs began at 100, 200 and 300.
static struct heap_snapshot *make(uint64_t time, const struct object *objects, uint32_t count)
{
	struct heap_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	assert_non_null(snapshot);
	snapshot->info = (struct heap_info){ .host = "here", .pid = 7, .time_ns = time };
	snapshot->epochs = (uint64_t *)epochs;
	snapshot->epoch_count = 3;
	snapshot->object_count = count;
	snapshot->address = calloc(count + 1, sizeof(*snapshot->address));
	snapshot->size = calloc(count + 1, sizeof(*snapshot->size));
	snapshot->birth = calloc(count + 1, sizeof(*snapshot->birth));
	for (uint32_t i = 0; i < count; i++) {
		snapshot->address[i] = objects[i].address;
		snapshot->size[i] = objects[i].size;
		snapshot->birth[i] = objects[i].birth;
	}
	return snapshot;
}

static void discard(struct heap_snapshot *snapshot)
{
	free(snapshot->address);
	free(snapshot->size);
	free(snapshot->birth);
	free(snapshot);
}

#define MAKE(time, ...) \
	make(time, (const struct object[]){ __VA_ARGS__ }, \
	     sizeof((const struct object[]){ __VA_ARGS__ }) / sizeof(struct object))

static void tells_what_became_of_each(void **state)
{
	struct heap_snapshot *before =
		MAKE(200, { 0x10, 8, 0 }, { 0x20, 8, 0 }, { 0x30, 8, 1 }, { 0x40, 8, 0 });
	struct heap_snapshot *after = MAKE(300, { 0x10, 8, 0 }, { 0x20, 16, 0 }, { 0x30, 8, 2 },
					   { 0x50, 64, 0 }, { 0x60, 8, 1 });
	struct heap_comparison comparison;

	(void)state;
	assert_null(heap_comparison_init(&comparison, before, after));
	assert_int_equal(heap_comparison_change(&comparison, 0), HEAP_CHANGE_KEPT);
	assert_int_equal(heap_comparison_change(&comparison, 1), HEAP_CHANGE_RESIZED);
	// The address again, born later; and what was born before, but was not there.
	assert_int_equal(heap_comparison_change(&comparison, 2), HEAP_CHANGE_ADDED);
	assert_int_equal(heap_comparison_change(&comparison, 3), HEAP_CHANGE_MOVED);
	// Born in the epoch that the first snapshot began.
	assert_int_equal(heap_comparison_change(&comparison, 4), HEAP_CHANGE_ADDED);
	assert_int_equal(comparison.later[0], 0);
	assert_int_equal(comparison.later[1], 1);
	assert_int_equal(comparison.later[2], HEAP_NO_OBJECT);
	assert_int_equal(comparison.later[3], HEAP_NO_OBJECT);
	assert_int_equal(comparison.earlier[1], 1);
	heap_comparison_deinit(&comparison);
	discard(before);
	discard(after);
}

static void different_processes_share_nothing(void **state)
{
	struct heap_snapshot *before = MAKE(200, { 0x10, 8, 0 });
	struct heap_snapshot *after = MAKE(300, { 0x10, 8, 0 });
	struct heap_comparison comparison;

	(void)state;
	after->info.pid = 8;
	assert_null(heap_comparison_init(&comparison, before, after));
	assert_int_equal(heap_comparison_change(&comparison, 0), HEAP_CHANGE_ADDED);
	assert_int_equal(comparison.later[0], HEAP_NO_OBJECT);
	heap_comparison_deinit(&comparison);
	discard(before);
	discard(after);
}

static void snapshots_may_be_empty(void **state)
{
	struct heap_snapshot *before = make(200, NULL, 0), *after = make(300, NULL, 0);
	struct heap_comparison comparison;

	(void)state;
	assert_null(heap_comparison_init(&comparison, before, after));
	heap_comparison_deinit(&comparison);
	discard(before);
	discard(after);
}

UNIT_TESTS("compare", cmocka_unit_test(tells_what_became_of_each),
	   cmocka_unit_test(different_processes_share_nothing),
	   cmocka_unit_test(snapshots_may_be_empty))
