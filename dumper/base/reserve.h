// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_RESERVE_H
#define HEAPSNAP_RESERVE_H

/**
 * Memory of the library's own. The kernel counts what is reserved, though it costs nothing until it is
 * used: a program that locks all its memory, or is limited, has so much less. So tables that few programs
 * need are reserved when they are needed. async-signal-safe.
 */

#include <stddef.h>

/**
 * Between guard pages: the kernel would merge it with what the program maps beside it, and the writer
 * takes a mapping that holds a table of ours for ours.
 *
 * @return page-aligned; NULL if there is no memory
 */
void *heapsnap_reserve(size_t bytes);

/** The same for data about this process: a child of fork() finds zeros (Linux 4.14). */
void *heapsnap_reserve_own(size_t bytes);

/** Releases memory of heapsnap_reserve(). */
void heapsnap_unreserve(void *memory, size_t bytes);

/**
 * Reserves a table that *table is to point to from now on, if it does not yet. Threads that come at the same
 * time agree on one.
 *
 * @return the table; NULL if there is no memory
 */
void *heapsnap_reserve_once(void **table, size_t bytes);

#endif
