// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SANDBOX_H
#define HEAPSNAP_SANDBOX_H

/**
 * Programs that restrict their own system calls by seccomp(2). A filter may kill the program for a
 * call that is not on its list. So once there is a filter, the library makes no system call of its
 * own in malloc, and takes no snapshot that the filter would not allow.
 */

#include <stdbool.h>

/** Finds libc's functions. To be called when the library is loaded. */
void heapsnap_sandbox_init(void);

/** True once the program has installed a seccomp filter through libc. */
bool heapsnap_is_sandboxed(void);

/** True if a filter of the program kills it for a system call that a snapshot needs. */
bool heapsnap_sandbox_forbids_snapshots(void);

#endif
