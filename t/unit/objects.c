// SPDX-License-Identifier: GPL-3.0-or-later
// Births, addresses, kinds and names of objects, which are kept in few bytes each.
#include "t/unit/unit.h"

#include "dumper/writer/scan/names.h"
#include "dumper/writer/scan/objects.h"
#include "lib/base/cleanup.h"

enum {
	OBJECTS = 4 * BIRTH_GROUP,
	KINDS = UINT16_MAX + 10,
	BLOCK = 32, // bytes from one block to the next
	START = 0x10000,
};

// --- births --------------------------------------------------------------------

static uint16_t epoch_of(uint32_t object)
{
	// The third group has two of them.
	return object < 2 * BIRTH_GROUP + 9 ? 3 : 4;
}

static void births_of_groups_and_objects(void **state)
{
	struct births births = { 0 };

	(void)state;
	assert_int_equal(births_of(&births, 7), 0);
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_null(births_add(&births, i, epoch_of(i)));
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_int_equal(births_of(&births, i), epoch_of(i));
	assert_int_equal(births.mixed.count, BIRTH_GROUP);
	births_deinit(&births);
}

// Objects that were added last may be removed, and others take their places.
static void births_of_replaced_objects(void **state)
{
	const uint32_t from = BIRTH_GROUP + 5;
	struct births births = { 0 };

	(void)state;
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_null(births_add(&births, i, epoch_of(i)));
	for (uint32_t i = from; i < OBJECTS; i++)
		assert_null(births_add(&births, i, 8));
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_int_equal(births_of(&births, i), i < from ? 3 : 8);
	births_deinit(&births);
}

// --- addresses -----------------------------------------------------------------

// Blocks in a row, then with gaps of 1 MiB, of 8 GiB and of an odd number of bytes, then in a row again.
static uint64_t address_of(uint32_t object)
{
	uint64_t address = START + object * (uint64_t)BLOCK;

	if (object > 70)
		address += 1 << 20;
	if (object > 80)
		address += UINT64_C(8) << 30;
	return object > 200 ? address + 3 : address;
}

static void check_addresses(const struct objects *objects)
{
	for (uint32_t i = 0; i < objects->count; i++)
		assert_int_equal(objects_address(objects, i), address_of(i));
}

static void keeps_addresses(void **state)
{
	struct objects objects;

	(void)state;
	assert_null(objects_init(&objects));
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_null(objects_add(&objects, address_of(i), 16, 0));
	check_addresses(&objects);
	// The groups of 70 to 80 and of 200 are wide; from 81 on all of the first one's are far.
	assert_int_equal(objects.wide.count, 2 * OBJECT_GROUP);
	assert_int_equal(objects.far.count, 2 * OBJECT_GROUP - 81);
	while (objects.count > 75)
		objects_remove_last(&objects);
	assert_int_equal(objects.far.count, 0);
	for (uint32_t i = 75; i < OBJECTS; i++)
		assert_null(objects_add(&objects, address_of(i), 16, 0));
	check_addresses(&objects);
	objects_deinit(&objects);
}

// In a range all of whose blocks begin at multiples of 16 the index alone tells starts; with one that does not, none.
static void index_tells_starts(void **state)
{
	(void)state;
	for (uint64_t odd = 0; odd <= 8; odd += 8) {
		struct object_range range = { .start = START, .end = START + OBJECTS * BLOCK };
		struct objects objects;

		assert_null(objects_init(&objects));
		for (uint32_t i = 0; i < OBJECTS; i++)
			assert_null(objects_add(
				&objects, START + i * BLOCK + (i == OBJECTS - 1 ? odd : 0), 16, 0));
		range.count = objects.count;
		assert_null(objects_add_range(&objects, &range));
		for (uint64_t at = 0; at < BLOCK; at++) {
			bool is_start;

			assert_int_equal(
				objects_find_before(&objects, START + 9 * BLOCK + at, &is_start),
				9);
			assert_int_equal(is_start, odd == 0 && at == 0);
			assert_int_equal(objects_find(&objects, START + 9 * BLOCK + at),
					 at < 16 ? 9 : HEAP_NO_OBJECT);
		}
		objects_deinit(&objects);
	}
}

// As if there were so many: none of their columns is there.
static void too_many_are_refused(void **state)
{
	struct objects objects = { .count = OBJECTS_MOST, .capacity = OBJECTS_MOST };

	(void)state;
	assert_error(objects_add(&objects, START, 16, 0), HEAP_ERROR_ARGUMENT,
		     "more than 2147483648 blocks are live, and a capture takes no more");
}

// --- kinds ---------------------------------------------------------------------

// One more kind than 16 bits can count, and then the first one again.
static void keeps_many_kinds(void **state)
{
	struct objects objects;

	(void)state;
	assert_null(objects_init(&objects));
	for (uint64_t i = 0; i <= KINDS; i++)
		assert_null(objects_add(&objects, START + i * BLOCK, 16, 1 + i % KINDS));
	assert_int_equal(objects.kinds.count, KINDS);
	for (uint32_t i = 0; i <= KINDS; i++)
		assert_int_equal(objects_kind(&objects, i), i % KINDS);
	objects_deinit(&objects);
}

// --- names ---------------------------------------------------------------------

static uint32_t find_name(struct names *names, heap_type_id type)
{
	uint32_t number;

	assert_null(names_find(names, &(struct name){ 1, 1, true, type }, &number));
	return number;
}

static void waits_for_names(void **state)
{
	struct names names;

	(void)state;
	assert_null(names_init(&names, OBJECTS));

	uint32_t one = find_name(&names, 5), other = find_name(&names, 6);

	assert_null(names_await(&names, 0, one));
	assert_int_equal(names_of(&names, 0)->type, HEAP_NO_TYPE);
	assert_int_equal(names_awaited(&names, 0), one);
	assert_null(names_await(&names, 0, other));
	assert_int_equal(names_awaited(&names, 0), other);
	names_give(&names, 0, other);
	assert_int_equal(names_of(&names, 0)->type, 6);
	assert_null(names_await(&names, 0, one));
	assert_int_equal(names_of(&names, 0)->type, 6);
	assert_int_equal(names_awaited(&names, 0), one);
	// An object waits on when its name is taken, or when it gets another one.
	names_take(&names, 0);
	assert_int_equal(names_of(&names, 0)->type, HEAP_NO_TYPE);
	assert_int_equal(names_awaited(&names, 0), one);
	assert_null(names_await(&names, 1, one));
	names_take(&names, 1);
	assert_int_equal(names_awaited(&names, 1), one);
	assert_null(names_set(&names, 1, 7, 1, HEAP_EVIDENCE_POOL));
	assert_int_equal(names_of(&names, 1)->type, 7);
	assert_int_equal(names_awaited(&names, 1), one);
	names_deinit(&names);
}

// So many that they become a column.
static void many_wait_for_names(void **state)
{
	struct names names;

	(void)state;
	assert_null(names_init(&names, OBJECTS));

	uint32_t first = find_name(&names, 5);

	for (uint32_t i = 0; i < OBJECTS; i++)
		names_give(&names, i, first);
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_null(names_await(&names, i, find_name(&names, 6 + i)));
	assert_non_null(names.awaited_of);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		assert_int_equal(names_of(&names, i)->type, 5);
		assert_int_equal(names_get(&names, names_awaited(&names, i))->type, 6 + i);
	}
	names_end_waiting(&names);
	assert_null(names.awaited_of);
	assert_null(names_await(&names, 3, first));
	assert_int_equal(names_awaited(&names, 3), first);
	names_deinit(&names);
}

// Threads read names while others are found.
static void names_never_move(void **state)
{
	const struct name *first;
	struct names names;

	(void)state;
	assert_null(names_init(&names, OBJECTS));
	first = names_get(&names, find_name(&names, 5));
	for (uint32_t i = 0; i < KINDS; i++)
		assert_int_equal(names_get(&names, find_name(&names, 6 + i))->type, 6 + i);
	assert_int_equal(names.count, KINDS + 2);
	assert_ptr_equal(names_get(&names, find_name(&names, 5)), first);
	assert_int_equal(first->type, 5);
	names_deinit(&names);
}

static void counts_names(void **state)
{
	CLEANUP_FREE uint32_t *counts = NULL;
	struct names names;

	(void)state;
	assert_null(names_init(&names, OBJECTS));
	for (uint32_t i = 0; i < 9; i++)
		assert_null(names_set(&names, i, 1 + i % 2, 1, HEAP_EVIDENCE_VOTE));
	// It has no name yet, and one that has one keeps it.
	assert_null(names_await(&names, 9, find_name(&names, 7)));
	assert_null(names_await(&names, 0, find_name(&names, 7)));
	assert_null(names_count(&names, 20, &counts));
	assert_int_equal(counts[0], 11);
	assert_int_equal(counts[names_number(&names, 0)], 5);
	assert_int_equal(counts[names_number(&names, 1)], 4);
	names_deinit(&names);
}

static void types_get_new_numbers(void **state)
{
	const heap_type_id map[] = { HEAP_NO_TYPE, 3, HEAP_NO_TYPE, 1 };
	struct names names;

	(void)state;
	assert_null(names_init(&names, OBJECTS));
	for (uint32_t i = 0; i <= 3; i++)
		assert_null(names_set(&names, i, i, 10 + i, HEAP_EVIDENCE_VOTE));
	names_renumber(&names, map);
	for (uint32_t i = 0; i <= 3; i++) {
		assert_int_equal(names_type(&names, i), map[i]);
		assert_int_equal(names_of(&names, i)->elements, 10 + i);
	}
	names_deinit(&names);
}

UNIT_TESTS("objects", cmocka_unit_test(births_of_groups_and_objects),
	   cmocka_unit_test(births_of_replaced_objects), cmocka_unit_test(keeps_addresses),
	   cmocka_unit_test(index_tells_starts), cmocka_unit_test(too_many_are_refused),
	   cmocka_unit_test(keeps_many_kinds), cmocka_unit_test(counts_names),
	   cmocka_unit_test(waits_for_names), cmocka_unit_test(many_wait_for_names),
	   cmocka_unit_test(names_never_move), cmocka_unit_test(types_get_new_numbers))
