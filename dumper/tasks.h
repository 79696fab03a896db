// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TASKS_H
#define HEAPSNAP_TASKS_H

/**
 * The threads of this process as the kernel shows them: /proc/self/task.
 *
 * A look disturbs nobody: it tells, of a thread that sleeps in the kernel, where it sleeps,
 * and that it runs, of one that runs. All of it is async-signal-safe.
 */

#include <stdbool.h>
#include <stdint.h>

struct heapsnap_task {
	bool gone;    /**< has ended, or is about to */
	bool blocked; /**< has the signal blocked that was asked about */
	bool pending; /**< has that signal, and has not handled it yet */
	bool sleeps;  /**< in the kernel, at these: */
	bool fragile; /**< a signal would end its system call with EINTR, or cannot wake it */
	uint64_t sp;  /**< 0: unknown */
	uint64_t pc;  /**< 0: unknown */
};

/** What is open of a listing. */
struct heapsnap_tasks {
	long directory;
	long at;  /**< next entry in the buffer */
	long end; /**< of the entries in the buffer */
	char buffer[4096] __attribute__((aligned(8)));
};

/** Opens the list. @return 0 or -errno */
long heapsnap_tasks_open(struct heapsnap_tasks *tasks);

/** Starts over. */
void heapsnap_tasks_rewind(struct heapsnap_tasks *tasks);

/** @return the next thread's id, in ascending order; 0 at the end */
uint32_t heapsnap_tasks_next(struct heapsnap_tasks *tasks);

void heapsnap_tasks_close(struct heapsnap_tasks *tasks);

/** Looks at a thread. @param signal  the one to ask about */
void heapsnap_task_look(uint32_t tid, int signal, struct heapsnap_task *result);

/** How often a thread has run so far; a thread for which this stays has not moved meanwhile. */
uint64_t heapsnap_task_runs(uint32_t tid);

#endif
