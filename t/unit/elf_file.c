// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/elf_file.h"

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

static struct heap_elf_file *file;

static void open_file(const char *name)
{
	assert_null(heap_elf_open(compile_path(name), &file));
}

static void close_file(void)
{
	heap_elf_close(file);
	file = NULL;
}

static const char *symbol_name(enum heap_symbol_kind kind, uint64_t address)
{
	const struct heap_symbol *symbol = heap_elf_find_symbol(file, kind, address);

	return symbol ? symbol->name : "";
}

static const struct heap_symbol *named(const char *name)
{
	const struct heap_symbol *symbol = heap_elf_find_name(file, name);

	if (!symbol)
		fail_msg("no %s", name);
	return symbol;
}

// --- symbols ---------------------------------------------------------------------------------

static const char sample[] =
	"int table[10] = { 1 }; static int own[3] = { 2 }; __thread long mine[4];\n"
	"int *grown(void) { return own + table[0] + mine[1]; }\n"
	"int second(int x) { return x + *grown(); }\n"
	"extern int elsewhere; int third(void) { return elsewhere; }\n";

static void build(const char *name, const char *options)
{
	compile_write("sample.c", sample);
	assert_true(compile_run("gcc -g -O0 -fPIC -shared -Wl,--build-id=0x0123456789abcdef "
				"%s -o %s sample.c",
				options, name));
}

static void symbols_are_found_by_address(void **state)
{
	(void)state;
	build("symbols.so", "");
	open_file("symbols.so");

	const struct heap_symbol *grown = named("grown"), *table = named("table");

	assert_int_equal(grown->kind, HEAP_SYMBOL_FUNCTION);
	assert_true(grown->global);
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, grown->address), "grown");
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, grown->address + grown->size - 1),
			    "grown");
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, grown->address + grown->size),
			    "second");
	assert_int_equal(table->size, 40);
	assert_string_equal(symbol_name(HEAP_SYMBOL_OBJECT, table->address + 39), "table");
	assert_string_not_equal(symbol_name(HEAP_SYMBOL_OBJECT, table->address + 40), "table");
	// The last function has no size; it ends with its section.
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, named("_fini")->address), "_fini");
	assert_int_equal(named("_fini")->size, 0);
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, table->address), "");
	assert_int_equal(named("own")->size, 12);
	assert_false(named("own")->global);
	assert_int_equal(named("mine")->kind, HEAP_SYMBOL_THREAD_LOCAL);
	assert_int_equal(named("mine")->address, 0);
	assert_null(heap_elf_find_name(file, "nobody"));
	close_file();
}

static void functions_without_a_type(void **state)
{
	(void)state;
	compile_write("untyped.S", ".text\n.globl untyped\nuntyped: .space 64\nlabel: .space 64\n"
				   ".size untyped, . - untyped\n"
				   ".data\nvalue: .space 8\n.size value, 8\n"
				   ".section .note.GNU-stack,\"\"\n");
	assert_true(compile_run("gcc -shared -nostdlib -o untyped.so untyped.S"));
	open_file("untyped.so");
	assert_int_equal(named("untyped")->kind, HEAP_SYMBOL_FUNCTION);
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, named("untyped")->address + 100),
			    "untyped");
	assert_null(heap_elf_find_name(file, "label"));
	assert_null(heap_elf_find_name(file, "value"));
	close_file();
}

static void where_things_are(void **state)
{
	(void)state;
	build("places.so", "");
	open_file("places.so");
	assert_int_equal(file->tls_size, 32);
	assert_true(file->tls_alignment >= 8);
	assert_int_equal(file->first_address, 0);
	assert_false(file->is_executable);
	assert_true(file->has_debug_info);
	assert_true(file->has_eh_frame);
	assert_false(file->has_packed_symbols);
	assert_true(named("table")->address >= file->data_start);
	assert_true(named("table")->address + 40 <= file->data_end);
	assert_true(named("grown")->address < file->data_start);
	close_file();
	compile_write("main.c", "int main(void) { return 0; }\n");
	assert_true(compile_run("gcc -no-pie -s -o fixed main.c"));
	open_file("fixed");
	assert_true(file->is_executable);
	assert_true(file->first_address > 0);
	assert_false(file->has_debug_info);
	close_file();
}

static void symbols_of_a_stripped_file(void **state)
{
	(void)state;
	build("stripped.so", "-s");
	build("whole.so", "");
	open_file("stripped.so");
	assert_string_equal(symbol_name(HEAP_SYMBOL_FUNCTION, named("grown")->address), "grown");
	assert_null(heap_elf_find_name(file, "own"));
	assert_true(heap_elf_imports(file, "elsewhere"));
	assert_false(heap_elf_imports(file, "grown"));

	struct heap_elf_file *more;
	uint64_t address = named("grown")->address;

	assert_null(heap_elf_open(compile_path("whole.so"), &more));
	assert_null(heap_elf_add_symbols(file, more));
	heap_elf_close(more);
	// Names outlive the file that they came from; one symbol stays at each address.
	assert_int_equal(named("own")->size, 12);
	assert_int_equal(named("grown")->address, address);
	for (size_t i = 1; i < file->symbol_count; i++)
		assert_true(file->symbols[i - 1].kind < file->symbols[i].kind ||
			    file->symbols[i - 1].address < file->symbols[i].address);
	close_file();
}

// As Fedora's packages have them.
static void symbols_that_are_packed(void **state)
{
	(void)state;
	if (!compile_has("xz"))
		return;
	build("packed.so", "");
	assert_true(compile_run("cp packed.so m && strip -g m && xz -f m && strip packed.so && "
				"objcopy --add-section .gnu_debugdata=m.xz packed.so"));
	open_file("packed.so");
	assert_true(file->has_packed_symbols);
	assert_null(heap_elf_find_name(file, "own"));
	assert_null(heap_elf_add_packed_symbols(file));
	assert_int_equal(named("own")->size, 12);
	close_file();
	// Cut off in the middle.
	assert_true(compile_run("head -c 300 m.xz >cut && "
				"objcopy --update-section .gnu_debugdata=cut packed.so"));
	open_file("packed.so");
	assert_error(heap_elf_add_packed_symbols(file), HEAP_ERROR_FORMAT,
		     ".gnu_debugdata is damaged");
	close_file();
	// No ELF file.
	assert_true(compile_run("echo text | xz >text.xz && "
				"objcopy --update-section .gnu_debugdata=text.xz packed.so"));
	open_file("packed.so");
	assert_error(heap_elf_add_packed_symbols(file), HEAP_ERROR_FORMAT, "not an ELF file");
	close_file();
	build("whole.so", "");
	open_file("whole.so");
	assert_error(heap_elf_add_packed_symbols(file), HEAP_ERROR_ABSENT, "no .gnu_debugdata");
	close_file();
}

// --- build ids -------------------------------------------------------------------------------

static void build_ids_are_read(void **state)
{
	char text[2 * HEAP_BUILD_ID_MAX + 1];

	(void)state;
	build("id.so", "");
	open_file("id.so");
	heap_build_id_format(&file->build_id, text, sizeof(text));
	assert_string_equal(text, "0123456789abcdef");
	close_file();
	compile_write("main.c", "int main(void) { return 0; }\n");
	assert_true(compile_run("gcc -Wl,--build-id=none -o none main.c"));
	open_file("none");
	assert_int_equal(file->build_id.size, 0);
	heap_build_id_format(&file->build_id, text, sizeof(text));
	assert_string_equal(text, "");
	close_file();
}

// Notes: one of another kind, then the build id.
static size_t make_notes(uint8_t *notes)
{
	const Elf64_Nhdr other = { 4, 5, 9 }, id = { 4, 4, NT_GNU_BUILD_ID };
	size_t at = 0;

	memset(notes, 0, 64);
	memcpy(notes + at, &other, sizeof(other));
	memcpy(notes + at + 12, "GNU", 4);
	at += 12 + 4 + 8;
	memcpy(notes + at, &id, sizeof(id));
	memcpy(notes + at + 12, "GNU", 4);
	memcpy(notes + at + 16, "\x12\x34\x56\x78", 4);
	return at + 20;
}

static void notes_may_be_cut_off_anywhere(void **state)
{
	uint8_t notes[64];
	size_t size = make_notes(notes);

	(void)state;
	for (size_t length = 0; length <= size; length++) {
		struct heap_build_id id = { .size = 0 };
		uint8_t *copy = malloc(length ? length : 1);

		memcpy(copy, notes, length);
		heap_build_id_parse(copy, length, 4, &id);
		assert_int_equal(id.size, length == size ? 4 : 0);
		free(copy);
	}
	for (size_t bit = 0; bit < size * 8; bit++) {
		struct heap_build_id id = { .size = 0 };

		notes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		heap_build_id_parse(notes, size, 4, &id);
		assert_true(id.size <= HEAP_BUILD_ID_MAX);
		notes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

// --- separate debug files --------------------------------------------------------------------

static char *find_debug(void)
{
	char *result;

	assert_null(heap_elf_find_debug_file(file, compile_path("debug"), &result));
	return result;
}

static void check_debug(const char *name)
{
	char *found = find_debug();

	assert_non_null(found);
	assert_string_equal(found, compile_path(name));
	free(found);
}

static void debug_files_are_found_by_build_id(void **state)
{
	(void)state;
	build("by-id.so", "");
	assert_true(
		compile_run("objcopy --only-keep-debug by-id.so by-id.debug && strip by-id.so"));
	open_file("by-id.so");
	assert_null(find_debug());
	assert_true(compile_run("mkdir -p debug/.build-id/01 && "
				"mv by-id.debug debug/.build-id/01/23456789abcdef.debug"));
	check_debug("debug/.build-id/01/23456789abcdef.debug");
	close_file();
	assert_true(compile_run("rm -r debug"));
}

static void debug_files_that_were_fetched(void **state)
{
	(void)state;
	build("fetched.so", "-s");
	assert_true(compile_run("mkdir -p cache/debuginfod_client/0123456789abcdef && "
				"touch cache/debuginfod_client/0123456789abcdef/debuginfo"));
	assert_int_equal(setenv("XDG_CACHE_HOME", compile_path("cache"), 1), 0);
	open_file("fetched.so");
	check_debug("cache/debuginfod_client/0123456789abcdef/debuginfo");
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	assert_null(find_debug());
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	close_file();
}

static void debug_files_are_found_by_link(void **state)
{
	(void)state;
	build("by-link.so", "");
	assert_true(
		compile_run("objcopy --only-keep-debug by-link.so l.debug && strip by-link.so && "
			    "objcopy --add-gnu-debuglink=l.debug by-link.so && mkdir .debug"));
	open_file("by-link.so");
	check_debug("l.debug");
	assert_true(compile_run("mv l.debug .debug"));
	check_debug(".debug/l.debug");
	assert_true(compile_run("mkdir -p debug$PWD && mv .debug/l.debug debug$PWD"));

	char *found = find_debug();

	assert_non_null(found);
	assert_non_null(strstr(found, "/debug/tmp/"));
	// Another file of that name is not it.
	assert_int_equal(truncate(found, 100), 0);
	free(found);
	assert_null(find_debug());
	close_file();
}

// --- files that are not as they should be ----------------------------------------------------

static void what_is_no_file_of_ours(void **state)
{
	(void)state;
	compile_write("text", "This is no ELF file, but long enough to be one, if only it were.\n");
	compile_write("empty", "");
	assert_error(heap_elf_open(compile_path("text"), &file), HEAP_ERROR_FORMAT,
		     "text: not an ELF file");
	assert_error(heap_elf_open(compile_path("empty"), &file), HEAP_ERROR_FORMAT,
		     "empty: not an ELF file");
	assert_error(heap_elf_open(compile_path("missing"), &file), HEAP_ERROR_SYSTEM,
		     "No such file");
	assert_error(heap_elf_open("/", &file), HEAP_ERROR_FORMAT, "/: not a regular file");
	assert_int_equal(mkfifo(compile_path("pipe"), 0600), 0);
	assert_error(heap_elf_open(compile_path("pipe"), &file), HEAP_ERROR_FORMAT,
		     "not a regular file");
	build("other.so", "");
	// e_machine: of SPARC.
	assert_true(compile_run("printf '\\002' | dd of=other.so bs=1 seek=18 conv=notrunc "
				"status=none"));
	assert_error(heap_elf_open(compile_path("other.so"), &file), HEAP_ERROR_FORMAT,
		     "other.so: for another kind of machine");
}

static uint8_t *bytes;
static size_t size;

static void read_whole(const char *name)
{
	FILE *in = fopen(compile_path(name), "rb");
	struct stat status;

	assert_non_null(in);
	assert_int_equal(fstat(fileno(in), &status), 0);
	size = (size_t)status.st_size;
	bytes = malloc(size);
	assert_int_equal(fread(bytes, 1, size, in), size);
	fclose(in);
}

static void write_part(size_t length)
{
	FILE *out = fopen(compile_path("damaged.so"), "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, length, out), length);
	fclose(out);
}

// It may be refused; it must not do harm.
static void try_damaged(void)
{
	struct heap_error *error = heap_elf_open(compile_path("damaged.so"), &file);

	if (error) {
		heap_error_destroy(error);
		return;
	}
	for (size_t i = 0; i < file->symbol_count; i++)
		heap_elf_find_symbol(file, file->symbols[i].kind, file->symbols[i].address);
	heap_elf_find_section_at(file, file->data_start, &(uint64_t){ 0 });
	heap_elf_find_name(file, "nobody");
	free(find_debug());
	close_file();
}

static void damage_does_no_harm(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	build("sound.so", "-nostdlib -Wl,-z,noseparate-code");
	assert_true(
		compile_run("objcopy --only-keep-debug sound.so s.debug && strip -g sound.so && "
			    "objcopy --add-gnu-debuglink=s.debug sound.so"));
	read_whole("sound.so");
	for (size_t length = 0; length < size; length += 61) {
		write_part(length);
		try_damaged();
	}
	// The headers of the file, of segments and of sections, and some of the rest.
	for (size_t i = 0; i < 1500; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;

		size_t at = i < 500    ? random % 600
			    : i < 1000 ? size - 1 - random % (64 * 20)
				       : random % size;
		uint8_t before = bytes[at];

		bytes[at] = i % 2 ? 0xff : bytes[at] ^ (uint8_t)(1 << (random >> 40) % 8);
		write_part(size);
		try_damaged();
		bytes[at] = before;
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_are_found_by_address),
		cmocka_unit_test(functions_without_a_type),
		cmocka_unit_test(where_things_are),
		cmocka_unit_test(symbols_of_a_stripped_file),
		cmocka_unit_test(symbols_that_are_packed),
		cmocka_unit_test(build_ids_are_read),
		cmocka_unit_test(notes_may_be_cut_off_anywhere),
		cmocka_unit_test(debug_files_are_found_by_build_id),
		cmocka_unit_test(debug_files_that_were_fetched),
		cmocka_unit_test(debug_files_are_found_by_link),
		cmocka_unit_test(what_is_no_file_of_ours),
		cmocka_unit_test(damage_does_no_harm),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("ELF files", tests, compile_begin, compile_end);
}
