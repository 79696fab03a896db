// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CORE_LINKS_H
#define CORE_LINKS_H

/**
 * The mapped files of a core file that does not name them.
 *
 * The kernel leaves out NT_FILE where it would take more than 4 MiB (core_file_note_size_limit), which it does from
 * 65,536 mappings on; other writers of core files have no such note at all. The dynamic linker's list, as
 * debuggers read it, has the modules' names, and their files tell where each was mapped:
 *
 *	AT_PHDR ──▶ PT_DYNAMIC ──▶ DT_DEBUG ──▶ struct r_debug ──▶ struct link_map ──▶ ...
 *
 * All that is read there is checked as the rest of the core file is: it may be damaged or forged.
 */

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

/** The process, and where its program's headers are. */
struct core_links_process {
	/** Reads memory. @return how many bytes from @p address on could be read */
	size_t (*read)(const void *context, uint64_t address, void *buffer, size_t size);
	const void *context;
	uint64_t headers, header_count; /**< of the program: AT_PHDR and AT_PHNUM */
	uint64_t program_name;          /**< address of its path: AT_EXECFN */
};

/** Is told a file that was mapped. @param name  borrowed until the call returns */
typedef struct heap_error *core_links_found(void *context, const char *name, uint64_t start,
					    uint64_t end, uint64_t offset);

/**
 * Finds the mapped parts of each module.
 *
 * @param sysroot  directory that has the files
 */
HEAP_MUST_CHECK
struct heap_error *core_links_find(const struct core_links_process *process, const char *sysroot,
				   core_links_found *found, void *context);

#endif
