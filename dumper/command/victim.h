// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_VICTIM_H
#define HEAPSNAP_VICTIM_H

/**
 * The victim: the thread of another process that is made to do system calls. It is one that an interruption disturbs
 * least, and in no restartable sequence.
 */

#include "dumper/command/process_threads.h"

/**
 * Finds a thread that may be interrupted, and stops it.
 *
 * @param result  one of the threads' list
 * @return HEAP_ERROR_ABSENT if the process has ended, or why there is none
 */
HEAP_MUST_CHECK
struct heap_error *victim_find(struct process *process, struct process_threads *threads,
			       struct tracee **result);

/** Chooses one of the threads that have stopped. @param result  NULL: none of them will do */
HEAP_MUST_CHECK
struct heap_error *victim_choose(struct process *process, struct process_threads *threads,
				 struct tracee **result);

#endif
