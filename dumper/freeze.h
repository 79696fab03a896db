// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FREEZE_H
#define HEAPSNAP_FREEZE_H

/**
 * Stops all threads for an instant, and clones the process.
 *
 *	other threads   ───────┐ signal            ┌──────────────▶
 *	                       └─ registers ─ wait ┘
 *	this thread     ── ask all ── clone ── release all ───────▶
 *	                                └────▶ the frozen copy: heapsnap_frozen()
 *
 * A thread is stopped by a real-time signal, whose handler notes the registers and waits.
 * A thread that sleeps in a system call which that would end with EINTR is not woken: the
 * kernel tells where it sleeps, and its memory cannot change meanwhile.
 *
 * async-signal-safe, all of it. Signals must be blocked.
 */

#include <stdint.h>

/** Where the program was when it was interrupted; a ucontext_t. NULL: nowhere of interest. */
typedef void heapsnap_context;

/**
 * @param context  of the calling thread, as its signal handler got it
 * @return the pid of the frozen copy, or -errno
 */
long heapsnap_freeze(const heapsnap_context *context);

#endif
