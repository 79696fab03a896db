// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TASKS_H
#define HEAPSNAP_TASKS_H

/**
 * The threads of this process as the kernel shows them: /proc/self/task.
 *
 * Looking at a thread does not disturb it: the kernel tells where it sleeps, or that it runs. A
 * thread that has used no processor time between two moments has not run between them; one system
 * call finds that out. async-signal-safe.
 */

#include <stdbool.h>
#include <stdint.h>

/** The effect of stopping a thread on the system call that it sleeps in. */
enum heapsnap_call {
	HEAPSNAP_CALL_FRAGILE,   /**< may fail with EINTR, or cannot be stopped: leave alone */
	HEAPSNAP_CALL_REPAIRED,  /**< a tracer can have it restarted (x86-64 alone) */
	HEAPSNAP_CALL_TRACEABLE, /**< restarts after a tracer's stop, not after a signal */
	HEAPSNAP_CALL_RESTARTED, /**< restarts after a signal too, with SA_RESTART */
};

enum {
	HEAPSNAP_TASK_ARGUMENTS = 6,
};

struct heapsnap_task {
	bool gone;                                  /**< has ended, or is about to */
	bool sleeps;                                /**< in the kernel, at these: */
	enum heapsnap_call call;                    /**< that it sleeps in */
	bool has_arguments;                         /**< it sleeps in a system call */
	uint32_t number;                            /**< of that */
	uint64_t argument[HEAPSNAP_TASK_ARGUMENTS]; /**< the registers that hold arguments */
	uint64_t sp;                                /**< 0: unknown */
	uint64_t pc;                                /**< 0: unknown */
};

/** The fate of a signal that a thread was sent. */
struct heapsnap_task_signal {
	bool gone;    /**< the thread has ended, or is about to */
	bool blocked; /**< the thread has it blocked */
	bool pending; /**< it has not been handled yet */
};

/** The open list; a process that shares the descriptor can look at the same threads. */
struct heapsnap_tasks {
	long directory;
	long at;  /**< next entry in the buffer */
	long end; /**< of the entries in the buffer */
	char buffer[16384] __attribute__((aligned(8)));
};

/** Opens the list. @return 0 or -errno */
long heapsnap_tasks_open(struct heapsnap_tasks *tasks);

/** Starts over. */
void heapsnap_tasks_rewind(struct heapsnap_tasks *tasks);

/** @return the next thread's id; 0 at the end */
uint32_t heapsnap_tasks_next(struct heapsnap_tasks *tasks);

/** @return how many threads there are, without listing them; 0: unknown */
uint32_t heapsnap_tasks_count(const struct heapsnap_tasks *tasks);

void heapsnap_tasks_close(struct heapsnap_tasks *tasks);

/** Finds the system call that a thread sleeps in, if it does. */
void heapsnap_task_look(const struct heapsnap_tasks *tasks, uint32_t tid,
			struct heapsnap_task *result);

/** Looks at a thread's state and at its signal @p signal. Slow: the kernel tells much more. */
void heapsnap_task_look_signal(const struct heapsnap_tasks *tasks, uint32_t tid, int signal,
			       struct heapsnap_task_signal *result);

/** @return processor time that a thread of this process has used, in ns; 0: it is gone */
uint64_t heapsnap_task_time(uint32_t tid);

/** The number of system calls that the functions above have made so far. */
extern uint64_t heapsnap_tasks_calls;

#endif
