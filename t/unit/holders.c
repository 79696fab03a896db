// SPDX-License-Identifier: GPL-3.0-or-later
// Holders are found by their names, also by those that objects get while they are visited.
#include "t/unit/unit.h"

#include "dumper/writer/infer/holders.h"

enum {
	OBJECTS = 100,
	WANTED = 1,
	OTHER = 2,
	TYPES = 3,
};

static struct capture capture;
static struct heap_types types;
static struct inference inference;

static int set_up(void **state)
{
	(void)state;
	capture = (struct capture){ .objects.count = OBJECTS };
	types = (struct heap_types){ .count = TYPES };
	inference = (struct inference){ .capture = &capture, .layouts.types = &types };
	assert_null(names_init(&capture.names, OBJECTS));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	names_deinit(&capture.names);
	return 0;
}

static void give(heap_object_id object, heap_type_id type, uint64_t elements)
{
	assert_null(names_set(&capture.names, object, type, elements, HEAP_EVIDENCE_POINTER));
}

static void begin(struct holders *holders)
{
	assert_null(holders_init(holders, &inference));
	holders->are_types[WANTED] = true;
	holders_begin(holders);
}

static void objects_of_wanted_types_are_found(void **state)
{
	struct holders holders;

	(void)state;
	give(3, WANTED, 1);
	give(4, OTHER, 1);
	give(7, WANTED, 2);
	begin(&holders);
	assert_int_equal(holders_next(&holders, 0), 3);
	assert_int_equal(holders_next(&holders, 4), 7);
	assert_int_equal(holders_next(&holders, 8), OBJECTS);
	holders_deinit(&holders);
}

// There are more names then than the table has.
static void new_names_are_asked_for_their_type(void **state)
{
	struct holders holders;

	(void)state;
	give(3, WANTED, 1);
	begin(&holders);
	for (heap_object_id i = 10; i < 50; i++)
		give(i, i == 20 ? WANTED : OTHER, i);
	assert_int_equal(holders_next(&holders, 4), 20);
	assert_int_equal(holders_next(&holders, 21), OBJECTS);
	holders_deinit(&holders);
}

UNIT_TESTS("holders",
	   cmocka_unit_test_setup_teardown(objects_of_wanted_types_are_found, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(new_names_are_asked_for_their_type, set_up, tear_down))
