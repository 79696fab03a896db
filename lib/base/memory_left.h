// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MEMORY_LEFT_H
#define HEAP_MEMORY_LEFT_H

/**
 * How much memory there is for what may be large.
 */

#include <stdint.h>

/**
 * What the machine has left, or a control group's limit leaves (version 1 or 2, those above it
 * included), whichever is less.
 *
 * @return bytes; 1 GiB if nobody says
 */
uint64_t heap_memory_left(void);

/**
 * Three quarters of that, or half of setrlimit()'s limit, whichever is less.
 *
 * @return bytes
 */
uint64_t heap_memory_budget(void);

#endif
