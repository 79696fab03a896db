// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TIMER_H
#define HEAPSNAP_TIMER_H

/**
 * HEAPSNAP_EVERY: a snapshot at an interval; also checks if HEAPSNAP_BEFORE_OOM needs one.
 *
 * It uses no timer's signal, which would interrupt system calls that the program sleeps in. Instead
 * a thread of ours (waiter.h) sleeps, and triggers a snapshot when it is time; the snapshot leaves
 * that thread out. The thread exists only if one of the two is set.
 *
 * A child of fork() lacks the thread, and its first allocation starts it again. So programs that
 * fork to execute another pay nothing, and daemon() is survived. Rights that the program gives up for good the
 * thread gives up, too (rights.h). Where it still has others than the program, it ends rather than write files
 * with them, and the next allocation starts another.
 */

#include <stdint.h>

/** Starts the thread if one of the two is set and it is not running. */
void heapsnap_timer_start(void);

/** Ends the thread, and waits until it has; heapsnap_timer_start() starts it anew. */
void heapsnap_timer_stop(void);

/** Has the thread, if there is one, make a system call, too: thread_call.h. */
void heapsnap_timer_call(long number, const long *arguments);

/** Tells the thread of a new setting. */
void heapsnap_timer_changed(void);

/** Its thread id, or 0. async-signal-safe. */
uint32_t heapsnap_timer_thread(void);

#endif
