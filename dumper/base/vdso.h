// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_VDSO_H
#define HEAPSNAP_VDSO_H

/**
 * The kernel's clock without a system call: a function in the vDSO, vdso(7).
 *
 * libc's clock_gettime() cannot be used: other libraries interpose it, and some of those (a
 * sanitizer's runtime, libfaketime) must not be called from malloc.
 */

#include <time.h>

typedef int heapsnap_clock_function(clockid_t clock, struct timespec *now);

/** @return the function, or NULL if there is none. The first call searches. async-signal-safe. */
heapsnap_clock_function *heapsnap_vdso_clock(void);

#endif
