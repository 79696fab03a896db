// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef WRITER_DEBUGINFOD_H
#define WRITER_DEBUGINFOD_H

/**
 * Fetches debug information by build id from the servers in $DEBUGINFOD_URLS, by elfutils' client,
 * which is loaded when it is first needed. Fetched files lie in the client's cache, where
 * heap_elf_find_debug_file() finds them the next time.
 *
 * All files of a snapshot together may take $HEAPSNAP_DEBUGINFOD (30s if it is not set; 0: nothing
 * is fetched), and no more than a quarter of the writer's time.
 */

#include "lib/dwarf/elf_file.h"

/** Sets the time. To be called once, before the first file. @param writer_time_ns  0: any */
void debuginfod_init(uint64_t writer_time_ns);

/**
 * Fetches a module's debug file.
 *
 * @param path  gets its path, malloc'd; NULL if it cannot be had
 * @param why   gets the reason for that, or NULL: nothing is to be fetched
 */
HEAP_MUST_CHECK
struct heap_error *debuginfod_fetch(const struct heap_build_id *id, char **path, const char **why);

#endif
