// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRACE_PARTS_H
#define HEAP_TRACE_PARTS_H

/** What trace.c reads and trace_places.c names. */

#include "lib/trace/trace.h"

struct heap_elf_file;
struct heap_dwarf_file;
struct heap_line_finder;

struct heap_trace_module {
	uint64_t start, end;
	char *path;
	bool tried; /**< to open it */
	uint64_t bias;
	struct heap_elf_file *elf;
	struct heap_dwarf_file *dwarf;
	struct heap_line_finder *lines;
};

struct heap_trace_step {
	uint64_t address;
	uint32_t caller;
	uint32_t module;                 /**< UINT32_MAX: none */
	struct heap_trace_place *places; /**< [place_count]; NULL: not asked for */
	size_t place_count;
};

struct heap_trace {
	uint8_t *bytes; /**< [size] the file */
	size_t size;
	const uint8_t *at, *chunk_end;
	struct heap_trace_info info;
	char *program;

	uint64_t time_us, address; /**< what differences are from */
	uint32_t allocated, freed, step, thread;

	struct heap_trace_step *steps; /**< [step_count]; [0] is none */
	uint32_t step_count, step_capacity;
	struct heap_trace_module *modules; /**< [module_count] a later one hides earlier ones */
	uint32_t module_count, module_capacity;
	uint64_t *wrappers; /**< [wrapper_count] addresses of steps, ascending */
	uint32_t wrapper_count;
};

void heap_trace_module_deinit(struct heap_trace_module *module);

#endif
