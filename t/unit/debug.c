// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/base/cache_directory.h"
#include "lib/dwarf/dwarf_info.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

static struct heap_dwarf_info debug;
static const char *compiler;

#define check_that(condition) \
	do { \
		if (!(condition)) \
			fail_msg("%s: %s", compiler, #condition); \
	} while (0)

static const char *const c_compilers[] = {
	"gcc -gdwarf-3 -O0",
	"gcc -gdwarf-4 -O2",
	"gcc -gdwarf-5 -O0",
	"gcc -gdwarf-5 -O2",
	"gcc -gdwarf-5 -fdebug-types-section",
	"clang -gdwarf-4 -O0",
	"clang -gdwarf-5 -O0",
	"clang -gdwarf-5 -O2",
};

static const char *const cxx_compilers[] = {
	"g++ -gdwarf-4 -O0",     "g++ -gdwarf-5 -O2",     "g++ -gdwarf-5 -fdebug-types-section",
	"clang++ -gdwarf-4 -O0", "clang++ -gdwarf-5 -O2",
};

static struct heap_error *try_read(const char *object)
{
	struct heap_dwarf_file *file;
	struct heap_error *error = heap_dwarf_open(compile_path(object), &file);

	if (error)
		return error;
	error = heap_dwarf_info_read(file, &debug);
	heap_dwarf_close(file);
	return error;
}

static void read_object(const char *object)
{
	assert_null(try_read(object));
	assert_null(heap_types_check(&debug.types));
}

// Compiles with each compiler that is there, and checks what is read.
static void with_each(const char *const *compilers, size_t count, const char *arguments,
		      void (*check)(void))
{
	size_t tried = 0;

	for (size_t i = 0; i < count; i++) {
		if (!compile_has(compilers[i]))
			continue;
		compiler = compilers[i];
		if (!compile_run("%s -fPIC -shared -o object.so %s", compilers[i], arguments))
			fail_msg("%s does not compile", compilers[i]);
		read_object("object.so");
		check();
		heap_dwarf_info_deinit(&debug);
		tried++;
	}
	assert_true(tried > 0);
}

#define WITH_EACH(compilers, arguments, check) \
	with_each(compilers, sizeof(compilers) / sizeof(*(compilers)), arguments, check)

static unsigned count_types(const char *name)
{
	unsigned count = 0;

	for (heap_type_id id = 0; (id = heap_types_find(&debug.types, name, id)); id++)
		count++;
	return count;
}

static const char *name_of(heap_type_id id)
{
	static char text[512];

	heap_types_format(&debug.types, id, text, sizeof(text));
	return text;
}

// The address that the linker gave a symbol; SIZE_MAX if it has none.
static uint64_t symbol(const char *name)
{
	unsigned long long address = UINT64_MAX;

	assert_true(compile_run("nm object.so | awk '$3 ~ /%s/ { print $1 }' > symbol", name));

	FILE *file = fopen(compile_path("symbol"), "r");

	assert_non_null(file);
	if (fscanf(file, "%llx", &address) != 1)
		fail_msg("%s: no symbol %s", compiler, name);
	fclose(file);
	return address;
}

static const struct heap_dwarf_variable *variable(const char *name)
{
	const struct heap_dwarf_variable *found = NULL;

	for (uint32_t i = 0; i < debug.variable_count; i++)
		if (strcmp(heap_types_string(&debug.types, debug.variables[i].name), name) == 0) {
			check_that(!found);
			found = &debug.variables[i];
		}
	return found;
}

// Compilers for aarch64 locate thread-local variables by their symbols alone.
static bool is_located(const struct heap_dwarf_variable *variable, const char *linked)
{
#if defined(__aarch64__)
	if (variable->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL)
		return variable->address == HEAP_DWARF_NO_ADDRESS && symbol(linked) != UINT64_MAX;
#endif
	return variable->address == symbol(linked);
}

static void assert_variable(const char *name, const char *linked, const char *type, int flags,
			    const char *file, uint32_t line)
{
	const struct heap_dwarf_variable *found = variable(name);

	if (!found)
		fail_msg("%s: no variable %s", compiler, name);
	if (strcmp(name_of(found->type), type) != 0 || found->flags != flags ||
	    found->line != line || strcmp(heap_types_string(&debug.types, found->file), file) != 0)
		fail_msg("%s: %s is %s, flags %d, %s:%u", compiler, name, name_of(found->type),
			 found->flags, heap_types_string(&debug.types, found->file), found->line);
	if (!is_located(found, linked))
		fail_msg("%s: %s is at %#llx", compiler, name, (unsigned long long)found->address);
}

// --- types of several units ----------------------------------------------------------------

static void check_units(void)
{
	heap_type_id small = heap_types_find(&debug.types, "struct node (first.c:*)", 0);
	heap_type_id large = heap_types_find(&debug.types, "struct node (second.c:*)", 0);

	// Shared by three units, by two a declaration.
	check_that(count_types("struct shared") == 1);
	check_that(count_types("struct hidden") == 1);
	check_that(heap_types_size(&debug.types,
				   heap_types_find(&debug.types, "struct hidden", 0)) == 8);
	check_that(count_types("int") == 1);
	// One name, two layouts.
	check_that(count_types("struct node") == 2 && small && large);
	check_that(debug.types.types[small].size == 16 && debug.types.types[large].size == 24);
	check_that(strcmp(name_of(variable("first_nodes")->type), "struct node (first.c:2) *") ==
		   0);
	check_that(strcmp(name_of(variable("second_nodes")->type), "struct node (second.c:2) *") ==
		   0);
	// A holder of pointers to either; but the linker takes such type units for one.
	check_that(count_types("struct list") == (strstr(compiler, "types-section") ? 1 : 2));
	check_that(strcmp(name_of(variable("first_hidden")->type), "struct hidden *") == 0);
	check_that(variable("first_hidden")->type == variable("third_hidden")->type);
	check_that(debug.units >= 3 && debug.unreadable_units == 0 && debug.dies > 30);
	check_that(!debug.incomplete);
}

static void units_are_joined(void **state)
{
	(void)state;
	compile_write("shared.h",
		      "struct hidden;\n"
		      "struct shared { int a; struct hidden *h; struct shared *next; };\n");
	compile_write("first.c", "#include \"shared.h\"\n"
				 "struct node { long value; struct node *next; };\n"
				 "struct list { struct node *head; };\n"
				 "struct node *first_nodes; struct list first_list;\n"
				 "struct shared *first_shared; struct hidden *first_hidden;\n");
	compile_write("second.c", "#include \"shared.h\"\n"
				  "struct node { struct node *left, *right; int depth; };\n"
				  "struct list { struct node *head; };\n"
				  "struct node *second_nodes; struct list second_list;\n"
				  "struct shared *second_shared;\n");
	compile_write("third.c", "#include \"shared.h\"\n"
				 "struct hidden { int x, y; };\n"
				 "struct hidden *third_hidden; struct shared third_shared;\n");
	WITH_EACH(c_compilers, "first.c second.c third.c", check_units);
}

// --- variables -----------------------------------------------------------------------------

static void check_c_variables(void)
{
	const int local = HEAP_DWARF_VARIABLE_STATIC;

	assert_variable("table", "^table$", "struct entry *[12]", 0, "vars.c", 2);
	assert_variable("hidden", "^hidden$", "int", local, "vars.c", 3);
	assert_variable("calls", "(^|[.])calls", "long", local, "vars.c", 9);
	assert_variable("deep", "(^|[.])deep", "const char *", local, "vars.c", 10);
	assert_variable("inlined", "(^|[.])inlined", "struct entry", local, "vars.c", 5);
	check_that(!variable("elsewhere") && !variable("plain"));

	// Thread-locals come last; their addresses are offsets in the module's block.
	const struct heap_dwarf_variable *last = &debug.variables[debug.variable_count - 1];

	assert_variable("mine", "^mine$", "struct entry *", HEAP_DWARF_VARIABLE_THREAD_LOCAL,
			"vars.c", 4);
	check_that(last->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL);
	for (uint32_t i = 1; i < debug.variable_count; i++)
		check_that(debug.variables[i - 1].address <= debug.variables[i].address ||
			   debug.variables[i].flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL);
}

static void variables_of_c_are_found(void **state)
{
	(void)state;
	compile_write("vars.c",
		      "extern int elsewhere;\n"
		      "struct entry { int a; struct entry *next; } *table[12];\n"
		      "static int hidden = 4;\n"
		      "__thread struct entry *mine; struct entry *seen;\n"
		      "static inline int bump(int by) { static struct entry inlined;\n"
		      "	seen = &inlined; return inlined.a += by; }\n"
		      "int *use(int plain)\n"
		      "{\n"
		      "	static long calls;\n"
		      "	if (calls++ > 2) { static const char *deep; if (deep) plain += *deep;\n"
		      "	deep = (char *)&calls; }\n"
		      "	hidden += plain + elsewhere + bump(plain) + bump(2); mine = table[2];\n"
		      "	return &hidden;\n"
		      "}\n");
	WITH_EACH(c_compilers, "vars.c", check_c_variables);
}

static void check_cxx_variables(void)
{
	const int local = HEAP_DWARF_VARIABLE_STATIC;

	assert_variable("cache::entries", "^_ZN5cache7entriesE$", "class cache::entry *", 0,
			"vars.cc", 5);
	check_that(variable("cache::entry::first"));
	check_that(strcmp(name_of(variable("cache::entry::first")->type), "class cache::entry *") ==
		   0);
	check_that(variable("cache::entry::first")->address == symbol("5entry5firstE$"));
	check_that(variable("cache::entry::first")->flags == 0);
	assert_variable("cache::(anonymous namespace)::secret", "6secretE$", "int", local,
			"vars.cc", 6);
	// An inline variable stands in both units, and is one.
	check_that(variable("cache::version"));
	assert_variable("count", "use.*count", "int", local, "vars.cc", 8);
}

static void variables_of_cxx_are_qualified(void **state)
{
	(void)state;
	compile_write("cache.h", "namespace cache { class entry { public: int i;\n"
				 "	static entry *first; };\n"
				 "inline int version = 3; }\n");
	compile_write("vars.cc", "#include \"cache.h\"\n"
				 "cache::entry *cache::entry::first;\n"
				 "namespace cache\n"
				 "{\n"
				 "	entry *entries;\n"
				 "	namespace { int secret; }\n"
				 "	int *use() { \n"
				 "		static int count; count += version; secret++;\n"
				 "		return count ? &secret : &version; }\n"
				 "	int *get() { return &count_of_nothing; }\n"
				 "}\n");
	compile_write("more.cc", "#include \"cache.h\"\n"
				 "int *more() { return &cache::version; }\n");
	assert_true(compile_run("sed -i '/count_of_nothing/d' vars.cc"));
	WITH_EACH(cxx_compilers, "-std=c++17 vars.cc more.cc", check_cxx_variables);
}

static void what_the_linker_threw_away_is_no_variable(void **state)
{
	(void)state;
	compiler = "gcc";
	compile_write("gone.c", "int gone[100]; static int *unused(void) { return gone; }\n"
				"int kept = 3; int main(void) { return kept; }\n");
	assert_true(compile_run("gcc -g -fdata-sections -ffunction-sections -Wl,--gc-sections "
				"-o object.so gone.c"));
	read_object("object.so");
	assert_non_null(variable("kept"));
	assert_null(variable("gone"));
	heap_dwarf_info_deinit(&debug);
}

// --- files that are not as they should be --------------------------------------------------

static void files_without_debug_information(void **state)
{
	(void)state;
	compile_write("none.c", "int x = 3; int main(void) { return x; }\n");
	assert_true(compile_run("gcc -s -o none none.c"));
	assert_error(try_read("none"), HEAP_ERROR_ABSENT, "none: no debug information");
	assert_error(try_read("none.c"), HEAP_ERROR_FORMAT, "none.c: not an ELF file");
	assert_error(try_read("missing"), HEAP_ERROR_SYSTEM, "No such file");
}

static size_t find_section(const char *name, size_t *size)
{
	unsigned long long offset = 0, length = 0;

	assert_true(compile_run("readelf -SW object.so | "
				"sed -n 's/.* %s  *PROGBITS  *[0-9a-f]*  *//p' > section",
				name));

	FILE *file = fopen(compile_path("section"), "r");

	assert_int_equal(fscanf(file, "%llx %llx", &offset, &length), 2);
	fclose(file);
	*size = length;
	return offset;
}

static uint8_t *read_bytes(const char *name, size_t *size)
{
	FILE *file = fopen(compile_path(name), "rb");
	uint8_t *bytes = malloc(1 << 22);

	assert_non_null(file);
	*size = fread(bytes, 1, 1 << 22, file);
	fclose(file);
	return bytes;
}

static void write_bytes(const char *name, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(compile_path(name), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static void compile_two_units(void)
{
	compiler = "gcc";
	compile_write("good.c", "struct good { int a; } *good;\n");
	compile_write("bad.c", "struct bad { int a, b; struct bad *next; } *bad;\n");
	assert_true(compile_run("gcc -gdwarf-4 -nostdlib -fPIC -shared -o object.so good.c bad.c"));
}

static void damage_costs_the_unit_it_is_in(void **state)
{
	(void)state;
	size_t size, length;

	compile_two_units();

	size_t section = find_section("\\.debug_info", &length);
	uint8_t *bytes = read_bytes("object.so", &size);
	// The second unit's first entry: a code that no abbreviation has.
	size_t second = section + 4 + bytes[section] + 256 * bytes[section + 1];

	bytes[second + 11] = 0x7f;
	write_bytes("damaged.so", bytes, size);
	read_object("damaged.so");
	assert_int_equal(debug.units, 1);
	assert_int_equal(debug.unreadable_units, 1);
	assert_int_equal(count_types("struct good"), 1);
	assert_int_equal(count_types("struct bad"), 0);
	assert_non_null(variable("good"));
	assert_null(variable("bad"));
	heap_dwarf_info_deinit(&debug);

	// A length that leads beyond the section.
	bytes[second + 3] = 0x7f;
	write_bytes("damaged.so", bytes, size);
	read_object("damaged.so");
	assert_int_equal(debug.units, 1);
	assert_int_equal(debug.unreadable_units, 1);
	heap_dwarf_info_deinit(&debug);
	free(bytes);
}

// Whatever a byte becomes: types that are sound, or an error.
static void flipped_bytes_do_no_harm(void **state)
{
	(void)state;
	static const char *const sections[] = { "\\.debug_info", "\\.debug_abbrev",
						"\\.debug_line" };
	size_t size, length;

	compile_two_units();

	uint8_t *bytes = read_bytes("object.so", &size);

	for (int i = 0; i < 3; i++) {
		size_t start = find_section(sections[i], &length);

		for (size_t at = start; at < start + length; at++) {
			uint8_t was = bytes[at];

			bytes[at] ^= at % 3 ? 0xff : 1 << at % 8;
			write_bytes("damaged.so", bytes, size);
			bytes[at] = was;

			struct heap_error *error = try_read("damaged.so");

			if (!error) {
				assert_null(heap_types_check(&debug.types));
				heap_dwarf_info_deinit(&debug);
			}
			heap_error_destroy(error);
		}
	}
	free(bytes);
}

// --- the cache -----------------------------------------------------------------------------

static const char build_id[] = "00deadbeef";
static char cache[128];

static struct heap_dwarf_info stored;
static const struct heap_dwarf_source source = { 1000, 2000, 3 };

static int store(void **state)
{
	if (compile_begin(state) != 0)
		return -1;
	snprintf(cache, sizeof(cache), "%s/a/b", compile_directory);
	compile_two_units();
	read_object("object.so");
	stored = debug;
	assert_null(heap_dwarf_info_store(cache, build_id, &source, &stored));
	return 0;
}

static int unstore(void **state)
{
	heap_dwarf_info_deinit(&stored);
	return compile_end(state);
}

static void assert_same_types(const struct heap_types *left, const struct heap_types *right)
{
	assert_int_equal(left->count, right->count);
	for (uint32_t i = 0; i < left->count; i++) {
		const struct heap_type *a = &left->types[i], *b = &right->types[i];

		assert_true(a->kind == b->kind && a->flags == b->flags && a->name == b->name &&
			    a->size == b->size && a->target == b->target && a->count == b->count);
		assert_true(a->first_member == b->first_member && a->members == b->members &&
			    a->file == b->file && a->line == b->line);
	}
	assert_int_equal(left->member_count, right->member_count);
	for (uint32_t i = 0; i < left->member_count; i++) {
		const struct heap_member *a = &left->members[i], *b = &right->members[i];

		assert_true(a->name == b->name && a->type == b->type && a->offset == b->offset &&
			    a->flags == b->flags && a->bit_offset == b->bit_offset &&
			    a->bit_size == b->bit_size);
	}
	assert_int_equal(left->enumerator_count, right->enumerator_count);
	assert_int_equal(left->string_size, right->string_size);
	assert_memory_equal(left->strings, right->strings, left->string_size);
}

static void what_is_stored_is_loaded(void **state)
{
	(void)state;
	assert_null(heap_dwarf_info_load(cache, build_id, &source, &debug));
	assert_same_types(&debug.types, &stored.types);
	assert_int_equal(debug.variable_count, stored.variable_count);
	for (uint32_t i = 0; i < debug.variable_count; i++) {
		const struct heap_dwarf_variable *a = &debug.variables[i],
						 *b = &stored.variables[i];

		assert_true(a->name == b->name && a->type == b->type && a->address == b->address);
		assert_true(a->file == b->file && a->line == b->line && a->flags == b->flags);
	}
	assert_int_equal(debug.units, stored.units);
	assert_int_equal(debug.dies, stored.dies);

	// It can be added to, as one that was read.
	heap_type_id map[256];
	uint32_t count = debug.types.count;

	assert_null(heap_types_merge(&debug.types, &stored.types, map));
	assert_int_equal(debug.types.count, count);
	heap_dwarf_info_deinit(&debug);
}

static void nobody_else_can_read_it(void **state)
{
	(void)state;
	struct stat status;
	char path[192];

	snprintf(path, sizeof(path), "%s/%s-%d", cache, build_id, HEAP_DWARF_INFO_VERSION);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(stat(cache, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	// No temporary file is left.
	assert_true(compile_run("test $(ls -A a/b | wc -l) = 1"));
}

static void what_is_not_there_is_absent(void **state)
{
	(void)state;
	assert_error(heap_dwarf_info_load(cache, "00", &source, &debug), HEAP_ERROR_ABSENT,
		     "not in the cache");
	assert_error(heap_dwarf_info_load("/nonexistent", "00", &source, &debug), HEAP_ERROR_ABSENT,
		     "00");
	assert_error(heap_dwarf_info_load(cache, "", &source, &debug), HEAP_ERROR_ARGUMENT,
		     "not a build id");
	assert_error(heap_dwarf_info_load(cache, "../b/00", &source, &debug), HEAP_ERROR_ARGUMENT,
		     "../b");
	assert_error(heap_dwarf_info_store(cache, "ABC", &source, &stored), HEAP_ERROR_ARGUMENT,
		     "ABC");
	assert_error(heap_dwarf_info_store("/proc/none", "00", &source, &stored), HEAP_ERROR_SYSTEM,
		     "/proc");
}

static void another_builds_cache_is_refused(void **state)
{
	(void)state;
	assert_true(compile_run("cp a/b/%s-%d a/b/1234-%d", build_id, HEAP_DWARF_INFO_VERSION,
				HEAP_DWARF_INFO_VERSION));
	assert_error(heap_dwarf_info_load(cache, "1234", &source, &debug), HEAP_ERROR_FORMAT,
		     "it is of another build");
}

// A build id is what a file says of itself; another user's may say anything.
static void another_files_cache_is_refused(void **state)
{
	const struct heap_dwarf_source others[] = { { 1001, 2000, 3 },
						    { 1000, 2001, 3 },
						    { 1000, 2000, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_error(heap_dwarf_info_load(cache, build_id, &others[i], &debug),
			     HEAP_ERROR_FORMAT, "it is of another file");
}

static void damaged_caches_are_refused(void **state)
{
	(void)state;
	size_t size;
	char name[64];

	snprintf(name, sizeof(name), "a/b/%s-%d", build_id, HEAP_DWARF_INFO_VERSION);

	uint8_t *bytes = read_bytes(name, &size);

	for (size_t i = 0; i < size; i++) {
		// A copy of just that size, for a sanitizer to see a read beyond it.
		uint8_t *copy = malloc(i ? i : 1);

		memcpy(copy, bytes, i);
		assert_error(heap_dwarf_info_load_memory(copy, i, build_id, &debug),
			     HEAP_ERROR_FORMAT, "");
		free(copy);
	}
	for (size_t i = 0; i < size * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;

		struct heap_error *error =
			heap_dwarf_info_load_memory(bytes, size, build_id, &debug);

		// Bytes that no checksum covers are not read either.
		if (error)
			assert_int_equal(heap_error_code(error), HEAP_ERROR_FORMAT);
		else
			heap_dwarf_info_deinit(&debug);
		heap_error_destroy(error);
		bytes[i / 8] ^= 1 << i % 8;
	}
	free(bytes);
}

// Stores a table without checking it, so that a test can break it first.
static void assert_refused(const char *why)
{
	assert_null(heap_dwarf_info_store(cache, "bad", &source, &stored));
	assert_error(heap_dwarf_info_load(cache, "bad", &source, &debug), HEAP_ERROR_FORMAT, why);
}

static void broken_tables_are_refused(void **state)
{
	(void)state;
	struct heap_dwarf_variable *first = &stored.variables[0];

	assert_int_equal(stored.variable_count, 2);
	first->name += 100000;
	assert_refused("a variable is out of range");
	first->name -= 100000;
	first->type = stored.types.count;
	assert_refused("a variable is out of range");
	first->type = 0;
	first->flags = 4;
	assert_refused("a variable is out of range");
	first->flags = HEAP_DWARF_VARIABLE_THREAD_LOCAL;
	assert_refused("variables are out of order");
	first->flags = 0;
	first->address += 4096;
	assert_refused("variables are out of order");
	first->address -= 4096;

	stored.types.types[1].target = stored.types.count;
	assert_refused("type 1 refers to no type");
	stored.types.types[1].target = 0;
	stored.types.strings[stored.types.string_size - 1] = 'x';
	assert_refused("strings do not end");
}

static void the_cache_is_in_the_users_directory(void **state)
{
	(void)state;
	char *directory;

	setenv("XDG_CACHE_HOME", "/tmp/x", 1);
	directory = heap_cache_directory();
	assert_string_equal(directory, "/tmp/x/heapsh");
	free(directory);
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/home/u", 1);
	directory = heap_cache_directory();
	assert_string_equal(directory, "/home/u/.cache/heapsh");
	free(directory);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_null(heap_cache_directory());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, compile_begin, compile_end)
#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, store, unstore)

UNIT_TESTS("debug", TEST(units_are_joined), TEST(variables_of_c_are_found),
	   TEST(variables_of_cxx_are_qualified), TEST(what_the_linker_threw_away_is_no_variable),
	   TEST(files_without_debug_information), TEST(damage_costs_the_unit_it_is_in),
	   TEST(flipped_bytes_do_no_harm), CACHE_TEST(what_is_stored_is_loaded),
	   CACHE_TEST(nobody_else_can_read_it), CACHE_TEST(what_is_not_there_is_absent),
	   CACHE_TEST(another_builds_cache_is_refused), CACHE_TEST(another_files_cache_is_refused),
	   CACHE_TEST(damaged_caches_are_refused), CACHE_TEST(broken_tables_are_refused),
	   TEST(the_cache_is_in_the_users_directory))
