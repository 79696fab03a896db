// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_WAITER_H
#define HEAPSNAP_WAITER_H

/**
 * A thread that is not the program's: it takes a snapshot, and lives until that is written.
 *
 * It blocks all signals, uses only system calls, and shares memory with the program but nothing
 * else that the program could notice. It has its own stack (that of a signal handler may be tiny)
 * and its own descriptors (the program may have used up all of its own). libc does not know of the
 * thread. So it has a substitute for thread-local storage, and must call no libc function that
 * needs more.
 */

#include <stdbool.h>
#include <stdint.h>

/** There are two: one for snapshots that are being written, and that of timer.h. */
struct heapsnap_waiter {
	char *memory;           /**< its stack, then what stands for thread-local storage */
	volatile uint32_t *tid; /**< the kernel clears it, and wakes, when the thread has ended */
	uint32_t latest;        /**< thread id of the last that was started */
};

/**
 * Maps its memory; once per process. @return 0 or -errno
 *
 * @param tid  where the thread's id is while it lives; else 0
 */
long heapsnap_waiter_init(struct heapsnap_waiter *waiter, volatile uint32_t *tid);

/**
 * Runs @p function in the thread, which ends when that returns. Signals must be blocked; the thread
 * inherits that. Where ignored ones are not, it must block them at once. async-signal-safe. Waits
 * until the thread before has ended.
 *
 * @return 0 or -errno
 */
long heapsnap_waiter_start(struct heapsnap_waiter *waiter, void (*function)(void));

/**
 * clone(2) with a stack of its own, on which the new thread or process runs @p function, and
 * exits. async-signal-safe.
 *
 * @param top      end of the stack, aligned to 16 bytes
 * @param tid      for CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID; else NULL
 * @param storage  for CLONE_SETTLS; else NULL
 * @return the id, or -errno
 */
long heapsnap_clone_running(long flags, char *top, void (*function)(void), volatile uint32_t *tid,
			    void *storage);

/** Waits until the kernel has ended the thread, too. async-signal-safe. */
void heapsnap_waiter_join(const struct heapsnap_waiter *waiter);

/**
 * To be called in the thread that takes a snapshot, first of all. Blocks the signals that the program
 * ignores, too: a handler that it installs meanwhile must not run here. Closes the descriptors but for
 * standard error, leaving the program's alone, and gives the thread a name, by which heapsnap capture
 * knows it.
 */
void heapsnap_waiter_detach(void);

/**
 * To be called in a thread that lives on and opens files: gives it descriptors of its own, so that the
 * program neither meets these nor closes them, and nothing is written to what has taken their number.
 *
 * @param kept  the only one of the program's that stays open; -1: none
 * @return false if a kernel before 5.9 or a sandbox does not allow it: then they are the program's
 */
bool heapsnap_waiter_part(int kept);

/**
 * After heapsnap_waiter_part(), for as long as something may be reported: takes the program's
 * standard error, which must close when the program closes it.
 */
void heapsnap_waiter_borrow_error(void);
void heapsnap_waiter_return_error(void);

#endif
