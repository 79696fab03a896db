// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_THREAD_CALL_H
#define HEAPSNAP_THREAD_CALL_H

/**
 * A system call that one of the program's threads has a thread of the library make, too: for what the
 * kernel has of each thread alone. async-signal-safe.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_CALL_ARGUMENTS = 5,
};

/** Where both sides meet; zeros at first. */
struct heapsnap_thread_call {
	uint32_t phase; /**< futex */
	long number;
	long arguments[HEAPSNAP_CALL_ARGUMENTS];
};

/**
 * Waits until the thread has made the call, or has ended.
 *
 * @param tid   its thread id; 0 when it has ended
 * @param wake  has the thread look at the call soon
 */
void heapsnap_thread_call_ask(struct heapsnap_thread_call *call, long number, const long *arguments,
			      uint32_t (*tid)(void), void (*wake)(void));

/** In the thread: true if there is one to make. */
bool heapsnap_thread_call_is_asked(const struct heapsnap_thread_call *call);

/** In the thread: makes the call if there is one to make. */
void heapsnap_thread_call_make(struct heapsnap_thread_call *call);

#endif
