// SPDX-License-Identifier: GPL-3.0-or-later
// Lines, local variables, the types that sites may mean and the arguments of templates, of any ELF file.
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_function_arguments.h"
#include "lib/dwarf/dwarf_lines.h"
#include "lib/dwarf/dwarf_locals.h"
#include "lib/dwarf/dwarf_site_types.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/dwarf/dwarf_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool read_zeros(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	memset(buffer, 0, size);
	return address % 16 != 0;
}

static void look_up(struct heap_dwarf_file *file, struct heap_dwarf_line_finder *finder,
		    struct heap_dwarf_code *code, uint64_t pc)
{
	struct heap_dwarf_registers registers = { .known = UINT64_MAX >> 8 };
	struct heap_dwarf_locals_frame frame = {
		.pc = pc,
		.cfa = 0x7fff0000,
		.registers = &registers,
		.caller = &registers,
		.read = read_zeros,
	};
	struct heap_dwarf_lines lines = { 0 };
	struct heap_dwarf_locals locals = { 0 };
	struct heap_dwarf_site_types types = { 0 };
	struct heap_dwarf_function_arguments arguments = { 0 };

	heap_error_destroy(heap_dwarf_line_finder_find(finder, pc, &lines));
	heap_dwarf_lines_deinit(&lines);
	heap_error_destroy(heap_dwarf_locals_find(file, &frame, &locals));
	heap_dwarf_locals_deinit(&locals);
	heap_error_destroy(heap_dwarf_site_types_find(code, pc, &types));
	heap_dwarf_site_types_deinit(&types);
	heap_error_destroy(heap_dwarf_function_arguments_find(&arguments, code, pc));
	heap_dwarf_function_arguments_deinit(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char path[] = "fuzzed";
	struct heap_dwarf_file *file = calloc(1, sizeof(*file));
	struct heap_dwarf_line_finder *finder = NULL;
	struct heap_dwarf_code *code = NULL;

	*file = (struct heap_dwarf_file){ .path = strdup(path),
					  .descriptor = memfd_create(path, MFD_CLOEXEC) };
	if (file->descriptor < 0 || write(file->descriptor, bytes, size) != (ssize_t)size)
		abort();

	struct heap_error *error = heap_dwarf_line_finder_create(file, &finder);

	if (!error)
		error = heap_dwarf_file_code(file, &code);
	for (uint64_t pc = 0x1000; !error && pc < 0x1200; pc += 5)
		look_up(file, finder, code, pc);
	heap_error_destroy(error);
	heap_dwarf_line_finder_destroy(finder);
	heap_dwarf_close(file);
	return 0;
}
