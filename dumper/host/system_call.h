// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SYSTEM_CALL_H
#define HEAPSNAP_SYSTEM_CALL_H

/**
 * System calls that the program makes by libc's syscall() or prctl(), and that the library must know
 * of: filters (sandbox.h), handlers of signals (signals.h), and what the kernel refuses to a process of several
 * threads.
 */

#include "dumper/host/sandbox.h"

/** Makes the call by @p next, or does not. @return as syscall(2), with errno */
typedef long heapsnap_taken_call_function(heapsnap_system_call *next, long number, long a, long b);

/** Finds libc's functions. To be called when the library is loaded. */
void heapsnap_system_call_init(void);

/** Has syscall() call a function for unshare(2) and setns(2). */
void heapsnap_system_call_take(heapsnap_taken_call_function *function);

/** Has prctl() call a function when a thread has given up rights by it. It gets the five arguments. */
void heapsnap_system_call_tell(void (*function)(const long *arguments));

#endif
