// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/base/path.h"
#include "lib/dwarf/elf_file.h"
#include "lib/dwarf/dwarf_line_cache.h"

#include <stdbool.h>

static const char *const compilers[] = {
	"gcc -gdwarf-3 -O2",
	"gcc -gdwarf-4 -O2",
	"gcc -gdwarf-5 -O2",
	"gcc -gdwarf-5 -O0",
	"gcc -g1 -O2",
	"gcc -gdwarf-5 -gdwarf64 -O2",
	"gcc -gdwarf-4 -fdebug-types-section -O2",
	"gcc -g -gz=zlib -O2 -ffunction-sections",
	"clang -gdwarf-4 -O2",
	"clang -gdwarf-5 -O2",
	"clang -gdwarf-5 -O0",
	"clang -gline-tables-only -O2",
};

// Places are marked by symbols, of which each stands at an instruction of its own.
#define MARK(name) "__asm__ volatile(\".globl at_" name "\\nat_" name ": nop\");"

static const char source[] =
	"#include \"header.h\"\n"
	"static inline __attribute__((always_inline)) void inner(void)\n"
	"{\n"
	"	" MARK("inner") "\n" // 4
				"}\n"
				"static inline __attribute__((always_inline)) void middle(void)\n"
				"{\n"
				"	inner();\n" // 8
				"	" MARK(
					"middle") "\n"
						  "}\n"
						  "void outer(int kept)\n"
						  "{\n"
						  "	middle();\n"      // 13
						  "	from_header();\n" // 14
						  "	" MARK(
							  "outer") "\n" // 15
								   "}\n"
								   "#line 1000 \"other name.c\"\n"
								   "void renamed(void) { " MARK(
									   "renamed") " }\n";

static const char header[] = "static inline __attribute__((always_inline)) void from_header(void)\n"
			     "{\n"
			     "	" MARK("header") "\n"
						 "}\n";

static const char *compiler;
static struct heap_elf_file *elf;
static struct heap_dwarf_file *file;
static struct heap_dwarf_line_finder *finder;

static uint64_t address_of(const char *name)
{
	const struct heap_symbol *symbol;

	for (size_t i = 0; i < elf->symbol_count; i++) {
		symbol = &elf->symbols[i];
		if (strcmp(symbol->name, name) == 0)
			return symbol->address;
	}
	fail_msg("%s: no %s", compiler, name);
	return 0;
}

// @p expected  "function file:line" of each, innermost first, with " < " between them
static void check_at(uint64_t pc, const char *expected)
{
	struct heap_dwarf_lines lines;
	char text[512] = "";
	size_t at = 0;

	assert_null(heap_dwarf_line_finder_find(finder, pc, &lines));
	for (size_t i = 0; i < lines.count; i++) {
		const char *path = lines.lines[i].file, *name = heap_base_name(path);

		if (*path && strcmp(path, compile_path(name)) != 0)
			fail_msg("%s: %s is not in the directory of the compiler", compiler, path);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s:%u", i ? " < " : "",
				       lines.lines[i].function, name, lines.lines[i].line);
	}
	if (strcmp(text, expected) != 0)
		fail_msg("%s: at %#lx: '%s' rather than '%s'", compiler, pc, text, expected);
	heap_dwarf_lines_deinit(&lines);
}

static void open_object(const char *name)
{
	assert_null(heap_elf_open(compile_path(name), &elf));
	assert_null(heap_dwarf_open(compile_path(name), &file));
	assert_null(heap_dwarf_line_finder_create(file, &finder));
}

static void close_object(void)
{
	heap_dwarf_line_finder_destroy(finder);
	heap_dwarf_close(file);
	heap_elf_close(elf);
}

static void check_marks(void)
{
	check_at(compile_address_of("object.so", "inner"),
		 "inner source.c:4 < middle source.c:8 < outer source.c:13");
	check_at(compile_address_of("object.so", "middle"),
		 "middle source.c:9 < outer source.c:13");
	check_at(compile_address_of("object.so", "header"),
		 "from_header header.h:3 < outer source.c:14");
	check_at(compile_address_of("object.so", "outer"), "outer source.c:15");
	// Functions that have nothing inlined are left to the symbol table then.
	check_at(compile_address_of("object.so", "renamed"), strstr(compiler, "tables-only")
								     ? " other name.c:1000"
								     : "renamed other name.c:1000");
	if (strstr(compiler, "-O0"))
		check_at(address_of("outer"), "outer source.c:12");
	// Places without debug information: the file's header, the C library's start-up code.
	check_at(0, "");
	check_at(0x40, "");
	check_at(address_of("_init"), "");
	check_at(UINT64_MAX, "");
}

static void each_compiler(void **state)
{
	size_t tried = 0;

	(void)state;
	compile_write("source.c", source);
	compile_write("header.h", header);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		compiler = compilers[i];
		if (!compile_has(compiler))
			continue;
		assert_true(compile_run("%s -fPIC -shared -o object.so source.c", compiler));
		open_object("object.so");
		check_marks();
		close_object();
		tried++;
	}
	assert_true(tried > 0);
}

// The compiler cuts a function in two, and the linker puts the parts where it likes.
static void code_of_several_ranges(void **state)
{
	(void)state;
	compiler = "gcc, hot and cold";
	compile_write("parts.c",
		      "void bad(void) __attribute__((cold, noreturn));\n"
		      "int parts(int *p)\n"
		      "{\n"
		      "	if (__builtin_expect(!p, 0)) {\n"
		      "		" MARK("cold") "\n" // 5
					       "		bad();\n"
					       "	}\n"
					       "	" MARK("hot") "\n" // 8
								      "	return *p;\n"
								      "}\n");
	assert_true(compile_run("gcc -g -O2 -fPIC -freorder-blocks-and-partition -shared "
				"-o object.so parts.c"));
	open_object("object.so");
	check_at(compile_address_of("object.so", "cold"), "parts parts.c:5");
	check_at(compile_address_of("object.so", "hot"), "parts parts.c:8");
	close_object();
}

// The table of DWARF 5 counts files from 0, but the program begins with file 1: what is first in
// the code comes from an included file here, and gcc leaves it to that.
static void code_may_begin_in_a_header(void **state)
{
	static const char *const ways[] = { "gcc -gdwarf-4", "gcc -gdwarf-5", "clang -gdwarf-4",
					    "clang -gdwarf-5" };

	(void)state;
	compile_write("source.c", "#include \"first.h\"\n"
				  "void second(void) { " MARK("second") " }\n");
	compile_write("first.h", "void first(void) { " MARK("first") " }\n");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		compiler = ways[i];
		if (!compile_has(*compiler == 'g' ? "gcc" : "clang"))
			continue;
		assert_true(compile_run("%s -fPIC -shared -o object.so source.c", compiler));
		open_object("object.so");
		check_at(compile_address_of("object.so", "first"), "first first.h:1");
		check_at(compile_address_of("object.so", "second"), "second source.c:2");
		close_object();
	}
}

static void names_of_cxx_are_qualified(void **state)
{
	(void)state;
	compiler = "g++";
	if (!compile_has("g++"))
		return;
	compile_write("cache.cc", "namespace cache {\n"
				  "template <typename T> struct table {\n"
				  "	void insert(T) { " MARK(
					  "insert") " }\n" // 3
						    "};\n"
						    "struct entry { void touch(int, char *); };\n"
						    "void entry::touch(int, char *) { " MARK(
							    "touch") " }\n" // 6
								     "}\n"
								     "void use(cache::table<int> "
								     "*t) { t->insert(1); }\n");
	assert_true(compile_run("g++ -g -O0 -fPIC -shared -o object.so cache.cc"));
	open_object("object.so");
	check_at(compile_address_of("object.so", "touch"), "cache::entry::touch cache.cc:6");
	check_at(compile_address_of("object.so", "insert"), "cache::table<int>::insert cache.cc:3");
	close_object();
}

// A table of lines may say that a line is anywhere.
static void damage_does_no_harm(void **state)
{
	uint64_t random = 88172645463325252u;
	unsigned long offset = 0, size = 0;
	FILE *out;

	(void)state;
	compiler = "gcc, damaged";
	compile_write("source.c", source);
	compile_write("header.h", header);
	assert_true(compile_run("gcc -g -O2 -fPIC -shared -o object.so source.c && "
				"readelf -SW object.so | sed -n 's/.*\\.debug_line *PROGBITS "
				"*[0-9a-f]* \\([0-9a-f]* [0-9a-f]*\\).*/\\1/p' >section"));
	out = fopen(compile_path("section"), "r");
	assert_int_equal(fscanf(out, "%lx %lx", &offset, &size), 2);
	fclose(out);
	for (int round = 0; round < 300; round++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		out = fopen(compile_path("object.so"), "r+b");
		assert_non_null(out);

		long at = (long)(offset + random % size);

		fseek(out, at, SEEK_SET);

		int before = fgetc(out);

		fseek(out, at, SEEK_SET);
		fputc(before ^ 1 << (random >> 32) % 8, out);
		fclose(out);

		struct heap_dwarf_lines lines;

		open_object("object.so");
		for (uint64_t pc = 0x1000; pc < 0x1200; pc += 16) {
			heap_error_destroy(heap_dwarf_line_finder_find(finder, pc, &lines));
			heap_dwarf_lines_deinit(&lines);
		}
		close_object();
	}
}

// --- the cache -------------------------------------------------------------------------------

static struct heap_dwarf_answers *cache;

static void open_cache(const char *build_id, uint64_t size)
{
	const struct heap_dwarf_source origin = { .size = size };

	assert_null(heap_dwarf_answers_create(compile_path("cache"), build_id, &origin, 1, &cache));
}

static void close_cache(void)
{
	heap_dwarf_answers_destroy(cache);
}

static void check_cached(uint64_t pc, bool expected)
{
	struct heap_dwarf_lines lines, found;

	assert_null(heap_dwarf_line_finder_find(finder, pc, &lines));
	assert_int_equal(heap_dwarf_line_cache_find(cache, pc, &found), expected);
	if (expected) {
		assert_int_equal(found.count, lines.count);
		for (size_t i = 0; i < lines.count; i++) {
			assert_string_equal(found.lines[i].function, lines.lines[i].function);
			assert_string_equal(found.lines[i].file, lines.lines[i].file);
			assert_int_equal(found.lines[i].line, lines.lines[i].line);
		}
	}
	heap_dwarf_lines_deinit(&lines);
	heap_dwarf_lines_deinit(&found);
}

static void check_all_cached(bool expected)
{
	for (uint64_t pc = 0x1000; pc < 0x1200; pc++)
		check_cached(pc, expected);
}

static void add_all(void)
{
	for (uint64_t pc = 0x1000; pc < 0x1200; pc++) {
		struct heap_dwarf_lines lines;

		assert_null(heap_dwarf_line_finder_find(finder, pc, &lines));
		assert_true(lines.is_complete);
		heap_dwarf_line_cache_add(cache, pc, &lines);
		heap_dwarf_lines_deinit(&lines);
	}
}

static void open_program(void)
{
	compiler = "gcc, cached";
	compile_write("source.c", source);
	compile_write("header.h", header);
	assert_true(compile_run("gcc -g -O2 -fPIC -shared -o object.so source.c && rm -rf cache"));
	open_object("object.so");
}

static void store_all(void)
{
	open_program();
	open_cache("00ff", 1000);
	check_all_cached(false);
	add_all();
	assert_null(heap_dwarf_answers_store(cache));
	close_cache();
}

static void cached_lines_are_those_of_the_file(void **state)
{
	(void)state;
	store_all();
	assert_true(compile_run("test $(ls -A cache | wc -l) = 1"));
	open_cache("00ff", 1000);
	check_all_cached(true);
	check_cached(0x10, false);
	// Nothing was added: nothing is written.
	assert_true(compile_run("rm -r cache"));
	assert_null(heap_dwarf_answers_store(cache));
	assert_true(compile_run("test ! -e cache"));
	close_cache();
	close_object();
}

// A debug file that is installed later may know more.
static void lines_of_another_file_are_not_found(void **state)
{
	(void)state;
	store_all();
	open_cache("00ff", 1001);
	check_all_cached(false);
	add_all();
	assert_null(heap_dwarf_answers_store(cache));
	close_cache();
	open_cache("00ff", 1001);
	check_all_cached(true);
	close_cache();
	assert_true(compile_run("mv cache/00ff-answers-1 cache/00aa-answers-1"));
	open_cache("00aa", 1001);
	check_all_cached(false);
	close_cache();
	close_object();
}

// Another user's file is no cache; nor can one be stored where a file is.
static void caches_that_cannot_be_used_are_empty(void **state)
{
	(void)state;
	store_all();
	assert_true(compile_run("chmod 666 cache/*"));
	open_cache("00ff", 1000);
	check_all_cached(false);
	close_cache();
	assert_true(compile_run("rm -r cache && : >cache"));
	open_cache("00ff", 1000);
	check_all_cached(false);
	add_all();

	struct heap_error *error = heap_dwarf_answers_store(cache);

	assert_non_null(error);
	heap_error_destroy(error);
	check_all_cached(true);
	close_cache();
	close_object();
}

// The whole file is in memory: what a disc without room leaves, or a bit that was turned.
static void damaged_caches_are_refused(void **state)
{
	uint8_t bytes[16384];
	size_t size;

	(void)state;
	store_all();

	FILE *in = fopen(compile_path("cache/00ff-answers-1"), "r");

	assert_non_null(in);
	size = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	assert_true(size > 100 && size < sizeof(bytes));
	open_cache("00ff", 1000);
	assert_null(heap_dwarf_answers_load_memory(cache, bytes, size));
	check_all_cached(true);
	for (size_t i = 0; i < size; i++) {
		uint8_t *copy = malloc(i + 1);
		struct heap_error *error;

		memcpy(copy, bytes, i);
		error = heap_dwarf_answers_load_memory(cache, copy, i);
		assert_non_null(error);
		assert_int_equal(heap_error_code(error), HEAP_ERROR_FORMAT);
		heap_error_destroy(error);
		free(copy);
	}
	check_cached(0x1100, false);
	for (size_t i = 0; i < size * 8; i++) {
		struct heap_error *error;

		bytes[i / 8] ^= 1 << i % 8;
		error = heap_dwarf_answers_load_memory(cache, bytes, size);
		// Bytes that no checksum covers are not read either.
		check_cached(0x1100, !error);
		heap_error_destroy(error);
		bytes[i / 8] ^= 1 << i % 8;
	}
	close_cache();
	close_object();
}

static void a_cache_has_a_limit(void **state)
{
	char function[] = "function", file_name[] = "file.c";
	const struct heap_dwarf_line place = { function, file_name, 1, false };
	struct heap_dwarf_line places[8];
	const struct heap_dwarf_lines lines = { places, 8, true };
	struct heap_dwarf_lines found;

	(void)state;
	for (int i = 0; i < 8; i++)
		places[i] = place;
	assert_true(compile_run("rm -rf cache"));
	open_cache("00ff", 1000);
	for (uint64_t pc = 0; pc < 100000; pc++)
		heap_dwarf_line_cache_add(cache, pc, &lines);
	assert_null(heap_dwarf_answers_store(cache));
	close_cache();
	open_cache("00ff", 1000);
	// 4 * 65,536 lines are 32,768 addresses of 8 functions each.
	assert_true(heap_dwarf_line_cache_find(cache, 32767, &found));
	assert_int_equal(found.count, 8);
	heap_dwarf_lines_deinit(&found);
	assert_false(heap_dwarf_line_cache_find(cache, 32768, &found));
	close_cache();
}

// Without its .dwo the unit's functions are not known, and may be found the next time.
static void incomplete_lines_are_not_cached(void **state)
{
	struct heap_dwarf_lines lines;

	(void)state;
	compiler = "gcc, split";
	compile_write("source.c", source);
	compile_write("header.h", header);
	assert_true(compile_run("gcc -g -gsplit-dwarf -O2 -fPIC -shared -o object.so source.c && "
				"rm -rf cache *.dwo"));
	open_object("object.so");
	open_cache("00ff", 1000);
	assert_null(heap_dwarf_line_finder_find(finder, address_of("outer"), &lines));
	assert_false(lines.is_complete);
	heap_dwarf_line_cache_add(cache, address_of("outer"), &lines);
	heap_dwarf_lines_deinit(&lines);
	check_cached(address_of("outer"), false);
	close_cache();
	close_object();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_compiler),
		cmocka_unit_test(code_of_several_ranges),
		cmocka_unit_test(code_may_begin_in_a_header),
		cmocka_unit_test(names_of_cxx_are_qualified),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(cached_lines_are_those_of_the_file),
		cmocka_unit_test(lines_of_another_file_are_not_found),
		cmocka_unit_test(caches_that_cannot_be_used_are_empty),
		cmocka_unit_test(damaged_caches_are_refused),
		cmocka_unit_test(a_cache_has_a_limit),
		cmocka_unit_test(incomplete_lines_are_not_cached),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("lines", tests, compile_begin, compile_end);
}
