// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names the functions and lines of a trace's calls.
 */
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/base/path.h"
#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/elf_file.h"
#include "lib/dwarf/dwarf_lines.h"
#include "lib/trace/trace_parts.h"

#include <string.h>

static const char debug_directory[] = "/usr/lib/debug";

void heap_trace_module_deinit(struct heap_trace_module *module)
{
	heap_dwarf_line_finder_destroy(module->lines);
	heap_dwarf_close(module->dwarf);
	heap_elf_close(module->elf);
	free(module->path);
}

// Ignores an error: without debug information, a call is still shown by its address.
static void forgive(struct heap_error *error)
{
	heap_error_destroy(error);
}

static void add_debug_file(struct heap_trace_module *module, const char *path)
{
	struct heap_elf_file *file = NULL;

	forgive(heap_elf_open(path, &file));
	if (!file)
		return;
	forgive(heap_elf_add_symbols(module->elf, file));
	heap_elf_close(file);
}

static void open_module(struct heap_trace_module *module)
{
	CLEANUP_FREE char *debug = NULL;

	if (module->tried)
		return;
	module->tried = true;
	forgive(heap_elf_open(module->path, &module->elf));
	if (!module->elf)
		return;
	module->bias = module->elf->is_executable ? 0 : module->start - module->elf->first_address;
	if (!module->elf->has_debug_info)
		forgive(heap_elf_find_debug_file(module->elf, debug_directory, &debug));
	if (debug)
		add_debug_file(module, debug);
	if (debug || module->elf->has_debug_info)
		forgive(heap_dwarf_open(debug ? debug : module->path, &module->dwarf));
	if (module->dwarf)
		forgive(heap_dwarf_line_finder_create(module->dwarf, &module->lines));
}

// Copies the places, followed by their strings, into one block.
HEAP_MUST_CHECK
static struct heap_error *keep_places(struct heap_trace_step *step,
				      const struct heap_trace_place *places, size_t count)
{
	size_t bytes = count * sizeof(*places);
	char *strings;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(places[i].function) + strlen(places[i].file) + 2;
	step->places = malloc(bytes);
	if (!step->places)
		return heap_error_out_of_memory();
	memcpy(step->places, places, count * sizeof(*places));
	strings = (char *)(step->places + count);
	for (size_t i = 0; i < count; i++) {
		step->places[i].function = strcpy(strings, places[i].function);
		strings += strlen(strings) + 1;
		step->places[i].file = strcpy(strings, places[i].file);
		strings += strlen(strings) + 1;
	}
	step->place_count = count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_places(struct heap_trace_step *step,
				      struct heap_trace_module *module)
{
	uint64_t pc = step->address - 1 - module->bias;
	const struct heap_symbol *symbol =
		module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION, pc) : NULL;
	CLEANUP_FREE char *name = symbol ? heap_demangle(symbol->name) : NULL;
	CLEANUP_FREE struct heap_trace_place *places = NULL;
	CLEANUP(heap_dwarf_lines_deinit) struct heap_dwarf_lines lines = { 0 };
	size_t count;

	if (module->lines)
		forgive(heap_dwarf_line_finder_find(module->lines, pc, &lines));
	count = lines.count ? lines.count : 1;
	places = calloc(count, sizeof(*places));
	if (!places)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		bool known = i < lines.count;

		places[i] = (struct heap_trace_place){
			.function = known ? lines.lines[i].function : "",
			.file = known ? heap_base_name(lines.lines[i].file) : "",
			.line = known ? lines.lines[i].line : 0,
			.module = module->path,
			.address = step->address,
			.offset = step->address - module->start,
			.inlined = i + 1 < count,
			.is_wrapper = known && i + 1 < count && lines.lines[i].is_wrapper,
		};
	}
	if (symbol) {
		places[count - 1].offset = step->address - module->bias - symbol->address;
		if (!*places[count - 1].function && name)
			places[count - 1].function = name;
	}
	return keep_places(step, places, count);
}

struct heap_error *heap_trace_places(struct heap_trace *trace, uint32_t number,
				     const struct heap_trace_place **places, size_t *count)
{
	struct heap_trace_step *step = &trace->steps[number < trace->step_count ? number : 0];

	if (!step->places && step->module == UINT32_MAX) {
		HEAP_TRY(keep_places(step,
				     &(struct heap_trace_place){ .function = "",
								 .file = "",
								 .module = "",
								 .address = step->address,
								 .offset = step->address },
				     1));
	} else if (!step->places) {
		open_module(&trace->modules[step->module]);
		HEAP_TRY(find_places(step, &trace->modules[step->module]));
	}
	*places = step->places;
	*count = step->place_count;
	return NULL;
}
