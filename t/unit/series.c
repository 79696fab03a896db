// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/series/series.h"

#include <stdlib.h>
#include <string.h>

/*
 * Snapshots made in memory: object i of one is at 0x1000 + 16 * slot, and says of itself
 * when it was born, by what site, and of which type.
 */
struct object {
	uint64_t slot;
	uint32_t birth;
	heap_site_id site;
	const char *type; // NULL: unknown
};

static heap_type_id type_named(struct heap_types *types, const char *name)
{
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT, .size = 16 };
	heap_type_id id = name ? heap_types_find(types, name, 0) : HEAP_NO_TYPE;

	if (!name || id != HEAP_NO_TYPE)
		return id;
	assert_null(heap_types_add_string(types, name, &type.name));
	assert_null(heap_types_add(types, &type, &id));
	return id;
}

static void *filled(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	assert_non_null(memory);
	return memory;
}

static struct heap_snapshot *make(uint64_t serial, const struct object *objects, uint32_t count)
{
	struct heap_snapshot *snapshot = filled(1, sizeof(*snapshot));

	snapshot->info = (struct heap_info){ .host = "here",
					     .program = "app",
					     .pid = 42,
					     .serial = serial,
					     .time_ns = 1000 + serial };
	snapshot->strings = filled(1, 1);
	snapshot->string_size = 1;
	assert_null(heap_types_init(&snapshot->types));
	snapshot->sites = filled(2, sizeof(*snapshot->sites));
	snapshot->sites[0].address = 0x401000;
	snapshot->sites[1].address = 0x402000;
	snapshot->site_count = 2;
	snapshot->epochs = filled(16, sizeof(*snapshot->epochs));
	for (uint32_t i = 0; i < 16; i++)
		snapshot->epochs[i] = 500 + i;
	snapshot->epoch_count = 16;
	snapshot->object_count = count;
	snapshot->address = filled(count, sizeof(*snapshot->address));
	snapshot->type = filled(count, sizeof(*snapshot->type));
	snapshot->site = filled(count, sizeof(*snapshot->site));
	snapshot->birth = filled(count, sizeof(*snapshot->birth));
	for (uint32_t i = 0; i < count; i++) {
		snapshot->address[i] = 0x1000 + objects[i].slot * 16;
		snapshot->type[i] = type_named(&snapshot->types, objects[i].type);
		snapshot->site[i] = objects[i].site;
		snapshot->birth[i] = objects[i].birth;
	}
	return snapshot;
}

#define MAKE(serial, ...) \
	make(serial, (const struct object[]){ __VA_ARGS__ }, \
	     sizeof((const struct object[]){ __VA_ARGS__ }) / sizeof(struct object))

static struct heap_series *begin(void)
{
	struct heap_series *series;

	assert_null(heap_series_create(&series));
	return series;
}

static void carries_on_where_an_object_was_first_seen(void **state)
{
	struct heap_series *series = begin();

	(void)state;
	assert_int_equal(heap_series_length(series), 0);
	assert_null(heap_series_latest(series));
	assert_null(heap_series_add(series, MAKE(0, { 1, 0, 0, "a" }, { 5, 0, 0, "a" })));
	assert_int_equal(heap_series_first_seen(series, 0), 0);
	assert_null(heap_series_add(series, MAKE(1, { 1, 0, 0, "a" }, { 3, 1, 0, "a" })));
	assert_null(heap_series_add(series,
				    MAKE(2, { 1, 0, 0, "a" }, { 2, 2, 0, "a" }, { 3, 1, 0, "a" })));
	assert_int_equal(heap_series_length(series), 3);
	assert_int_equal(heap_series_latest(series)->object_count, 3);
	assert_int_equal(heap_series_first_seen(series, 0), 0);
	assert_int_equal(heap_series_first_seen(series, 1), 2);
	assert_int_equal(heap_series_first_seen(series, 2), 1);
	heap_series_destroy(series);
}

// The same address with another birth, site or type is another object.
static void tells_objects_at_one_address_apart(void **state)
{
	struct heap_series *series = begin();

	(void)state;
	assert_null(heap_series_add(series, MAKE(0, { 1, 0, 0, "a" }, { 2, 0, 0, "a" },
						 { 3, 0, 0, "a" }, { 4, 0, 0, "a" })));
	assert_null(heap_series_add(series, MAKE(1, { 1, 1, 0, "a" }, { 2, 0, 1, "a" },
						 { 3, 0, 0, "b" }, { 4, 0, 0, "a" })));
	assert_int_equal(heap_series_first_seen(series, 0), 1);
	assert_int_equal(heap_series_first_seen(series, 1), 1);
	assert_int_equal(heap_series_first_seen(series, 2), 1);
	assert_int_equal(heap_series_first_seen(series, 3), 0);
	heap_series_destroy(series);
}

// Types have other ids in each snapshot, and some are not known in each.
static void compares_types_by_name(void **state)
{
	struct heap_series *series = begin();

	(void)state;
	assert_null(heap_series_add(
		series, MAKE(0, { 1, 0, 0, "a" }, { 2, 0, 0, "b" }, { 3, 0, 0, NULL })));
	assert_null(heap_series_add(
		series, MAKE(1, { 1, 0, 0, NULL }, { 2, 0, 0, "b" }, { 3, 0, 0, "a" })));
	for (heap_object_id i = 0; i < 3; i++)
		assert_int_equal(heap_series_first_seen(series, i), 0);
	heap_series_destroy(series);
}

static void takes_snapshots_without_objects(void **state)
{
	struct heap_series *series = begin();

	(void)state;
	assert_null(heap_series_add(series, make(0, NULL, 0)));
	assert_null(heap_series_add(series, MAKE(1, { 1, 0, 0, "a" })));
	assert_int_equal(heap_series_first_seen(series, 0), 1);
	assert_null(heap_series_add(series, make(2, NULL, 0)));
	assert_int_equal(heap_series_length(series), 3);
	heap_series_destroy(series);
}

static void refuses_another_process(void **state)
{
	struct heap_series *series = begin();
	struct heap_snapshot *other = make(1, NULL, 0);

	(void)state;
	other->info.pid = 43;
	assert_null(heap_series_add(series, make(0, NULL, 0)));
	assert_error(heap_series_add(series, other), HEAP_ERROR_ARGUMENT,
		     "of another process than the one before: app, pid 43, not app, pid 42");
	assert_int_equal(heap_series_length(series), 1);
	other = make(1, NULL, 0);
	other->info.start_time_ns = 7;
	assert_error(heap_series_add(series, other), HEAP_ERROR_ARGUMENT, "another process");
	heap_series_destroy(series);
}

static void refuses_what_is_not_later(void **state)
{
	struct heap_series *series = begin();

	(void)state;
	assert_null(heap_series_add(series, make(1, NULL, 0)));
	assert_error(heap_series_add(series, make(1, NULL, 0)), HEAP_ERROR_ARGUMENT,
		     "not later than the one before");
	assert_error(heap_series_add(series, make(0, NULL, 0)), HEAP_ERROR_ARGUMENT,
		     "not later than the one before");
	heap_series_destroy(series);
}

UNIT_TESTS("series", cmocka_unit_test(carries_on_where_an_object_was_first_seen),
	   cmocka_unit_test(tells_objects_at_one_address_apart),
	   cmocka_unit_test(compares_types_by_name),
	   cmocka_unit_test(takes_snapshots_without_objects),
	   cmocka_unit_test(refuses_another_process), cmocka_unit_test(refuses_what_is_not_later))
