// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef THREAD_POINTERS_H
#define THREAD_POINTERS_H

/**
 * The thread pointers of threads that could not say where they are: those that were left asleep, and those
 * that did not stop in time. Thread-local variables and the caches of allocators are found by them.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/image/image.h"

/**
 * Fills in the thread pointers that are unknown, as far as they can be found.
 *
 * @param threads  [process->thread_count]
 */
void thread_pointers_find(const struct image *image, const struct heapsnap_process *process,
			  struct heapsnap_thread *threads);

#endif
