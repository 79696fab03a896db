// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FIRST_H
#define HEAPSNAP_FIRST_H

/**
 * Checks if the program's malloc is ours. It is not if another library comes before this one in
 * LD_PRELOAD, or if the program has a malloc of its own. Then the few functions of ours that the
 * other malloc lacks must serve its blocks, and the user is warned.
 */

#include "dumper/host/announce.h"

#include <stdbool.h>
#include <stddef.h>

/** Finds out, and reports another malloc in one line. To be called when the library is loaded. */
void heapsnap_first_init(void);

/** The allocator behind malloc; HEAPSNAP_ALLOCATOR_OURS before heapsnap_first_init(). */
enum heapsnap_whose_malloc heapsnap_first(void);

/** True if malloc is not ours, a sanitizer's or another. */
bool heapsnap_first_is_other(void);

/** The program's realloc and free, where malloc is not ours. */
void *heapsnap_first_realloc(void *block, size_t size);
void heapsnap_first_free(void *block);

#endif
