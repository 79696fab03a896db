// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRACE_PARTS_H
#define HEAP_TRACE_PARTS_H

/** The structures of a trace, which trace.c reads and trace_places.c names. Private to this room. */

#include "lib/trace/trace.h"

struct heap_elf_file;
struct heap_dwarf_file;
struct heap_dwarf_line_finder;

struct heap_trace_module {
	uint64_t start, end;
	char *path;
	bool tried; /**< opening it has been tried */
	uint64_t bias;
	struct heap_elf_file *elf;
	struct heap_dwarf_file *dwarf;
	struct heap_dwarf_line_finder *lines;
};

struct heap_trace_step {
	uint64_t address;
	uint32_t caller;
	uint32_t module;                 /**< UINT32_MAX: none */
	struct heap_trace_place *places; /**< [place_count]; NULL: not looked up yet */
	size_t place_count;
};

struct heap_trace {
	uint8_t *bytes; /**< [size] of the file */
	size_t size;
	const uint8_t *at, *chunk_end;
	struct heap_trace_info info;
	char *program;

	uint64_t time_us, address; /**< the last values, for differences; also the next four */
	uint32_t allocated, freed, step, thread;

	struct heap_trace_step *steps; /**< [step_count]; [0] is none */
	uint32_t step_count, step_capacity;
	struct heap_trace_module
		*modules; /**< [module_count]; if they overlap, the last one counts */
	uint32_t module_count, module_capacity;
	uint64_t *wrappers; /**< [wrapper_count] addresses of steps, ascending */
	uint32_t wrapper_count;
};

void heap_trace_module_deinit(struct heap_trace_module *module);

#endif
