// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SANDBOX_H
#define HEAPSNAP_SANDBOX_H

/**
 * Programs that restrict their own system calls. A filter may end the program for a call that is not
 * on its list; so in malloc the library makes none of its own after that.
 */

#include <stdbool.h>

/** Finds libc's functions. When the library is loaded. */
void heapsnap_sandbox_init(void);

/** True once the program has installed a seccomp filter, as far as it did so through libc. */
bool heapsnap_is_sandboxed(void);

#endif
