// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/types/scalar.h"

#include <stdlib.h>
#include <string.h>

/*
 * struct base { short id; };
 * struct whole : base {
 *	int flags : 3;        // at 4, bits 2 to 4
 *	unsigned far : 7;     // at 4, bits 28 to 34: into the fifth byte
 *	struct { double x; long double y; };
 *	struct base row[3];
 *	struct base *next;
 * };
 */
enum {
	SHORT = 1,
	INT,
	UNSIGNED,
	DOUBLE,
	LONG_DOUBLE,
	BASE,
	POINTER,
	ROW,
	UNNAMED,
	WHOLE,
	VIRTUAL,
	SELF, // a damaged one, that has itself as a member without a name
	TYPES
};

static char strings[] = "\0id\0flags\0far\0x\0y\0row\0next\0_vptr.whole";
static struct heap_type type_table[TYPES] = {
	[SHORT] = { .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_SIGNED, .size = 2 },
	[INT] = { .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_SIGNED, .size = 4 },
	[UNSIGNED] = { .kind = HEAP_TYPE_BASE, .size = 4 },
	[DOUBLE] = { .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_FLOAT, .size = 8 },
	[LONG_DOUBLE] = { .kind = HEAP_TYPE_BASE, .flags = HEAP_TYPE_FLOAT, .size = 16 },
	[BASE] = { .kind = HEAP_TYPE_STRUCT, .size = 2, .members = 1 },
	[POINTER] = { .kind = HEAP_TYPE_POINTER, .size = 8, .target = BASE },
	[ROW] = { .kind = HEAP_TYPE_ARRAY, .size = 6, .target = BASE, .count = 3 },
	[UNNAMED] = { .kind = HEAP_TYPE_STRUCT, .size = 32, .first_member = 1, .members = 2 },
	[WHOLE] = { .kind = HEAP_TYPE_CLASS, .size = 64, .first_member = 3, .members = 6 },
	[SELF] = { .kind = HEAP_TYPE_UNION, .size = 8, .first_member = 9, .members = 2 },
	[VIRTUAL] = { .kind = HEAP_TYPE_CLASS, .size = 24, .first_member = 11, .members = 2 },
};
static struct heap_member members[] = {
	{ .name = 1, .type = SHORT },
	{ .name = 14, .type = DOUBLE },
	{ .name = 16, .type = LONG_DOUBLE, .offset = 16 },
	{ .type = BASE, .flags = HEAP_MEMBER_BASE },
	{ .name = 4,
	  .type = INT,
	  .offset = 4,
	  .flags = HEAP_MEMBER_BIT_FIELD,
	  .bit_offset = 2,
	  .bit_size = 3 },
	{ .name = 10,
	  .type = UNSIGNED,
	  .offset = 4,
	  .flags = HEAP_MEMBER_BIT_FIELD,
	  .bit_offset = 28,
	  .bit_size = 7 },
	{ .type = UNNAMED, .offset = 16 },
	{ .name = 18, .type = ROW, .offset = 48 },
	{ .name = 22, .type = POINTER, .offset = 56 },
	{ .type = SELF },
	{ .type = SELF },
	{ .name = 27, .type = POINTER, .flags = HEAP_MEMBER_VTABLE },
	{ .type = BASE, .flags = HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE },
};
static struct heap_types types = {
	.types = type_table,
	.count = TYPES,
	.members = members,
	.member_count = sizeof(members) / sizeof(members[0]),
	.strings = strings,
	.string_size = sizeof(strings),
};

static void finds(heap_type_id type, const char *path, heap_type_id wanted, uint64_t offset)
{
	struct heap_member_place place;

	if (!heap_member_find(&types, type, path, &place))
		fail_msg("'%s' is not found", path);
	assert_int_equal(place.type, wanted);
	assert_int_equal(place.offset, offset);
}

static void lacks(heap_type_id type, const char *path)
{
	struct heap_member_place place;

	if (heap_member_find(&types, type, path, &place))
		fail_msg("'%s' is found", path);
}

static void finds_by_path(void **state)
{
	(void)state;
	finds(WHOLE, "", WHOLE, 0);
	finds(WHOLE, "id", SHORT, 0);
	finds(WHOLE, "x", DOUBLE, 16);
	finds(WHOLE, ".y", LONG_DOUBLE, 32);
	finds(WHOLE, "row", ROW, 48);
	finds(WHOLE, "row[2]", BASE, 52);
	finds(WHOLE, ".row[2].id", SHORT, 52);
	finds(WHOLE, "[3].next", POINTER, 3 * 64 + 56);
	finds(SHORT, "[7]", SHORT, 14);
	finds(ROW, "[1].id", SHORT, 2);
}

static void refuses_what_is_not_there(void **state)
{
	(void)state;
	lacks(WHOLE, "colour");
	lacks(WHOLE, "i");
	lacks(WHOLE, "idea");
	lacks(WHOLE, "row[3]");
	lacks(WHOLE, "row[-1]");
	lacks(WHOLE, "row[]");
	lacks(WHOLE, "row[1");
	lacks(WHOLE, "id[0]");
	lacks(WHOLE, "id.x");
	lacks(WHOLE, "next.id"); // a pointer is not followed
	lacks(WHOLE, "row..id");
	lacks(WHOLE, "row.");
	lacks(WHOLE, "[18446744073709551615].id");
	lacks(WHOLE, "[99999999999999999999].id");
	lacks(HEAP_NO_TYPE, "");
	lacks(TYPES, "id");
}

static void knows_virtual_bases(void **state)
{
	(void)state;
	finds(VIRTUAL, "_vptr.whole", POINTER, 0);
	lacks(VIRTUAL, "_vptr.other");
	lacks(VIRTUAL, "_vptr");
	lacks(VIRTUAL, "id");
	assert_true(heap_member_is_virtual(&types, VIRTUAL, "id"));
	assert_false(heap_member_is_virtual(&types, VIRTUAL, "_vptr.whole"));
	assert_false(heap_member_is_virtual(&types, VIRTUAL, "colour"));
	assert_false(heap_member_is_virtual(&types, WHOLE, "id"));
}

// Time does not grow with what a damaged table could be walked through.
static void ends_in_circles(void **state)
{
	(void)state;
	lacks(SELF, "id");
}

static struct heap_scalar load(const char *path, const void *bytes, uint64_t kept)
{
	struct heap_member_place place;
	struct heap_scalar value = { .number = 0xbad };

	assert_true(heap_member_find(&types, WHOLE, path, &place));
	assert_true(heap_scalar_load(&types, &place, bytes, kept, &value));
	return value;
}

static void loads_values(void **state)
{
	uint8_t bytes[64] = { 0 };
	const double x = -0.5;
	const long double y = 3.25L;
	const uint64_t bits = 5u << 2 | UINT64_C(0x55) << 28, next = 0x5f0010;
	struct heap_member_place place;
	struct heap_scalar value;

	(void)state;
	memcpy(bytes, &(int16_t){ -2 }, 2);
	memcpy(bytes + 4, &bits, sizeof(bits));
	memcpy(bytes + 16, &x, sizeof(x));
	memcpy(bytes + 32, &y, sizeof(y));
	memcpy(bytes + 56, &next, sizeof(next));

	value = load("id", bytes, 2);
	assert_int_equal(value.kind, HEAP_SCALAR_SIGNED);
	assert_int_equal(value.number, -2);
	assert_true(value.real == -2);
	value = load("flags", bytes, 64); // 101, in three bits
	assert_int_equal(value.number, -3);
	value = load("far", bytes, 9);
	assert_int_equal(value.kind, HEAP_SCALAR_UNSIGNED);
	assert_int_equal(value.number, 0x55);
	assert_true(load("x", bytes, 64).real == -0.5);
	assert_true(load("y", bytes, 64).real == 3.25);
	value = load("next", bytes, 64);
	assert_int_equal(value.kind, HEAP_SCALAR_POINTER);
	assert_int_equal(value.number, 0x5f0010);

	// Neither beyond what was kept, nor what is no number.
	assert_true(heap_member_find(&types, WHOLE, "far", &place));
	assert_false(heap_scalar_load(&types, &place, bytes, 8, &value));
	assert_true(heap_member_find(&types, WHOLE, "next", &place));
	assert_false(heap_scalar_load(&types, &place, bytes, 63, &value));
	place.offset = UINT64_MAX - 3;
	assert_false(heap_scalar_load(&types, &place, bytes, 64, &value));
	assert_true(heap_member_find(&types, WHOLE, "row", &place));
	assert_false(heap_scalar_load(&types, &place, bytes, 64, &value));
}

UNIT_TESTS("member_path", cmocka_unit_test(finds_by_path),
	   cmocka_unit_test(refuses_what_is_not_there), cmocka_unit_test(knows_virtual_bases),
	   cmocka_unit_test(ends_in_circles), cmocka_unit_test(loads_values))
