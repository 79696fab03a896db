// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_PROCESS_THREADS_H
#define HEAPSNAP_PROCESS_THREADS_H

/**
 * The threads of another process, stopped together and let go.
 *
 * Those that sleep in calls which an interruption would disturb are left alone. Of many threads, all that are
 * asleep are: to stop them would take longer than anything else.
 */

#include "dumper/command/tracee.h"
#include "lib/base/error.h"

#include <stddef.h>

struct process_threads {
	struct tracee *list; /**< [count]; may move when more are found */
	size_t count, capacity;
};

enum {
	PROCESS_THREADS_PATIENCE_MS =
		2000, /**< until a thread is given up that does not stop or end */
};

/**
 * Adds the threads that are not known yet.
 *
 * @param added  gets how many
 * @return HEAP_ERROR_ABSENT if the process has ended
 */
HEAP_MUST_CHECK
struct heap_error *process_threads_find(const struct process *process,
					struct process_threads *threads, size_t *added);

void process_threads_deinit(struct process_threads *threads);

/** Looks what threads that are left alone are doing. */
void process_threads_look(const struct process *process, struct process_threads *threads);

/** Begins to trace one of them. @return false and errno */
bool process_threads_seize(const struct process_threads *threads, struct tracee *thread);

/**
 * Stops the threads, and those that they are just creating.
 *
 * @param hold  they are to be held: they may take longer, and those asleep are stopped however many there are
 */
HEAP_MUST_CHECK
struct heap_error *process_threads_stop(const struct process *process,
					struct process_threads *threads, bool hold);

/** Stops those that have woken, or are new, while the others are held. @return as process_threads_find() */
HEAP_MUST_CHECK
struct heap_error *process_threads_hold(const struct process *process,
					struct process_threads *threads);

/** Lets stopped threads go on. @param running  those that were running; false: those that were in system calls */
void process_threads_release(struct process_threads *threads, bool running);

void process_threads_release_all(struct process_threads *threads);

/** Lets threads go that could not be stopped in time, if they have stopped meanwhile. */
void process_threads_release_late(const struct process *process, struct process_threads *threads);

/** True if threads are traced that have not stopped. */
bool process_threads_are_stuck(const struct process_threads *threads);

/** Lets go what an attempt before has left: a thread that begins another program takes over the main thread's tid. */
void process_threads_release_heir(const struct process *process);

/** The error for a process that has ended, or begun another program. */
HEAP_MAKES_ERROR
struct heap_error *process_threads_lost(const struct process *process);

#endif
