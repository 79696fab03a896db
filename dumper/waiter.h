// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_WAITER_H
#define HEAPSNAP_WAITER_H

/**
 * A thread that is not the program's: it lives while a snapshot is written, blocks all
 * signals, and uses system calls alone.
 *
 * libc does not know of it. So it has a stack and a thread-local storage block of its own,
 * and no libc function that needs the latter may be called in it.
 */

#include <stdint.h>

/**
 * Runs @p function in the thread, which ends when that returns. Signals must be blocked;
 * the thread inherits that. async-signal-safe. Waits until the thread before has ended.
 *
 * @return 0 or -errno
 */
long heapsnap_waiter_start(void (*function)(void));

/** Maps its memory; once per process, again after a fork. @return 0 or -errno */
long heapsnap_waiter_init(void);

/** Forgets the thread: after a fork the child has none. */
void heapsnap_waiter_forget(void);

#endif
