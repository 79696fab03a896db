// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_function_arguments.h"
#include "lib/dwarf/dwarf_types.h"

#include <stdbool.h>

static const char *const compilers[] = {
	"g++ -gdwarf-4 -O0",     "g++ -gdwarf-5 -O2",     "g++ -gdwarf-5 -O2 -fdebug-types-section",
	"clang++ -gdwarf-4 -O0", "clang++ -gdwarf-5 -O2",
};

static const char source[] =
	"#define KEEP __attribute__((noinline, used))\n"
	"struct image { long size; };\n"
	"struct sound { long length; };\n"
	"template <class T> struct manager {\n"
	"	template <class U> struct step { static KEEP long run(void *p) { return ((T "
	"*)p)->size + sizeof(U); } };\n"
	"	static KEEP void destroy(void *p) { delete (T *)p; }\n"
	"};\n"
	"template <class T> KEEP void destroy_as(void *p) { delete (T *)p; }\n"
	"template <class... T> struct all { static KEEP long count(void *p) { return *(long *)p + "
	"sizeof...(T); } };\n"
	"KEEP void plain(void *p) { delete (image *)p; }\n"
	"void (*functions[])(void *) = { destroy_as<sound>, manager<image>::destroy, "
	"plain };\n"
	"long (*others[])(void *) = { manager<image>::step<sound>::run, all<sound, "
	"image *>::count };\n"
	"int main() { functions[0](0); return others[0](0) + others[1](0); }\n";

static struct heap_dwarf_file *file;
static struct heap_dwarf_code *code;

// The address of a function, by a part of its demangled name.
static uint64_t address_of(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "nm -C program | grep -F '%s' | cut '-d ' -f1", name);
	return compile_read_address(command);
}

// The names of a function's arguments, one behind the other.
static void list_arguments(struct heap_dwarf_function_arguments *arguments, uint64_t address,
			   char *result, size_t size)
{
	*result = '\0';
	assert_null(heap_dwarf_function_arguments_find(arguments, code, address));
	for (size_t i = 0; i < arguments->types.count; i++) {
		struct heap_unit_types types;
		char name[64];

		assert_null(heap_unit_types_read(file, arguments->types.items[i], &types));
		heap_types_format(&types.types,
				  heap_unit_types_find(&types, arguments->types.items[i]), name,
				  sizeof(name));
		snprintf(result + strlen(result), size - strlen(result), "%s%s", i ? ", " : "",
			 name);
		heap_unit_types_deinit(&types);
	}
}

static void check(const char *compiler, const char *function, uint64_t inside, const char *expected)
{
	struct heap_dwarf_function_arguments arguments = { 0 };
	char found[256];

	list_arguments(&arguments, address_of(function) + inside, found, sizeof(found));
	if (strcmp(found, expected) != 0)
		fail_msg("%s: %s: '%s' instead of '%s'", compiler, function, found, expected);
	heap_dwarf_function_arguments_deinit(&arguments);
}

static void check_with(const char *compiler)
{
	// A type unit does not tell the arguments of the classes around its own.
	bool has_type_units = strstr(compiler, "-fdebug-types-section") != NULL;

	assert_true(compile_run("%s -o program program.cc", compiler));
	assert_null(heap_dwarf_open(compile_path("program"), &file));
	assert_null(heap_dwarf_file_code(file, &code));
	check(compiler, "void destroy_as<sound>", 0, "struct sound");
	check(compiler, "manager<image>::destroy", 0, "struct image");
	check(compiler, "manager<image>::step<sound>::run", 0,
	      has_type_units ? "struct sound" : "struct sound, struct image");
	if (!has_type_units)
		check(compiler, "all<sound, image*>::count", 0, "struct sound, struct image *");
	check(compiler, "plain(void*)", 0, "");
	// In the middle of a function no function begins.
	check(compiler, "manager<image>::destroy", 1, "");
	heap_dwarf_close(file);
}

static void finds_arguments_of_templates_around(void **state)
{
	(void)state;
	compile_write("program.cc", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		if (compile_has(compilers[i]))
			check_with(compilers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_arguments_of_templates_around) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("function arguments", tests, compile_begin, compile_end);
}
