// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/modules/modules.h"

#include "dumper/writer/scan/modules/debuginfod.h"

#include "dumper/writer/scan/image/core_file.h"

#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_line_cache.h"
#include "lib/dwarf/dwarf_lines.h"
#include "lib/dwarf/dwarf_types_reader.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char DEBUG_DIRECTORY[] = "/usr/lib/debug";

__attribute__((format(printf, 2, 3))) static void add_note(struct module *module,
							   const char *format, ...)
{
	va_list arguments;
	char *text, *both = NULL;

	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (module->note && asprintf(&both, "%s; %s", module->note, text) >= 0) {
		free(module->note);
		free(text);
		module->note = both;
	} else if (!module->note) {
		module->note = text;
	} else {
		free(text);
	}
}

void module_note_error(struct module *module, struct heap_error *error)
{
	add_note(module, "%s", heap_error_message(error));
	heap_error_destroy(error);
}

// Calls @p visit with each program header of what is in memory: they were mapped along. Its
// addresses are relative to that of the first segment.
static void visit_segments(const struct image *image, uint64_t start,
			   void (*visit)(void *context, const Elf64_Phdr *segment), void *context)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	uint64_t first = UINT64_MAX;

	if (!image_read(image, start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(segment) ||
	    header.e_phoff > 65536)
		return;
	for (int i = 0; i < header.e_phnum && first == UINT64_MAX; i++) {
		if (!image_read(image, start + header.e_phoff + i * sizeof(segment), &segment,
				sizeof(segment)))
			return;
		if (segment.p_type == PT_LOAD)
			first = segment.p_vaddr & ~UINT64_C(4095);
	}
	for (int i = 0; i < header.e_phnum; i++) {
		if (!image_read(image, start + header.e_phoff + i * sizeof(segment), &segment,
				sizeof(segment)))
			return;
		segment.p_vaddr -= first;
		visit(context, &segment);
	}
}

struct notes {
	const struct image *image;
	uint64_t start;
	struct heap_build_id *build_id;
};

static void read_notes(void *context, const Elf64_Phdr *segment)
{
	const struct notes *notes = context;
	uint8_t bytes[4096];

	if (segment->p_type != PT_NOTE || segment->p_filesz > sizeof(bytes) ||
	    notes->build_id->size)
		return;
	if (image_read(notes->image, notes->start + segment->p_vaddr, bytes, segment->p_filesz))
		heap_build_id_parse(bytes, segment->p_filesz, (uint32_t)segment->p_align,
				    notes->build_id);
}

// The build id of what is in memory.
static void read_build_id(const struct image *image, uint64_t start, struct heap_build_id *result)
{
	struct notes notes = { image, start, result };

	visit_segments(image, start, read_notes, &notes);
}

static void extend(void *context, const Elf64_Phdr *segment)
{
	uint64_t *size = context, end = segment->p_vaddr + segment->p_memsz;

	if (segment->p_type == PT_LOAD && end >= segment->p_memsz && end > *size)
		*size = end;
}

static bool same_build_id(const struct heap_build_id *a, const struct heap_build_id *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool is_of_build(const char *path, const struct heap_build_id *id)
{
	struct heap_elf_file *file;
	struct heap_error *error = id->size > 0 ? heap_elf_open(path, &file) : NULL;
	bool is_same;

	if (error || id->size == 0) {
		heap_error_destroy(error);
		return false;
	}
	is_same = same_build_id(&file->build_id, id);
	heap_elf_close(file);
	return is_same;
}

// The file that was given for the module; NULL: none was.
static const char *find_given(const struct module *module, const struct image *image)
{
	for (char *const *file = image->debug_files; file && *file; file++) {
		if (is_of_build(*file, &module->build_id))
			return *file;
	}
	return NULL;
}

// Where the module's file is. @return malloc'd; NULL: no memory
static char *find_path(const struct module *module, const struct image *image)
{
	const char *given = find_given(module, image);
	bool is_program = image->core && image->core->entry >= module->start &&
			  image->core->entry < module->end;
	char *path;

	if (given)
		return strdup(given);
	if (is_program && image->executable)
		return strdup(image->executable);
	if (asprintf(&path, "%s%s", image->root, module->path) < 0)
		return NULL;
	// In a mere chroot(2), the kernel gives names as we see them.
	if (image->core || access(path, F_OK) == 0)
		return path;
	free(path);
	return strdup(module->path);
}

// Opens a file that must be that of the module.
HEAP_MUST_CHECK
static struct heap_error *open_build(struct module *module, const struct image *image,
				     const char *path)
{
	HEAP_TRY(heap_elf_open(path, &module->elf));
	if (module->build_id.size == 0 || same_build_id(&module->build_id, &module->elf->build_id))
		return NULL;
	heap_elf_close(module->elf);
	module->elf = NULL;
	return heap_error_create(
		HEAP_ERROR_ABSENT, "the file %s is not the one that was loaded",
		image->executable && strcmp(path, image->executable) == 0 ? "of --exe" : "on disk");
}

// Opens a file by its path. One that has been deleted has none, and another may have that which it had.
HEAP_MUST_CHECK
static struct heap_error *open_named(struct module *module, const struct image *image)
{
	CLEANUP_FREE char *path = find_path(module, image);

	if (!path)
		return heap_error_out_of_memory();
	if (!image->core && strstr(path, " (deleted)"))
		return heap_error_create(HEAP_ERROR_ABSENT, "the file has been deleted%s",
					 geteuid() == 0 ? "" : "; root can still read it");
	return open_build(module, image, path);
}

static bool is_executable_of(const struct module *module, const char *link)
{
	char target[4096];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	target[length < 0 ? 0 : length] = '\0';
	return strcmp(target, module->path) == 0;
}

// Opens a file by the links that the kernel has to it, whatever has become of its name: after an upgrade of a library,
// or where the process has a mount that can no longer be reached. All but that to the executable are for root alone.
HEAP_MUST_CHECK
static struct heap_error *open_linked(struct module *module, const struct image *image)
{
	const struct image_mapping *mapping = image_find(image, module->start);
	char link[80];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)image->pid);
	if (is_executable_of(module, link))
		return open_build(module, image, link);
	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)image->pid,
		 module->start, mapping ? mapping->end : 0);
	return open_build(module, image, link);
}

// Opens the module's file, or says why not.
HEAP_MUST_CHECK
static struct heap_error *open_file(struct module *module, const struct image *image)
{
	struct heap_error *error = open_named(module, image);

	if (error && !image->core && heap_error_code(error) != HEAP_ERROR_MEMORY) {
		struct heap_error *other = open_linked(module, image);

		// Only the fault of the name itself helps the reader.
		heap_error_destroy(other ? other : error);
		error = other ? error : NULL;
	}
	if (!error)
		module->bias =
			module->elf->is_executable ? 0 : module->start - module->elf->first_address;
	return error;
}

static void add_packed_symbols(struct module *module)
{
	struct heap_error *error =
		module->elf->has_packed_symbols ? heap_elf_add_packed_symbols(module->elf) : NULL;

	if (error)
		module_note_error(module, error);
}

// Takes the symbols of the separate debug file; forgets that if it has nothing else.
HEAP_MUST_CHECK
static struct heap_error *add_separate(struct module *module)
{
	struct heap_elf_file *separate;
	struct heap_error *error = heap_elf_open(module->debug_path, &separate);

	if (error)
		return error;

	bool is_of_it = separate->build_id.size == 0 ||
			same_build_id(&separate->build_id, &module->elf->build_id);

	if (is_of_it)
		error = heap_elf_add_symbols(module->elf, separate);
	if (!is_of_it || !separate->has_debug_info) {
		add_note(module, "%s %s", module->debug_path,
			 is_of_it ? "has symbols only" : "is of another build");
		free(module->debug_path);
		module->debug_path = NULL;
	}
	heap_elf_close(separate);
	return error;
}

// Finds the separate debug file, where it is installed here, or in the process's own root.
HEAP_MUST_CHECK
static struct heap_error *find_installed(const struct module *module, const struct image *image,
					 char **result)
{
	CLEANUP_FREE char *directory = NULL;

	HEAP_TRY(heap_elf_find_debug_file(module->elf, DEBUG_DIRECTORY, result));
	if (*result || !*image->root)
		return NULL;
	if (asprintf(&directory, "%s%s", image->root, DEBUG_DIRECTORY) < 0) {
		directory = NULL;
		return heap_error_out_of_memory();
	}
	return heap_elf_find_debug_file(module->elf, directory, result);
}

// Where the debug information is: in the file itself, or in a file of its own.
HEAP_MUST_CHECK
static struct heap_error *find_debug_path(struct module *module, const struct image *image)
{
	if (module->elf->has_debug_info) {
		module->debug_path = strdup(module->elf->path);
		return module->debug_path ? NULL : heap_error_out_of_memory();
	}
	const char *why = NULL;

	HEAP_TRY(find_installed(module, image, &module->debug_path));
	if (!module->debug_path)
		HEAP_TRY(debuginfod_fetch(&module->elf->build_id, &module->debug_path, &why));
	if (module->debug_path)
		return add_separate(module);
	add_note(module, "no debug information%s%s", why ? ": " : "", why ? why : "");
	add_packed_symbols(module);
	return NULL;
}

// Reads types and variables, from the cache if it has them.
HEAP_MUST_CHECK
static struct heap_error *read_debug(struct module *module, const char *cache)
{
	char id[2 * HEAP_BUILD_ID_MAX + 1];
	struct heap_dwarf_source source;
	bool cached = cache && module->elf->build_id.size > 0 &&
		      heap_dwarf_file_source(module->dwarf, &source);
	struct heap_error *error;

	heap_build_id_format(&module->elf->build_id, id, sizeof(id));
	if (cached) {
		error = heap_dwarf_info_load(cache, id, &source, &module->debug);
		if (!error)
			return NULL;
		heap_error_destroy(error);
	}
	error = heap_dwarf_info_read(module->dwarf, &module->debug);
	if (error)
		return error;
	// A cache that cannot be written costs time, nothing else. What is missing may be there
	// the next time.
	if (cached && !module->debug.incomplete)
		heap_error_destroy(heap_dwarf_info_store(cache, id, &source, &module->debug));
	return NULL;
}

// Without memory for it, all is looked up in the file.
static void open_answers(struct module *module, const char *cache)
{
	char id[2 * HEAP_BUILD_ID_MAX + 1];
	struct heap_dwarf_source source;

	if (!cache || module->elf->build_id.size == 0 ||
	    !heap_dwarf_file_source(module->dwarf, &source))
		return;
	heap_build_id_format(&module->elf->build_id, id, sizeof(id));
	heap_error_destroy(heap_dwarf_answers_create(cache, id, &source, module->debug.types.count,
						     &module->answers));
}

static void note_debug(struct module *module)
{
	const struct heap_dwarf_info *debug = &module->debug;

	if (debug->unreadable_units > 0)
		add_note(module, "%llu of %llu compilation units are damaged",
			 (unsigned long long)debug->unreadable_units,
			 (unsigned long long)(debug->units + debug->unreadable_units));
	if (debug->missing)
		add_note(module, "%s", debug->missing);
	else if (debug->types.count <= 1 && debug->units)
		add_note(module, "lines only (no types)");
}

HEAP_MUST_CHECK
static struct heap_error *open_debug(struct module *module, const struct image *image,
				     const char *cache, struct heap_types *types)
{
	struct heap_error *error = find_debug_path(module, image);

	if (error || !module->debug_path)
		return error;
	error = heap_dwarf_open(module->debug_path, &module->dwarf);
	if (error)
		return error;
	module->dwarf->program = module->elf->path;
	error = read_debug(module, cache);
	if (error)
		return error;
	module->has_debug = true;
	open_answers(module, cache);
	note_debug(module);
	module->type_map = calloc(module->debug.types.count, sizeof(*module->type_map));
	if (!module->type_map)
		return heap_error_out_of_memory();
	return heap_types_merge(types, &module->debug.types, module->type_map);
}

static void open_module(struct module *module, const struct image *image, const char *cache,
			struct heap_types *types)
{
	const char *reason = isolation_reason(module->start);
	struct heap_error *error;

	if (reason) {
		add_note(module, "%s", reason);
		return;
	}
	isolation_suspect(module->start);
	if (module->build_id.size == 0)
		read_build_id(image, module->start, &module->build_id);
	error = open_file(module, image);
	if (!error)
		error = open_debug(module, image, cache, types);
	if (error)
		module_note_error(module, error);
}

// A file is a module if some of it is executable and it begins with an ELF header.
static bool is_module(const struct image *image, size_t first, size_t end)
{
	char magic[SELFMAG];
	bool executable = false;

	for (size_t i = first; i < end; i++)
		executable |= (image->mappings[i].protection & PROT_EXEC) != 0;
	return executable && image_read(image, image->mappings[first].start, magic, SELFMAG) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

// --- the kernel's object ----------------------------------------------------------------------

// Where it lies: on aarch64, in a gap between the segments of the dynamic linker.
static void find_vdso(struct modules *modules)
{
	for (size_t i = 0; i < modules->image->mapping_count; i++) {
		const struct image_mapping *mapping = &modules->image->mappings[i];

		if (strcmp(mapping->name, "[vdso]") == 0) {
			modules->vdso.path = mapping->name;
			modules->vdso.start = mapping->start;
			modules->vdso.end = mapping->end;
		}
	}
}

static bool is_in_vdso(const struct modules *modules, uint64_t address)
{
	return address >= modules->vdso.start && address < modules->vdso.end;
}

// Opens a copy of it: it is in no file. Without one, its code has no names.
static void open_vdso(struct module *vdso, const struct image *image)
{
	CLEANUP_CLOSE int descriptor = memfd_create("vdso", MFD_CLOEXEC);
	uint8_t page[4096];
	char path[64];

	for (uint64_t at = vdso->start; at < vdso->end; at += sizeof(page)) {
		if (!image_read(image, at, page, sizeof(page)) ||
		    write(descriptor, page, sizeof(page)) != sizeof(page))
			return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	heap_error_destroy(heap_elf_open(path, &vdso->elf));
	if (!vdso->elf)
		return;
	vdso->bias = vdso->start - vdso->elf->first_address;
	// The copy's path holds no longer than its descriptor.
	module_unwinder(vdso);
}

struct module *modules_find_code(struct modules *modules, uint64_t pc)
{
	if (!is_in_vdso(modules, pc))
		return modules_find(modules, pc);
	if (!modules->vdso_tried) {
		modules->vdso_tried = true;
		open_vdso(&modules->vdso, modules->image);
	}
	return modules->vdso.elf ? &modules->vdso : NULL;
}

uint32_t modules_index(const struct modules *modules, const struct module *module)
{
	return module && module != &modules->vdso ? (uint32_t)(module - modules->modules)
						  : HEAP_NO_INDEX;
}

static int compare_paths(const void *left, const void *right)
{
	const struct module *a = *(struct module *const *)left;
	const struct module *b = *(struct module *const *)right;
	int order = strcmp(a->path, b->path);

	if (order != 0)
		return order;
	return a->start < b->start ? -1 : a->start > b->start;
}

// Opens all modules: the program, then its libraries in the order of their names. That of their addresses, which
// the kernel chooses at random, would give the types other numbers in each run, and numbers break ties.
//
// @param needs_id  a file without a build id may be another one than the module's
HEAP_MUST_CHECK
static struct heap_error *open_all(struct modules *modules, const char *cache,
				   struct heap_types *types, bool needs_id)
{
	CLEANUP_FREE struct module **order = malloc((modules->count + 1) * sizeof(struct module *));

	if (!order)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < modules->count; i++)
		order[i] = &modules->modules[i];
	if (modules->count > 2)
		qsort(order + 1, modules->count - 1, sizeof(struct module *), compare_paths);
	for (size_t i = 0; i < modules->count; i++) {
		if (needs_id && order[i]->build_id.size == 0)
			add_note(order[i], "no build id");
		else
			open_module(order[i], modules->image, cache, types);
		progress_set_done(i + 1);
		progress_flush();
	}
	return NULL;
}

struct heap_error *modules_init(struct modules *modules, const struct image *image,
				const char *cache, struct heap_types *types)
{
	*modules = (struct modules){ .image = image };
	modules->modules = calloc(image->mapping_count + 1, sizeof(*modules->modules));
	if (!modules->modules)
		return heap_error_out_of_memory();

	find_vdso(modules);
	for (size_t i = 0; i < image->mapping_count;) {
		const struct image_mapping *first = &image->mappings[i];
		uint64_t size = 0;
		size_t end = i + 1;

		// The mappings of a module stand together but for its .bss, which is anonymous.
		// Small segments may all be of the file's first page.
		visit_segments(image, first->start, extend, &size);
		while (end < image->mapping_count && first->kind == IMAGE_FILE &&
		       strcmp(image->mappings[end].name, first->name) == 0 &&
		       (image->mappings[end].offset > 0 ||
			image->mappings[end].start - first->start < size))
			end++;
		if (first->kind == IMAGE_FILE && first->offset == 0 && is_module(image, i, end)) {
			struct module *module = &modules->modules[modules->count++];

			module->path = first->name;
			module->start = first->start;
			module->end = image->mappings[end - 1].end;
		}
		i = end;
	}
	HEAP_TRY(open_all(modules, cache, types, false));
	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->modules[i];

		if (module->elf && module->elf->data_end + module->bias > module->end)
			module->end = module->elf->data_end + module->bias;
	}
	return NULL;
}

struct heap_error *modules_init_snapshot(struct modules *modules, const struct image *image,
					 const char *cache, struct heap_types *types,
					 const struct heap_snapshot *snapshot)
{
	*modules = (struct modules){ .image = image };
	modules->modules = calloc((size_t)snapshot->module_count + 1, sizeof(*modules->modules));
	if (!modules->modules)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const struct heap_module *from = &snapshot->modules[i];
		struct module *module = &modules->modules[modules->count++];

		module->path = snapshot->strings + from->path;
		module->start = from->start;
		module->end = from->end;
		module->bias = from->bias;
		heap_build_id_read(snapshot->strings + from->build_id, &module->build_id);
	}
	return open_all(modules, cache, types, true);
}

void modules_store_answers(const struct modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct heap_dwarf_answers *answers = modules->modules[i].answers;

		if (answers)
			heap_error_destroy(heap_dwarf_answers_store(answers));
	}
}

void modules_deinit(struct modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = &modules->modules[i];

		heap_dwarf_unwinder_destroy(module->unwinder);
		heap_dwarf_line_finder_destroy(module->lines);
		heap_dwarf_answers_destroy(module->answers);
		if (module->has_debug)
			heap_dwarf_info_deinit(&module->debug);
		heap_dwarf_close(module->dwarf);
		heap_elf_close(module->elf);
		free(module->type_map);
		free(module->debug_path);
		free(module->note);
	}
	heap_dwarf_unwinder_destroy(modules->vdso.unwinder);
	heap_elf_close(modules->vdso.elf);
	free(modules->vdso.note);
	free(modules->modules);
}

struct module *modules_find(const struct modules *modules, uint64_t address)
{
	size_t at = heap_partition_point(i, 0, modules->count, modules->modules[i].end <= address);

	if (at == modules->count || modules->modules[at].start > address ||
	    is_in_vdso(modules, address))
		return NULL;
	return &modules->modules[at];
}

// Made for the first address in the module: with the types from the cache, the others' debug
// information need not even be decompressed.
static struct heap_dwarf_line_finder *get_lines(struct module *module)
{
	struct heap_error *error = NULL;

	if (module->has_debug && !module->lines_tried)
		error = heap_dwarf_line_finder_create(module->dwarf, &module->lines);
	module->lines_tried = true;
	if (error)
		module_note_error(module, error);
	return module->lines;
}

// Finds lines in the cache, or in the file. @return false if there are none
static bool find_lines(struct module *module, uint64_t pc, struct heap_dwarf_lines *result)
{
	struct heap_dwarf_line_finder *finder;
	struct heap_error *error;

	if (heap_dwarf_line_cache_find(module->answers, pc, result))
		return true;
	finder = get_lines(module);
	if (!finder)
		return false;
	error = heap_dwarf_line_finder_find(finder, pc, result);
	if (error) {
		heap_error_destroy(error);
		return false;
	}
	heap_dwarf_line_cache_add(module->answers, pc, result);
	return true;
}

static size_t describe_by_lines(struct module *module, uint64_t lookup, struct strings *strings,
				struct code_place *places, size_t max)
{
	struct heap_dwarf_lines lines;
	size_t count = 0;

	if (!find_lines(module, lookup - module->bias, &lines))
		return 0;
	for (; count < lines.count && count < max; count++) {
		places[count] = (struct code_place){
			.function = strings_add(strings, lines.lines[count].function),
			.file = strings_add(strings, lines.lines[count].file),
			.line = lines.lines[count].line,
			.is_wrapper = lines.lines[count].is_wrapper,
		};
	}
	heap_dwarf_lines_deinit(&lines);
	return count;
}

size_t module_describe(struct module *module, uint64_t address, uint64_t lookup,
		       struct strings *strings, struct code_place *places, size_t max)
{
	const struct heap_symbol *symbol = NULL;
	size_t count;

	isolation_suspect(module->start);
	count = describe_by_lines(module, lookup, strings, places, max);

	if (module->elf)
		symbol = heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
					      lookup - module->bias);
	if (count == 0) {
		places[0] = (struct code_place){ 0 };
		count = 1;
	}
	if (symbol) {
		// The symbol is of the function that was compiled, the outermost of the places.
		struct code_place *place = &places[count - 1];

		place->offset = address - module->bias - symbol->address;
		if (!place->function) {
			CLEANUP_FREE char *name = heap_demangle(symbol->name);

			place->function = strings_add(strings, name);
		}
	} else {
		places[count - 1].offset = address - module->start;
	}
	return count;
}

// Finds the layout of a frame, in the cache or in the file.
HEAP_MUST_CHECK
static struct heap_error *find_layout(struct module *module,
				      const struct heap_dwarf_locals_frame *frame,
				      struct heap_dwarf_layout *result)
{
	struct heap_dwarf_layout_place place = heap_dwarf_locals_place(frame);
	uint64_t caller = place.return_pc + module->bias;

	// In other modules, it differs between runs.
	if (caller < module->start || caller >= module->end)
		place.return_pc = 0;
	if (heap_dwarf_layout_recall(module->answers, &place, result))
		return NULL;
	HEAP_TRY(heap_dwarf_layout_find(module->dwarf, &place, result));
	heap_dwarf_layout_note(module->answers, &place, result);
	return NULL;
}

void module_locals(struct module *module, const struct heap_dwarf_locals_frame *frame,
		   struct heap_dwarf_locals *result)
{
	CLEANUP(heap_dwarf_layout_deinit) struct heap_dwarf_layout layout = { 0 };
	struct heap_error *error;

	*result = (struct heap_dwarf_locals){ 0 };
	isolation_suspect(module->start);
	error = find_layout(module, frame, &layout);
	if (!error)
		error = heap_dwarf_locals_evaluate(&layout, frame, result);
	heap_error_destroy(error);
}

uint64_t module_next_call(struct module *module, uint64_t return_pc)
{
	const struct heap_dwarf_question question = { HEAP_DWARF_QUESTION_NEXT_CALL, return_pc, 0 };
	struct heap_dwarf_answer_writer writer = { .answers = module->answers };
	struct heap_dwarf_answer answer;
	struct heap_dwarf_code *code;
	struct heap_error *error;
	uint64_t result = 0;

	isolation_suspect(module->start);
	if (heap_dwarf_answers_find(module->answers, &question, &answer))
		return heap_dwarf_answer_next(&answer);
	error = heap_dwarf_file_code(module->dwarf, &code);
	if (!error)
		error = heap_dwarf_code_next_call(code, return_pc, &result);
	if (!error && heap_dwarf_code_is_complete(code)) {
		heap_dwarf_answer_put(&writer, result);
		heap_dwarf_answer_add(&writer, &question);
	}
	heap_error_destroy(error); // damage costs the answer only
	return result;
}

struct heap_dwarf_unwinder *module_unwinder(struct module *module)
{
	isolation_suspect(module->start);
	if (!module->unwinder_tried && module->elf) {
		struct heap_error *error = heap_dwarf_unwinder_create(
			module->elf->path, module->debug_path, &module->unwinder);

		module->unwinder_tried = true;
		if (error)
			module_note_error(module, error);
	}
	return module->unwinder;
}
