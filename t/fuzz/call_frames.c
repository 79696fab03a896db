// SPDX-License-Identifier: GPL-3.0-or-later
// Call frame information of any bytes, as .eh_frame and as .debug_frame, and steps by it.
#include "lib/dwarf/dwarf_call_frames.h"

#include <stdlib.h>
#include <string.h>

enum {
	ADDRESS = 0x2000, // of the section; the code of the corpus lies around it
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile uint64_t sink;

// Expressions must lie in the section.
static void use_row(const struct heap_dwarf_frame_row *row)
{
	for (unsigned i = 0; i < HEAP_DWARF_REGISTERS; i++)
		for (uint64_t j = 0; row->rules[i].bytes && j < row->rules[i].size; j++)
			sink += row->rules[i].bytes[j];
	for (uint64_t j = 0; row->cfa.bytes && j < row->cfa.size; j++)
		sink += row->cfa.bytes[j];
	if (row->return_register >= HEAP_DWARF_REGISTERS)
		abort();
}

static void parse(const uint8_t *bytes, size_t size, bool is_debug)
{
	struct heap_dwarf_call_frames *frames;
	struct heap_dwarf_frame_row row;
	struct heap_error *error =
		heap_dwarf_call_frames_parse(bytes, size, ADDRESS, is_debug, &frames);

	heap_error_destroy(error);
	if (error)
		return;
	for (uint64_t pc = 0; pc < 0x4000; pc += 8)
		if (heap_dwarf_call_frames_find(frames, pc, &row))
			use_row(&row);
	heap_dwarf_call_frames_close(frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	// A copy of exactly this size, for a sanitizer to see its end.
	uint8_t *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, bytes, size);
	parse(copy, size, false);
	parse(copy, size, true);
	free(copy);
	return 0;
}
