// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/types/types.h"

#include <stdlib.h>
#include <string.h>

enum {
	CHAIN = 5000,
};

// A table of these types, with members whose type is given.
static struct heap_error *check(struct heap_type *types, uint32_t count,
				struct heap_member *members, uint32_t member_count)
{
	return heap_types_check(&(struct heap_types){
		.types = types,
		.count = count,
		.members = members,
		.member_count = member_count,
		.strings = (char[]){ "" },
		.string_size = 1,
	});
}

static void pointers_may_lead_back(void **state)
{
	(void)state;
	struct heap_type types[] = {
		{ .kind = HEAP_TYPE_UNKNOWN },
		{ .kind = HEAP_TYPE_STRUCT, .size = 8, .members = 1 },
		{ .kind = HEAP_TYPE_POINTER, .size = 8, .target = 1 },
	};
	struct heap_member member = { .type = 2 };

	assert_null(check(types, 3, &member, 1));
	member.type = 1;
	assert_error(check(types, 3, &member, 1), HEAP_ERROR_FORMAT, "type 1 contains itself");
}

static void a_circle_of_typedefs_is_found(void **state)
{
	(void)state;
	struct heap_type types[] = {
		{ .kind = HEAP_TYPE_UNKNOWN },
		{ .kind = HEAP_TYPE_TYPEDEF, .target = 2 },
		{ .kind = HEAP_TYPE_CONST, .target = 3 },
		{ .kind = HEAP_TYPE_TYPEDEF, .target = 1 },
	};

	assert_error(check(types, 4, NULL, 0), HEAP_ERROR_FORMAT, "type 1 contains itself");
}

static void members_are_not_shared(void **state)
{
	(void)state;
	struct heap_type types[] = {
		{ .kind = HEAP_TYPE_UNKNOWN },
		{ .kind = HEAP_TYPE_STRUCT, .size = 8, .members = 2 },
		{ .kind = HEAP_TYPE_UNION, .size = 8, .first_member = 1, .members = 1 },
		{ .kind = HEAP_TYPE_BASE, .size = 4 },
	};
	struct heap_member members[] = { { .type = 3 }, { .type = 3, .offset = 4 }, { .type = 3 } };

	assert_error(check(types, 4, members, 2), HEAP_ERROR_FORMAT,
		     "section 'memb' is damaged: types share members");
	types[2].first_member = 2;
	assert_null(check(types, 4, members, 3));
}

// Arrays of arrays, from the first to the last or from the last to the first: each is met
// before, or after, what is inside of it.
static struct heap_error *check_chain(uint32_t length, bool inner_first)
{
	struct heap_type *types = calloc(length + 1, sizeof(*types));
	struct heap_error *error;

	for (uint32_t i = 1; i <= length; i++) {
		types[i].kind = HEAP_TYPE_ARRAY;
		types[i].count = 1;
		types[i].target = inner_first ? i - 1 : i < length ? i + 1 : 0;
	}
	error = check(types, length + 1, NULL, 0);
	free(types);
	return error;
}

static void deep_nesting_is_found_in_any_order(void **state)
{
	(void)state;
	assert_null(check_chain(1500, true));
	assert_null(check_chain(1500, false));
	assert_error(check_chain(CHAIN, true), HEAP_ERROR_FORMAT, "is nested too deeply");
	assert_error(check_chain(CHAIN, false), HEAP_ERROR_FORMAT, "is nested too deeply");
}

// Each struct has the one before twice: counted one by one that would take for ever.
static void what_is_met_often_is_looked_at_once(void **state)
{
	(void)state;
	static struct heap_type types[1001];
	static struct heap_member members[2000];

	for (uint32_t i = 1; i <= 1000; i++) {
		types[i] = (struct heap_type){ .kind = HEAP_TYPE_STRUCT,
					       .size = 1,
					       .first_member = (i - 1) * 2,
					       .members = 2 };
		members[i * 2 - 2].type = members[i * 2 - 1].type = i - 1;
	}
	assert_null(check(types, 1001, members, 2000));
}

static void arrays_stay_countable(void **state)
{
	(void)state;
	struct heap_type types[] = {
		{ .kind = HEAP_TYPE_UNKNOWN },
		{ .kind = HEAP_TYPE_ARRAY, .target = 2, .count = 1 << 30 },
		{ .kind = HEAP_TYPE_ARRAY, .target = 3, .count = 1 << 26 },
		{ .kind = HEAP_TYPE_BASE, .size = 8 },
	};

	assert_null(check(types, 4, NULL, 0));
	types[2].count = 1 << 30;
	assert_error(check(types, 4, NULL, 0), HEAP_ERROR_FORMAT, "type 1 is too large");
}

static void type_0_is_the_unknown_one(void **state)
{
	(void)state;
	struct heap_type base = { .kind = HEAP_TYPE_BASE, .size = 4 };

	assert_error(check(&base, 1, NULL, 0), HEAP_ERROR_FORMAT, "type 0 is not the unknown one");
	assert_error(check(&base, 0, NULL, 0), HEAP_ERROR_FORMAT, "type 0 is not the unknown one");
}

UNIT_TESTS("types_check", cmocka_unit_test(pointers_may_lead_back),
	   cmocka_unit_test(a_circle_of_typedefs_is_found),
	   cmocka_unit_test(members_are_not_shared),
	   cmocka_unit_test(deep_nesting_is_found_in_any_order),
	   cmocka_unit_test(what_is_met_often_is_looked_at_once),
	   cmocka_unit_test(arrays_stay_countable), cmocka_unit_test(type_0_is_the_unknown_one))
