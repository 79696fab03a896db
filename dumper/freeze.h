// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FREEZE_H
#define HEAPSNAP_FREEZE_H

/**
 * Stops all threads for an instant, and clones the process.
 *
 *	the program's threads ─────┐ signal            ┌──────────────▶
 *	                           └─ registers ─ wait ┘
 *	the waiting thread  ── look ── ask all ── clone ── release all ──▶ waits for the writer
 *	                                           └────▶ the frozen copy: heapsnap_frozen()
 *
 * A thread is stopped by a real-time signal, whose handler notes the registers and waits.
 * Two kinds of threads are left alone: those that sleep in a system call which the signal
 * would end with EINTR, and those that block the signal (one of them may wait for any
 * signal at all with sigwait). The kernel tells where they sleep, and afterwards whether
 * they have run meanwhile; then what was noted of them does not hold, and is marked so.
 *
 * async-signal-safe, all of it. Runs in the waiting thread (waiter.h), which has a stack,
 * descriptors and a signal mask of its own; so nothing of the program's is used up.
 */

#include <stdint.h>

/** Where the program was when it was interrupted; a ucontext_t. */
typedef void heapsnap_context;

/** Notes the calling thread as the one that triggered. It must then stay where it is. */
void heapsnap_freeze_note_caller(const heapsnap_context *context);

/** Notes that no thread triggered. */
void heapsnap_freeze_note_nobody(void);

/** @return the pid of the frozen copy, or -errno */
long heapsnap_freeze(void);

#endif
