// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/types/scalar.h"

#include <string.h>

static const struct number {
	const char *type;
	uint8_t flags;
	uint8_t size;
	uint8_t bytes[32];
	const char *text;
} numbers[] = {
	{ "int", HEAP_TYPE_SIGNED, 4, { 0xfe, 0xff, 0xff, 0xff }, "-2" },
	{ "long", HEAP_TYPE_SIGNED, 8, { [7] = 0x80 }, "-9223372036854775808" },
	{ "unsigned long", 0, 8, { 1, [7] = 0x80 }, "9223372036854775809" },
	{ "__int128", HEAP_TYPE_SIGNED, 16, { [12] = 0x10 }, "1267650600228229401496703205376" },
	{ "__int128",
	  HEAP_TYPE_SIGNED,
	  16,
	  { [15] = 0x80 },
	  "-170141183460469231731687303715884105728" },
	{ "unsigned __int128", 0, 16, { 5, [8] = 1 }, "18446744073709551621" },
	{ "float", HEAP_TYPE_FLOAT, 4, { 0xcd, 0xcc, 0xcc, 0x3d }, "0.1" },
	{ "_Float16", HEAP_TYPE_FLOAT, 2, { 0x00, 0xc1 }, "-2.5" },
	{ "_Float16", HEAP_TYPE_FLOAT, 2, { 0x01, 0x00 }, "5.96e-08" },
	{ "_Float16", HEAP_TYPE_FLOAT, 2, { 0x00, 0x7c }, "inf" },
	{ "__bf16", HEAP_TYPE_FLOAT, 2, { 0x20, 0x40 }, "2.5" },
	// Of aarch64's long double, all are of this format.
	{ "_Float128", 0, 16, { [13] = 0x40, [14] = 0x00, [15] = 0xc0 }, "-2.5" },
	{ "real(kind=16)", HEAP_TYPE_FLOAT, 16, { [14] = 0xff, [15] = 0x3f }, "1" },
	{ "complex float", 0, 8, { [2] = 0x80, [3] = 0x3f, [7] = 0xc0 }, "1 - 2i" },
	{ "complex double",
	  0,
	  16,
	  { [6] = 0xf0, [7] = 0x3f, [14] = 0xf8, [15] = 0x3f },
	  "1 + 1.5i" },
	{ "complex(kind=4)", 0, 8, { [2] = 0x80, [3] = 0x3f, [7] = 0x40 }, "1 + 2i" },
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(*numbers),
};

// A table in which the nth type is that of the nth number.
static void describe(struct heap_types *types)
{
	assert_null(heap_types_init(types));
	for (size_t i = 0; i < NUMBERS; i++) {
		struct heap_type type = { .kind = HEAP_TYPE_BASE,
					  .flags = numbers[i].flags,
					  .size = numbers[i].size };
		heap_type_id id;

		assert_null(heap_types_add_string(types, numbers[i].type, &type.name));
		assert_null(heap_types_add(types, &type, &id));
		assert_int_equal(id, i + 1);
	}
}

static void formats_every_number(void **state)
{
	struct heap_types types;

	(void)state;
	describe(&types);
	for (size_t i = 0; i < NUMBERS; i++) {
		struct heap_member_place place = { .type = (heap_type_id)i + 1 };
		struct heap_scalar scalar;
		char text[HEAP_SCALAR_TEXT];

		assert_true(heap_scalar_load(&types, &place, numbers[i].bytes, numbers[i].size,
					     &scalar));
		heap_scalar_format(&scalar, text);
		assert_string_equal(text, numbers[i].text);
		assert_false(heap_scalar_load(&types, &place, numbers[i].bytes,
					      numbers[i].size - 1u, &scalar));
	}
	heap_types_deinit(&types);
}

// Nobody here reads decimal numbers, nor integers of other sizes.
static void refuses_other_formats(void **state)
{
	struct heap_types types;
	struct heap_type type = { .kind = HEAP_TYPE_BASE, .size = 8 };
	heap_type_id decimal, odd;

	(void)state;
	assert_null(heap_types_init(&types));
	assert_null(heap_types_add_string(&types, "_Decimal64", &type.name));
	assert_null(heap_types_add(&types, &type, &decimal));
	type = (struct heap_type){ .kind = HEAP_TYPE_BASE, .size = 12 };
	assert_null(heap_types_add(&types, &type, &odd));
	assert_false(heap_scalar_is(&types, decimal));
	assert_false(heap_scalar_is(&types, odd));
	heap_types_deinit(&types);
}

static void parses_wide_numbers(void **state)
{
	const heap_wide one = 1;
	heap_wide number;

	(void)state;
	assert_true(heap_parse_wide("1267650600228229401496703205376", &number));
	assert_true(number == one << 100);
	assert_true(heap_parse_wide("-170141183460469231731687303715884105728", &number));
	assert_true(number == one << 127);
	assert_true(heap_parse_wide("0xffffffffffffffffffffffffffffffff", &number));
	assert_true(number == ~(heap_wide)0);
	assert_true(heap_parse_wide("017", &number) && number == 15);
	assert_true(heap_parse_wide("0", &number) && number == 0);
	assert_true(heap_parse_wide("-1", &number) && number == ~(heap_wide)0);
	assert_false(heap_parse_wide("340282366920938463463374607431768211456", &number));
	assert_false(heap_parse_wide("-170141183460469231731687303715884105729", &number));
	assert_false(heap_parse_wide("", &number));
	assert_false(heap_parse_wide("-", &number));
	assert_false(heap_parse_wide("0x", &number));
	assert_false(heap_parse_wide("1 ", &number));
	assert_false(heap_parse_wide("08", &number));
}

UNIT_TESTS("scalar", cmocka_unit_test(formats_every_number),
	   cmocka_unit_test(refuses_other_formats), cmocka_unit_test(parses_wide_numbers))
