// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TIMER_H
#define HEAPSNAP_TIMER_H

/**
 * A snapshot each HEAPSNAP_EVERY, and looks whether HEAPSNAP_BEFORE_OOM wants one.
 *
 * Not by a timer's signal: that would end system calls which the program sleeps in. So
 * there is a thread of ours (waiter.h), which sleeps, and has a snapshot taken when it is
 * time; it is not in the snapshot. It exists only where one of the two is set.
 *
 * A child of fork() has no such thread: its first allocation starts it again. So programs
 * that fork to execute another pay nothing, and daemon() is survived. A thread keeps the
 * user and the rights that it began with, also when the program gives its own up; then it
 * ends rather than write files with them, and the next allocation starts another.
 */

#include <stdint.h>

/** Starts the thread if one of the two is set and it does not live. */
void heapsnap_timer_start(void);

/** Ends the thread, and waits until it has; heapsnap_timer_start() starts it anew. */
void heapsnap_timer_stop(void);

/** Tells it of a new setting. */
void heapsnap_timer_changed(void);

/** Its thread id, or 0. async-signal-safe. */
uint32_t heapsnap_timer_thread(void);

#endif
