// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_call_frames.h"

#include <stdbool.h>

enum {
	ADDRESS = 0x2000,  // of the section
	FUNCTION = 0x1000, // that its entry is about
	LENGTH = 0x40,
};

// --- tables by hand --------------------------------------------------------------------------

static uint8_t table[512];
static size_t size;

static void byte(uint8_t value)
{
	table[size++] = value;
}

static void bytes(const void *from, size_t count)
{
	if (count > 0)
		memcpy(table + size, from, count);
	size += count;
}

static void word(uint32_t value)
{
	bytes(&value, 4);
}

static void number(uint64_t value)
{
	bytes(&value, 8);
}

// Ends the entry that begins at @p start: sets its length, and pads it with DW_CFA_nop.
static void end_entry(size_t start)
{
	uint32_t length;

	while ((size - start) % 8)
		byte(0);
	length = (uint32_t)(size - start - 4);
	memcpy(table + start, &length, 4);
}

// A CIE of .eh_frame: the caller's registers are at the CFA, which is the stack pointer + 8.
static void begin_table(const char *augmentation, const void *data, uint8_t data_size)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 }; // def_cfa r7+8; r16 at CFA-8

	memset(table, 0, sizeof(table));
	size = 0;
	word(0);
	word(0);
	byte(1);
	bytes(augmentation, strlen(augmentation) + 1);
	byte(1);    // code alignment
	byte(0x78); // data alignment: -8
	byte(16);
	byte(data_size);
	bytes(data, data_size);
	bytes(initial, sizeof(initial));
	end_entry(0);
}

static void add_function(uint32_t address, uint32_t length, const void *program,
			 size_t program_size)
{
	size_t start = size;

	word(0);
	word((uint32_t)size);
	word(address - (ADDRESS + (uint32_t)size)); // from its own place
	word(length);
	byte(0);
	bytes(program, program_size);
	end_entry(start);
}

static const uint8_t relative[] = { 0x1b }; // pcrel, 4 bytes with a sign

static void begin_plain(void)
{
	begin_table("zR", relative, sizeof(relative));
}

static struct heap_dwarf_call_frames *frames;
static struct heap_dwarf_frame_row row;

static void parse(bool is_debug)
{
	assert_null(heap_dwarf_call_frames_parse(table, size, ADDRESS, is_debug, &frames));
}

static bool find(uint64_t pc)
{
	return heap_dwarf_call_frames_find(frames, pc, &row);
}

static void check_cfa(uint64_t reg, int64_t offset)
{
	assert_int_equal(row.cfa.kind, HEAP_DWARF_FRAME_OFFSET);
	assert_int_equal(row.cfa.reg, reg);
	assert_int_equal(row.cfa.offset, offset);
}

static void check_rule(unsigned reg, enum heap_dwarf_frame_rule_kind kind, int64_t offset)
{
	assert_int_equal(row.rules[reg].kind, kind);
	assert_int_equal(row.rules[reg].offset, offset);
}

// --- what instructions say -------------------------------------------------------------------

static void rules_hold_from_their_place_on(void **state)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16,   0x86, 2, // +1: CFA r7+16, r6 at CFA-16
		0x43, 0x0d, 6,             // +4: CFA r6+16
		0x02, 0x2c, 0x0c, 7,    8, // +48: CFA r7+8
	};

	(void)state;
	begin_plain();
	add_function(FUNCTION, LENGTH, program, sizeof(program));
	parse(false);
	assert_true(find(FUNCTION));
	check_cfa(7, 8);
	check_rule(16, HEAP_DWARF_FRAME_SAVED, -8);
	check_rule(6, HEAP_DWARF_FRAME_SAME, 0);
	assert_int_equal(row.return_register, 16);
	assert_false(row.is_signal);
	assert_true(find(FUNCTION + 1));
	check_cfa(7, 16);
	check_rule(6, HEAP_DWARF_FRAME_SAVED, -16);
	assert_true(find(FUNCTION + 4));
	check_cfa(6, 16);
	assert_true(find(FUNCTION + 47));
	check_cfa(6, 16);
	assert_true(find(FUNCTION + LENGTH - 1));
	check_cfa(7, 8);
	assert_false(find(FUNCTION - 1));
	assert_false(find(FUNCTION + LENGTH));
	heap_dwarf_call_frames_close(frames);
}

static void each_kind_of_rule(void **state)
{
	static const uint8_t program[] = {
		0x05, 3,  1,                // offset_extended: r3 at CFA-8
		0x11, 12, 0x7e,             // offset_extended_sf -2: at CFA+16
		0x2f, 13, 3,                // GNU_negative_offset_extended: at CFA+24
		0x14, 14, 2,                // val_offset: CFA-16
		0x15, 15, 0x7f,             // val_offset_sf: CFA+8
		0x09, 1,  2,                // r1 is in r2
		0x10, 8,  2,    0x77, 0,    // where the expression says
		0x16, 9,  2,    0x77, 8,    // what it says
		0x07, 16,                   // no caller
		0x08, 10,                   // the same
		0x2e, 32,                   // GNU_args_size
		0x05, 99, 1,                // of a register that is not followed
		0x0f, 3,  0x77, 0x80, 0x01, // the CFA by an expression
	};

	(void)state;
	begin_plain();
	add_function(FUNCTION, LENGTH, program, sizeof(program));
	parse(false);
	assert_true(find(FUNCTION));
	check_rule(3, HEAP_DWARF_FRAME_SAVED, -8);
	check_rule(12, HEAP_DWARF_FRAME_SAVED, 16);
	check_rule(13, HEAP_DWARF_FRAME_SAVED, 24);
	check_rule(14, HEAP_DWARF_FRAME_OFFSET, -16);
	check_rule(15, HEAP_DWARF_FRAME_OFFSET, 8);
	assert_int_equal(row.rules[1].kind, HEAP_DWARF_FRAME_REGISTER);
	assert_int_equal(row.rules[1].reg, 2);
	assert_int_equal(row.rules[8].kind, HEAP_DWARF_FRAME_SAVED_EXPRESSION);
	assert_int_equal(row.rules[8].size, 2);
	assert_int_equal(row.rules[9].kind, HEAP_DWARF_FRAME_EXPRESSION);
	assert_int_equal(row.rules[9].bytes[1], 8);
	assert_int_equal(row.rules[16].kind, HEAP_DWARF_FRAME_UNDEFINED);
	assert_int_equal(row.rules[10].kind, HEAP_DWARF_FRAME_SAME);
	assert_int_equal(row.cfa.kind, HEAP_DWARF_FRAME_EXPRESSION);
	assert_int_equal(row.cfa.size, 3);
	heap_dwarf_call_frames_close(frames);
}

static void rows_are_remembered(void **state)
{
	static const uint8_t program[] = {
		0x0e, 16,   0x86, 2, 0x0a, // as in a function's middle; remembered
		0x44, 0xc6, 0x0e, 8,       // +4: r6 as at first, CFA r7+8
		0x44, 0x0b,                // +8: as remembered
		0x44, 0x06, 6,             // +12: r6 as at first
	};

	(void)state;
	begin_plain();
	add_function(FUNCTION, LENGTH, program, sizeof(program));
	parse(false);
	assert_true(find(FUNCTION + 4));
	check_cfa(7, 8);
	check_rule(6, HEAP_DWARF_FRAME_SAME, 0);
	assert_true(find(FUNCTION + 8));
	check_cfa(7, 16);
	check_rule(6, HEAP_DWARF_FRAME_SAVED, -16);
	assert_true(find(FUNCTION + 12));
	check_cfa(7, 16);
	check_rule(6, HEAP_DWARF_FRAME_SAME, 0);
	heap_dwarf_call_frames_close(frames);
}

// --- what entries look like ------------------------------------------------------------------

static void augmentations_are_understood(void **state)
{
	// P: an encoding and a pointer of 4 bytes; L and R: encodings.
	static const uint8_t data[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b };

	(void)state;
	begin_table("zPLRS", data, sizeof(data));
	add_function(FUNCTION, LENGTH, NULL, 0);
	parse(false);
	assert_true(find(FUNCTION));
	assert_true(row.is_signal);
	check_cfa(7, 8);
	heap_dwarf_call_frames_close(frames);
}

static void functions_may_be_in_any_order(void **state)
{
	static const uint8_t first[] = { 0x0e, 24 }, second[] = { 0x0e, 32 };

	(void)state;
	begin_plain();
	add_function(FUNCTION + 0x100, LENGTH, first, sizeof(first));
	add_function(FUNCTION, LENGTH, second, sizeof(second));
	word(0); // an end; another object's entries may follow
	add_function(0, LENGTH, second, sizeof(second));
	parse(false);
	assert_true(find(FUNCTION + 0x100));
	check_cfa(7, 24);
	assert_true(find(FUNCTION));
	check_cfa(7, 32);
	// An entry that the linker has left out.
	assert_false(find(0));
	heap_dwarf_call_frames_close(frames);
}

// .debug_frame of DWARF 5 in its 64-bit form.
static void debug_frames_are_read(void **state)
{
	static const uint8_t common[] = {
		4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0
	};
	static const uint8_t program[] = { 0x0e, 48, 0, 0 };

	(void)state;
	size = 0;
	word(0xffffffff);
	number(8 + sizeof(common));
	number(UINT64_MAX);
	bytes(common, sizeof(common));
	word(0xffffffff);
	number(8 + 16 + sizeof(program));
	number(0); // where the CIE is
	number(FUNCTION);
	number(LENGTH);
	bytes(program, sizeof(program));
	parse(true);
	assert_true(find(FUNCTION + 1));
	check_cfa(7, 48);
	check_rule(16, HEAP_DWARF_FRAME_SAVED, -8);
	heap_dwarf_call_frames_close(frames);
}

// --- what makes no sense ---------------------------------------------------------------------

static void is_not_found(const void *program, size_t program_size)
{
	begin_plain();
	add_function(FUNCTION, LENGTH, program, program_size);
	parse(false);
	assert_false(find(FUNCTION + LENGTH - 1));
	heap_dwarf_call_frames_close(frames);
}

#define IS_NOT_FOUND(...) \
	is_not_found((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void programs_without_sense_are_none(void **state)
{
	(void)state;
	IS_NOT_FOUND(0x3f);            // an instruction that nobody knows
	IS_NOT_FOUND(0x0b);            // nothing is remembered
	IS_NOT_FOUND(0x0f, 100, 0, 0); // an expression that is longer than the entry
	IS_NOT_FOUND(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
		     0x0a, 0x0a, 0x0a, 0x0a); // more rows than anyone remembers
}

// Whatever the bytes, nothing is read beyond them: sanitizers see to that.
static void try_all(const uint8_t *copy, size_t length, bool is_debug)
{
	assert_null(heap_dwarf_call_frames_parse(copy, length, ADDRESS, is_debug, &frames));
	for (uint64_t pc = FUNCTION; pc < FUNCTION + LENGTH; pc += 4)
		find(pc);
	heap_dwarf_call_frames_close(frames);
}

static void damage_does_no_harm(void **state)
{
	static const uint8_t data[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b };
	static const uint8_t program[] = { 0x0a, 0x41, 0x0e, 16, 0x86, 2, 0x10, 8,    2, 0x77, 0,
					   0x44, 0x0b, 0x04, 8,  0,    0, 0,    0x0c, 7, 8 };

	(void)state;
	begin_table("zPLR", data, sizeof(data));
	add_function(FUNCTION, LENGTH, program, sizeof(program));
	for (size_t length = 0; length <= size; length++) {
		uint8_t *copy = malloc(length + 1);

		memcpy(copy, table, length);
		copy = realloc(copy, length ? length : 1);
		try_all(copy, length, false);
		try_all(copy, length, true);
		free(copy);
	}
	for (size_t bit = 0; bit < size * 8; bit++) {
		table[bit / 8] ^= (uint8_t)(1 << bit % 8);
		try_all(table, size, false);
		table[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

// --- files -----------------------------------------------------------------------------------

static void files_have_either_table(void **state)
{
	(void)state;
	compile_write("f.c", "int g(int); int f(int x) { return g(x + 1) + x; }\n");
	assert_true(compile_run("gcc -g -O2 -fPIC -shared -o eh.so f.c"));
	assert_true(compile_run(
		"gcc -g -O2 -gz=zlib -fno-asynchronous-unwind-tables -fno-unwind-tables -fPIC "
		"-shared -nostartfiles -o debug.so f.c"));
	assert_null(heap_dwarf_call_frames_open(compile_path("eh.so"), false, &frames));
	heap_dwarf_call_frames_close(frames);
	assert_null(heap_dwarf_call_frames_open(compile_path("debug.so"), true, &frames));
	heap_dwarf_call_frames_close(frames);
	assert_error(heap_dwarf_call_frames_open(compile_path("eh.so"), true, &frames),
		     HEAP_ERROR_ABSENT, "eh.so: no .debug_frame");
	assert_error(heap_dwarf_call_frames_open(compile_path("f.c"), false, &frames),
		     HEAP_ERROR_FORMAT, "f.c: not an ELF file");
	assert_error(heap_dwarf_call_frames_open(compile_path("none"), false, &frames),
		     HEAP_ERROR_SYSTEM, "No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_hold_from_their_place_on),
		cmocka_unit_test(each_kind_of_rule),
		cmocka_unit_test(rows_are_remembered),
		cmocka_unit_test(augmentations_are_understood),
		cmocka_unit_test(functions_may_be_in_any_order),
		cmocka_unit_test(debug_frames_are_read),
		cmocka_unit_test(programs_without_sense_are_none),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(files_have_either_table),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("call frames", tests, compile_begin, compile_end);
}
