// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_PROCESS_H
#define HEAPSNAP_PROCESS_H

/**
 * Facts about the process, for tracking and for the writer.
 */

#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/** The one instance; the writer reads it from the frozen copy. */
extern struct heapsnap_process heapsnap_process;

/** The block that this thread's realloc is moving. */
extern __thread struct heapsnap_move heapsnap_move;

/** Absolute path of heapsnap-writer. */
extern char heapsnap_writer_path[HEAPSNAP_PATH_MAX];

enum {
	HEAPSNAP_WRITER_VARIABLES = 10, /**< of the program's environment that the writer gets */
};

/** The writer's whole environment: libc's tunables, "HOME=…", "XDG_CACHE_HOME=…"..., NULL. */
extern char *heapsnap_writer_environment[2 + HEAPSNAP_WRITER_VARIABLES];

/** The address of the library's first page, from dladdr(). */
const void *heapsnap_library_base(void);

/** Fills in the structure. To be called once, when the library is loaded. */
void heapsnap_process_init(void);

#endif
