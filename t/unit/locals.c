// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_types.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_types_reader.h"
#include "lib/dwarf/dwarf_locals.h"

#include <stdbool.h>

enum {
	CFA = 0x70000000, // of the frame that is asked for
	FRAME = CFA - 16, // its frame pointer
};

static const char *const compilers[] = {
	"gcc -gdwarf-3 -O2",          "gcc -gdwarf-4 -O2",   "gcc -gdwarf-5 -O2",
	"gcc -gdwarf-4 -O0",          "gcc -gdwarf-5 -O0",   "gcc -gdwarf-5 -gdwarf64 -O2",
	"gcc -gdwarf-5 -O2 -gz=zlib", "clang -gdwarf-4 -O2", "clang -gdwarf-5 -O2",
	"clang -gdwarf-4 -O0",        "clang -gdwarf-5 -O0",
};

#define MARK(name, operands) \
	"	__asm__ volatile(\".globl at_" name "\\nat_" name ": nop\" " operands ");\n"

#define INLINED MARK("inlined", ": : \"r\"(inner), \"r\"(within)")
#define LIVE MARK("live", ": : \"r\"(local), \"r\"(parameter), \"r\"(number)")
#define BLOCK MARK("block", ": : \"r\"(shadowed), \"r\"(p), \"r\"(sum) : \"memory\"")
// The registers of arguments, and all of them but one, as __asm__ names what it overwrites.
#if defined(__aarch64__)
#define ARGUMENTS "\"x0\", \"x1\", \"x2\", \"x3\", \"x4\", \"x5\", \"x6\", \"x7\", \"x8\""
#define ALL_BUT_ONE \
	"\"x1\", \"x2\", \"x3\", \"x4\", \"x5\", \"x6\", \"x7\", \"x8\", \"x9\", " \
	"\"x10\", \"x11\", \"x12\", \"x13\", \"x14\", \"x15\", \"x16\", \"x17\", \"x19\", " \
	"\"x20\", \"x21\", \"x22\", \"x23\", \"x24\", \"x25\", \"x26\", \"x27\", \"x28\""
#else
#define ARGUMENTS "\"rax\", \"rcx\", \"rdx\", \"rsi\", \"rdi\", \"r8\""
#define ALL_BUT_ONE \
	"\"rbx\", \"rcx\", \"rdx\", \"rsi\", \"rdi\", \"r8\", \"r9\", " \
	"\"r10\", \"r11\", \"r12\", \"r13\", \"r14\", \"r15\""
#endif
// Behind code that nothing but the result outlives.
#define DEAD \
	"	__asm__ volatile(\"nop\" : \"+r\"(result) : : " ALL_BUT_ONE \
	");\n" MARK("dead", ": \"+r\"(result)")

static const char source[] =
	"struct node { struct node *next; long value; };\n"
	"static inline __attribute__((always_inline)) long inlined(struct node *inner)\n" // 2
	"{\n"
	"	struct node *within = inner->next;\n" // 4
	INLINED "	return (long)within + (long)inner;\n"
	"}\n"
	"__attribute__((noinline)) long walk(struct node *parameter, long number)\n" // 8
	"{\n"
	"	struct node *local = parameter->next;\n" // 10
	LIVE "	long result = (long)local->next + (long)parameter + number;\n" DEAD
	"	return result;\n"
	"}\n"
	"__attribute__((noinline)) long nest(struct node *shadowed)\n"
	"{\n"
	// volatile: else gcc may copy the code behind the loop, and the mark in it.
	"	static struct node *volatile fixed;\n"
	"	long sum = 0;\n"
	"	for (struct node *p = shadowed; p; p = p->next) {\n" // 21
	"		struct node **shadowed = &p->next;\n"        // 22
	BLOCK "		sum += (long)*shadowed + p->value;\n"
	"	}\n"
	"	fixed = shadowed;\n"
	"	return sum + inlined(fixed);\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct node node = { 0, argc };\n"
	"	return walk(&node, argc) + nest(&node) + (argv == 0);\n"
	"}\n";

static const char *compiler;
static struct heap_dwarf_file *file;
static struct heap_dwarf_locals locals;

static bool read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context, (void)address, (void)buffer, (void)size;
	return false;
}

static void find_at(const char *mark)
{
	struct heap_dwarf_registers registers = { .known = UINT64_MAX };
	struct heap_dwarf_locals_frame frame = {
		.pc = compile_address_of("program", mark),
		.cfa = CFA,
		.registers = &registers,
		.with_nowhere = true,
		.read = read_nothing,
	};

	for (unsigned i = 0; i < HEAP_DWARF_REGISTERS; i++)
		registers.value[i] = 0x1000 * (i + 1);
	registers.value[HEAP_DWARF_REGISTER_FRAME] = FRAME;
	registers.value[HEAP_DWARF_REGISTER_SP] = CFA - 128;
	assert_null(heap_dwarf_locals_find(file, &frame, &locals));
}

// Finds one that is somewhere, or one that is not.
static const struct heap_dwarf_local *find_one(const char *name, bool is_nowhere)
{
	for (size_t i = 0; i < locals.count; i++)
		if (strcmp(locals.locals[i].name, name) == 0 &&
		    (locals.locals[i].kind == HEAP_DWARF_LOCATION_NOWHERE) == is_nowhere)
			return &locals.locals[i];
	return NULL;
}

static const struct heap_dwarf_local *find(const char *name)
{
	return find_one(name, false);
}

// It is there, in the frame or in a register, and declared where it is.
static void check(const char *name, const char *function, unsigned line)
{
	const struct heap_dwarf_local *local = find(name);

	if (!local)
		fail_msg("%s: no %s", compiler, name);
	assert_string_equal(local->function, function);
	assert_string_equal(local->file, "source.c");
	if (local->line != line)
		fail_msg("%s: %s is of line %u rather than %u", compiler, name, local->line, line);
	assert_true(local->type != 0);
	if (local->kind == HEAP_DWARF_LOCATION_MEMORY)
		assert_in_range(local->address, CFA - 256, CFA);
	else
		assert_int_equal(local->kind, HEAP_DWARF_LOCATION_REGISTER);
	if (strstr(compiler, "-O0"))
		assert_int_equal(local->kind, HEAP_DWARF_LOCATION_MEMORY);
}

static void check_nowhere(const char *name)
{
	if (!strstr(compiler, "-O0") && find(name))
		fail_msg("%s: %s is dead, and yet there", compiler, name);
	// But it is known to be in scope.
	if (!find(name) && !find_one(name, true))
		fail_msg("%s: %s is not listed", compiler, name);
}

// The name of a local's type.
static void check_type(const char *name, const char *expected)
{
	const struct heap_dwarf_local *local = find(name);
	struct heap_dwarf_units *units;
	struct heap_unit_types types;
	char text[100];

	assert_non_null(local);
	assert_null(heap_dwarf_file_units(file, &units));
	assert_null(
		heap_unit_types_read(file, heap_dwarf_units_find(units, local->type)->die, &types));
	heap_types_format(&types.types, heap_unit_types_find(&types, local->type), text,
			  sizeof(text));
	assert_string_equal(text, expected);
	heap_unit_types_deinit(&types);
}

static void check_program(void)
{
	find_at("live");
	check("local", "walk", 10);
	check("parameter", "walk", 8);
	check("number", "walk", 8);
	check_type("local", "struct node *");
	check_type("number", "long");
	heap_dwarf_locals_deinit(&locals);

	// A stale pointer in a slot that is used for something else would name types wrongly.
	find_at("dead");
	check_nowhere("local");
	check_nowhere("parameter");
	heap_dwarf_locals_deinit(&locals);

	find_at("block");
	check("p", "nest", 21);
	check("shadowed", "nest", 22); // the inner one first
	check_type("shadowed", "struct node **");
	assert_true(find("p") < find("sum"));
	assert_null(find("fixed")); // a global
	assert_null(find("within"));
	heap_dwarf_locals_deinit(&locals);

	find_at("inlined");
	check("within", "inlined", 4);
	check("inner", "inlined", 2);
	heap_dwarf_locals_deinit(&locals);
}

static void each_compiler(void **state)
{
	size_t tried = 0;

	(void)state;
	compile_write("source.c", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		compiler = compilers[i];
		if (!compile_has(compiler))
			continue;
		assert_true(compile_run("%s -no-pie -o program source.c", compiler));
		assert_null(heap_dwarf_open(compile_path("program"), &file));
		check_program();
		heap_dwarf_close(file);
		tried++;
	}
	assert_true(tried > 0);
}

// --- values at entry ---------------------------------------------------------------------------

static const char entry_source[] =
	"struct node { struct node *next; long value; } first, second;\n"
	"__attribute__((noinline)) void callee(struct node *gone, struct node *lost)\n" // 2
	"{\n"
	"	gone->value++, lost->value++;\n"
	"	__asm__ volatile(\"nop\" : : : " ARGUMENTS ");\n"
	"	__asm__ volatile(\".globl at_entry\\nat_entry: nop\" : : : \"memory\");\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	callee(&first, (struct node *)*argv);\n"
	"	return argc;\n"
	"}\n";

static uint64_t return_address_of_callee(void)
{
	return compile_read_address(
		"objdump -d program --no-show-raw-insn | "
		"grep -A1 '\\(call\\|bl\\)\\s.*<callee>' | tail -1 | cut -d: -f1");
}

// A parameter that is nowhere any more has the value that the caller passed, if that is known.
static void parameters_are_what_was_passed(void **state)
{
	// clang does not say what address is passed.
	static const char *const optimizing[] = { "gcc -gdwarf-4 -O2", "gcc -gdwarf-5 -O2" };

	(void)state;
	compile_write("entry.c", entry_source);
	for (size_t i = 0; i < sizeof(optimizing) / sizeof(*optimizing); i++) {
		struct heap_dwarf_registers registers = { .known = 0 }, caller = { .known = 0 };
		struct heap_dwarf_locals_frame frame = {
			.cfa = CFA, .registers = &registers, .caller = &caller, .read = read_nothing
		};
		compiler = optimizing[i];
		if (!compile_has(compiler))
			continue;
		assert_true(compile_run("%s -no-pie -o program entry.c", compiler));
		assert_null(heap_dwarf_open(compile_path("program"), &file));
		frame.pc = compile_address_of("program", "entry");
		caller.known = UINT64_C(1) << HEAP_DWARF_REGISTER_PC;
		caller.value[HEAP_DWARF_REGISTER_PC] = return_address_of_callee();
		assert_null(heap_dwarf_locals_find(file, &frame, &locals));
		if (!find("gone"))
			fail_msg("%s: nothing of what was passed", compiler);
		assert_int_equal(find("gone")->kind, HEAP_DWARF_LOCATION_VALUE);
		assert_int_equal(find("gone")->value,
				 compile_read_address("nm program | grep ' first$'"));
		// The caller's registers are not known.
		assert_null(find("lost"));
		heap_dwarf_locals_deinit(&locals);
		// Without a caller there is nothing to tell.
		frame.caller = NULL;
		assert_null(heap_dwarf_locals_find(file, &frame, &locals));
		assert_null(find("gone"));
		heap_dwarf_locals_deinit(&locals);
		heap_dwarf_close(file);
	}
}

// --- the cache -------------------------------------------------------------------------------

static struct heap_dwarf_answers *cache;

static void open_cache(void)
{
	const struct heap_dwarf_source origin = { .size = 1000 };

	assert_null(heap_dwarf_answers_create(compile_path("cache"), "00ff", &origin, 1, &cache));
}

static bool read_addresses(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	memset(buffer, (int)address, size);
	return true;
}

static bool same_locals(const struct heap_dwarf_locals *a, const struct heap_dwarf_locals *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct heap_dwarf_local *one = &a->locals[i], *other = &b->locals[i];

		if (strcmp(one->name, other->name) != 0 ||
		    strcmp(one->function, other->function) != 0 ||
		    strcmp(one->file, other->file) != 0 || one->line != other->line ||
		    one->type != other->type || one->kind != other->kind ||
		    one->reg != other->reg || one->address != other->address ||
		    one->value != other->value)
			return false;
	}
	return true;
}

// Notes, or recalls and compares, the locals of frames at all addresses of a function and some more.
static size_t visit_frames(uint64_t start, uint64_t return_pc, bool is_noted)
{
	struct heap_dwarf_registers registers = { .known = UINT64_MAX }, caller = registers;
	size_t found = 0;

	for (unsigned i = 0; i < HEAP_DWARF_REGISTERS; i++)
		registers.value[i] = 0x1000 * (i + 1);
	caller.value[HEAP_DWARF_REGISTER_PC] = return_pc;
	for (uint64_t pc = start; pc < start + 0x200; pc++) {
		struct heap_dwarf_locals_frame frame = {
			.pc = pc,
			.is_caller = pc & 1,
			.cfa = CFA,
			.registers = &registers,
			.caller = &caller,
			.read = read_addresses,
		};
		const struct heap_dwarf_layout_place place = heap_dwarf_locals_place(&frame);
		struct heap_dwarf_layout layout;
		struct heap_dwarf_locals recalled;

		if (is_noted) {
			assert_false(heap_dwarf_layout_recall(cache, &place, &layout));
			assert_null(heap_dwarf_layout_find(file, &place, &layout));
			assert_true(layout.is_complete);
			heap_dwarf_layout_note(cache, &place, &layout);
		} else {
			assert_true(heap_dwarf_layout_recall(cache, &place, &layout));
			assert_null(heap_dwarf_locals_find(file, &frame, &locals));
			assert_null(heap_dwarf_locals_evaluate(&layout, &frame, &recalled));
			assert_true(same_locals(&locals, &recalled));
			found += locals.count;
			heap_dwarf_locals_deinit(&locals);
			heap_dwarf_locals_deinit(&recalled);
		}
		heap_dwarf_layout_deinit(&layout);
	}
	return found;
}

static void cached_locals_are_those_of_the_file(void **state)
{
	(void)state;
	compile_write("source.c", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		uint64_t start;
		compiler = compilers[i];
		if (!compile_has(compiler))
			continue;
		assert_true(
			compile_run("%s -no-pie -o program source.c && rm -rf cache", compiler));
		assert_null(heap_dwarf_open(compile_path("program"), &file));
		start = compile_address_of("program", "live") - 0x80;
		open_cache();
		visit_frames(start, 0, true);
		assert_null(heap_dwarf_answers_store(cache));
		heap_dwarf_answers_destroy(cache);
		open_cache();
		assert_true(visit_frames(start, 0, false) > 0);
		heap_dwarf_answers_destroy(cache);
		heap_dwarf_close(file);
	}
}

// The values that a caller has passed depend on who it is.
static void cached_locals_are_those_of_the_call(void **state)
{
	struct heap_dwarf_registers registers = { .known = 0 }, caller = { .known = 0 };
	struct heap_dwarf_locals_frame frame = {
		.cfa = CFA, .registers = &registers, .caller = &caller, .read = read_nothing
	};

	(void)state;
	if (!compile_has("gcc"))
		skip();
	compile_write("entry.c", entry_source);
	assert_true(compile_run("gcc -g -O2 -no-pie -o program entry.c && rm -rf cache"));
	assert_null(heap_dwarf_open(compile_path("program"), &file));
	frame.pc = compile_address_of("program", "entry");
	caller.value[HEAP_DWARF_REGISTER_PC] = return_address_of_callee();
	open_cache();
	for (int round = 0; round < 2; round++) {
		for (int is_known = 0; is_known < 2; is_known++) {
			struct heap_dwarf_layout_place place;
			struct heap_dwarf_layout layout;

			frame.caller = is_known ? &caller : NULL;
			place = heap_dwarf_locals_place(&frame);
			assert_int_equal(heap_dwarf_layout_recall(cache, &place, &layout), round);
			if (!round) {
				assert_null(heap_dwarf_layout_find(file, &place, &layout));
				heap_dwarf_layout_note(cache, &place, &layout);
			}
			assert_null(heap_dwarf_locals_evaluate(&layout, &frame, &locals));
			assert_int_equal(find("gone") != NULL, is_known);
			heap_dwarf_locals_deinit(&locals);
			heap_dwarf_layout_deinit(&layout);
		}
	}
	heap_dwarf_answers_destroy(cache);
	heap_dwarf_close(file);
}

// Numbers that are well stored and make no sense, as another version may have written them.
static void layouts_out_of_range_are_not_recalled(void **state)
{
	static const struct {
		uint64_t numbers[16];
		size_t count;
		bool is_good;
	} answers[] = {
		{ { 0, 0 }, 2, true },
		{ { 0 }, 0, false },
		{ { 0 }, 1, false },
		{ { 0, 0, 0 }, 3, false },                      // one too many
		{ { 1, 0x50, 0, 0, 0, 0 }, 6, true },           // DW_OP_reg0
		{ { UINT64_MAX, 0x50, 0, 0, 0, 0 }, 6, false }, // more operations than there are
		{ { 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0 },
		  15,
		  true }, // a variable named ""
		{ { 0, 1, 9, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0 }, 15, false }, // string 9
		{ { 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1, 0, 0 },
		  15,
		  false }, // operation 0 of none
		{ { 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, UINT64_MAX, 2, 0, 0 }, 15, false },
		{ { 0, UINT64_MAX }, 2, false },
	};

	(void)state;
	open_cache();
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct heap_dwarf_answer_writer writer = { .answers = cache };
		const struct heap_dwarf_layout_place place = { .pc = i };
		const struct heap_dwarf_question question = { HEAP_DWARF_QUESTION_LAYOUT, i, 0 };
		struct heap_dwarf_layout layout;
		bool is_good;

		heap_dwarf_answer_put_string(&writer, "");
		heap_array_deinit(&writer.numbers);
		for (size_t j = 0; j < answers[i].count; j++)
			heap_dwarf_answer_put(&writer, answers[i].numbers[j]);
		heap_dwarf_answer_add(&writer, &question);
		is_good = heap_dwarf_layout_recall(cache, &place, &layout);
		assert_int_equal(is_good, answers[i].is_good);
		if (is_good)
			heap_dwarf_layout_deinit(&layout);
	}
	heap_dwarf_answers_destroy(cache);
}

static void where_there_is_no_function(void **state)
{
	struct heap_dwarf_registers registers = { 0 };
	struct heap_dwarf_locals_frame frame = { .registers = &registers, .read = read_nothing };

	(void)state;
	compiler = "gcc";
	compile_write("source.c", source);
	assert_true(compile_run("gcc -g -O2 -no-pie -o program source.c"));
	assert_null(heap_dwarf_open(compile_path("program"), &file));
	assert_null(heap_dwarf_locals_find(file, &frame, &locals));
	assert_int_equal(locals.count, 0);
	heap_dwarf_locals_deinit(&locals);
	// No register is known: nothing can be found in any.
	frame.pc = compile_address_of("program", "live");
	assert_null(heap_dwarf_locals_find(file, &frame, &locals));
	for (size_t i = 0; i < locals.count; i++)
		assert_int_equal(locals.locals[i].kind, HEAP_DWARF_LOCATION_REGISTER);
	heap_dwarf_locals_deinit(&locals);
	heap_dwarf_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_compiler),
		cmocka_unit_test(parameters_are_what_was_passed),
		cmocka_unit_test(cached_locals_are_those_of_the_file),
		cmocka_unit_test(cached_locals_are_those_of_the_call),
		cmocka_unit_test(layouts_out_of_range_are_not_recalled),
		cmocka_unit_test(where_there_is_no_function),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("locals", tests, compile_begin, compile_end);
}
