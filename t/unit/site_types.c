// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_types.h"
#include "lib/dwarf/elf_file.h"
#include "lib/dwarf/dwarf_site_types.h"

#include <stdbool.h>

static const char *const compilers[] = {
	"gcc -gdwarf-4 -O0",   "gcc -gdwarf-5 -O0",   "gcc -gdwarf-4 -O2",   "gcc -gdwarf-5 -O2",
	"clang -gdwarf-4 -O0", "clang -gdwarf-5 -O0", "clang -gdwarf-4 -O2", "clang -gdwarf-5 -O2",
};

static const char source[] =
	"#include <stdlib.h>\n"
	"struct session { struct session *next; };\n"
	"struct server { struct session *first; };\n"
	"struct request { int id; };\n"
	"struct reply { int id; };\n"
	"typedef struct session *session_t;\n"
	"static inline __attribute__((always_inline)) void *allocate(struct request *why)\n" // 7
	"{\n"
	"	char *unused = (char *)why;\n" // 9
	"	return malloc(why->id);\n"
	"}\n"
	"__attribute__((noinline)) struct reply *serve(struct server *server, long count)\n" // 12
	"{\n"
	"	struct request request = { count };\n"
	"	session_t made;\n" // 15
	"	for (long i = 0; i < count; i++) {\n"
	"		const struct session *const last = server->first;\n" // 17
	"		made = allocate(&request);\n"
	"		made->next = (struct session *)last;\n"
	"		server->first = made;\n"
	"	}\n"
	"	return (struct reply *)server->first;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct server server = { 0 };\n"
	"	serve(&server, argc);\n"
	"	return 0;\n"
	"}\n";

static struct heap_dwarf_file *file;
static struct heap_dwarf_code *code;
static struct heap_unit_types types;

// "kind depth line name of the type" of what is at an address, sorted out of many.
static bool has(const struct heap_dwarf_site_types *found, enum heap_dwarf_site_type_kind kind,
		int depth, unsigned line, const char *name)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct heap_dwarf_site_type *type = &found->types[i];
		char text[100];

		heap_types_format(&types.types, heap_unit_types_find(&types, type->type), text,
				  sizeof(text));
		if (type->kind == kind && type->depth == depth && type->line == line &&
		    strcmp(text, name) == 0)
			return true;
	}
	return false;
}

static void fail_with(const char *compiler, const char *what,
		      const struct heap_dwarf_site_types *found)
{
	for (size_t i = 0; i < found->count; i++)
		print_message("# kind %u, depth %u, line %u\n", found->types[i].kind,
			      found->types[i].depth, found->types[i].line);
	fail_msg("%s: %s", compiler, what);
}

// The address of the call of malloc, from the disassembly: the last byte of it.
static uint64_t call_of_malloc(void)
{
	return compile_read_address("objdump -d --no-show-raw-insn program | "
				    "grep -m1 -A1 '\\(call\\|bl\\)\\s.*<malloc@plt>' | "
				    "tail -1 | cut -d: -f1") -
	       1;
}

static void check_with(const char *compiler)
{
	struct heap_dwarf_site_types found;
	const struct heap_dwarf_code_unit *unit;
	uint64_t pc;

	assert_true(compile_run("%s -o program program.c", compiler));
	pc = call_of_malloc();
	assert_null(heap_dwarf_open(compile_path("program"), &file));
	assert_null(heap_dwarf_file_code(file, &code));
	assert_null(heap_dwarf_code_find_unit(code, pc, &unit));
	assert_non_null(unit);
	assert_null(heap_unit_types_read(file, unit->unit->die, &types));
	assert_null(heap_dwarf_site_types_find(code, pc, &found));
#define CHECK(kind, depth, line, name) \
	if (!has(&found, HEAP_DWARF_SITE_##kind, depth, line, name)) \
	fail_with(compiler, "no " #kind " " name, &found)
	CHECK(PARAMETER, 0, 7, "struct request *");
	CHECK(LOCAL, 0, 9, "char *");
	CHECK(RETURN, 0, 7, "void *");
	CHECK(RETURN, 1, 12, "struct reply *");
	CHECK(PARAMETER, 1, 12, "struct server *");
	CHECK(PARAMETER, 1, 12, "long");
	CHECK(LOCAL, 1, 15, "session_t");
	CHECK(LOCAL, 1, 17, "const struct session *const");
#undef CHECK
	// request, made, i, last, two parameters and what is returned; why, unused, what is returned
	if (found.count != 10)
		fail_with(compiler, "not 10 types", &found);
	heap_dwarf_site_types_deinit(&found);
	assert_null(heap_dwarf_site_types_find(code, 8, &found));
	assert_int_equal(found.count, 0);
	heap_dwarf_site_types_deinit(&found);
	heap_unit_types_deinit(&types);
	heap_dwarf_close(file);
}

// The first branch allocates; the block in it is part of it, and the one around both.
static const char branches[] =
	"#include <stdlib.h>\n"
	"struct one { int id; };\n"
	"struct two { int id; };\n"
	"struct three { int id; };\n"
	"struct four { int id; };\n"
	"void *make(int kind, void (*use)(void *))\n"
	"{\n"
	"	struct four *all = NULL;\n" // 8
	"	if (kind == 1) {\n"
	"		struct one *one = malloc(24);\n" // 10
	"		one->id = 1;\n"
	"		if (kind > 0) {\n"
	"			struct three *three = (struct three *)one;\n" // 13
	"			use(three);\n"
	"		}\n"
	"		use(one);\n"
	"	} else {\n"
	"		struct two *two = (struct two *)all;\n" // 18
	"		use(two);\n"
	"	}\n"
	"	return all;\n"
	"}\n"
	"int main(void)\n"
	"{\n"
	"	make(1, free);\n"
	"	return 0;\n"
	"}\n";

static void passes_over_other_branches(void **state)
{
	struct heap_dwarf_site_types found;
	const struct heap_dwarf_code_unit *unit;
	uint64_t pc;

	(void)state;
	compile_write("program.c", branches);
	assert_true(compile_run("gcc -g -O0 -o program program.c"));
	pc = call_of_malloc();
	assert_null(heap_dwarf_open(compile_path("program"), &file));
	assert_null(heap_dwarf_file_code(file, &code));
	assert_null(heap_dwarf_code_find_unit(code, pc, &unit));
	assert_null(heap_unit_types_read(file, unit->unit->die, &types));
	assert_null(heap_dwarf_site_types_find(code, pc, &found));
	assert_true(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 8, "struct four *"));
	assert_true(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 10, "struct one *"));
	assert_true(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 13, "struct three *"));
	assert_false(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 18, "struct two *"));
	heap_dwarf_site_types_deinit(&found);
	// All of the function is ahead of its first instruction.
	pc = compile_read_address("nm program | grep ' make$' | cut -d' ' -f1");
	assert_null(heap_dwarf_site_types_find(code, pc, &found));
	assert_true(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 10, "struct one *"));
	assert_true(has(&found, HEAP_DWARF_SITE_LOCAL, 0, 18, "struct two *"));
	heap_dwarf_site_types_deinit(&found);
	heap_unit_types_deinit(&types);
	heap_dwarf_close(file);
}

static void finds_types_of_all_scopes(void **state)
{
	(void)state;
	compile_write("program.c", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		if (compile_has(compilers[i]))
			check_with(compilers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_types_of_all_scopes),
		cmocka_unit_test(passes_over_other_branches),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("site types", tests, compile_begin, compile_end);
}
