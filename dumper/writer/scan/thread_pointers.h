// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef THREAD_POINTERS_H
#define THREAD_POINTERS_H

/**
 * The thread pointers of threads that could not say where they are: those that were left asleep, and those
 * that did not stop in time. Thread-local variables and the caches of allocators are found by them.
 */

#include "dumper/writer/scan/capture.h"

/** Fills in those that are not known, as far as they can be found. */
void thread_pointers_find(struct capture *capture);

#endif
