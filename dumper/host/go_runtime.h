// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_GO_RUNTIME_H
#define HEAPSNAP_GO_RUNTIME_H

/**
 * Go's runtime, which installs handlers for nearly all signals when the program starts. Without cgo
 * it makes the system calls itself, so interposing libc does not show it.
 */

#include <stdbool.h>

/** Reads the program's ELF notes. To be called when the library is loaded. */
void heapsnap_go_init(void);

/** True if the program is written in Go, and its runtime takes the signal. async-signal-safe. */
bool heapsnap_go_takes(int number);

/** True if the program is written in Go. async-signal-safe. */
bool heapsnap_is_go(void);

#endif
