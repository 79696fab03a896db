// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MEMORY_LEFT_H
#define HEAP_MEMORY_LEFT_H

/**
 * The memory that is available for large columns.
 */

#include <stdint.h>

/**
 * The free memory of the machine, or of the control group and its ancestors (version 1 or 2),
 * whichever is less.
 *
 * @return bytes; 1 GiB if it is unknown
 */
uint64_t heap_memory_left(void);

/**
 * Three quarters of the memory left, or half of the limit of setrlimit(), whichever is less.
 *
 * @return bytes
 */
uint64_t heap_memory_budget(void);

#endif
