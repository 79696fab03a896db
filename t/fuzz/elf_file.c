// SPDX-License-Identifier: GPL-3.0-or-later
// Symbols, build id, the link to a debug file and call frame information of any ELF file.
#include "lib/dwarf/dwarf_call_frames.h"
#include "lib/dwarf/elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile uint64_t sink;

static void use_file(struct heap_elf_file *file)
{
	char id[2 * HEAP_BUILD_ID_MAX + 1];
	char *path = NULL;

	for (size_t i = 0; i < file->symbol_count; i++) {
		const struct heap_symbol *symbol = &file->symbols[i];

		sink += strlen(symbol->name);
		heap_elf_find_symbol(file, symbol->kind, symbol->address + symbol->size / 2);
	}
	heap_build_id_format(&file->build_id, id, sizeof(id));
	heap_error_destroy(heap_elf_find_debug_file(file, "/nonexistent", &path));
	heap_error_destroy(heap_elf_add_packed_symbols(file));
	free(path);
}

static void use_frames(const char *path, bool is_debug)
{
	struct heap_dwarf_call_frames *frames;
	struct heap_dwarf_frame_row row;
	struct heap_error *error = heap_dwarf_call_frames_open(path, is_debug, &frames);

	heap_error_destroy(error);
	if (error)
		return;
	for (uint64_t pc = 0x1000; pc < 0x1400; pc += 16)
		heap_dwarf_call_frames_find(frames, pc, &row);
	heap_dwarf_call_frames_close(frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int descriptor = memfd_create("fuzzed", MFD_CLOEXEC);
	struct heap_elf_file *file, *more;
	char path[64];

	if (descriptor < 0 || write(descriptor, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);

	struct heap_error *error = heap_elf_open(path, &file);

	if (!error) {
		use_file(file);
		error = heap_elf_open(path, &more);
		if (!error) {
			error = heap_elf_add_symbols(file, more);
			heap_elf_close(more);
		}
		use_file(file);
		heap_elf_close(file);
	}
	heap_error_destroy(error);
	use_frames(path, false);
	use_frames(path, true);
	close(descriptor);
	return 0;
}
