// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FREEZE_H
#define HEAPSNAP_FREEZE_H

/**
 * Stops all threads for an instant, and clones the process.
 *
 *	the program's threads ─────┐ signal            ┌──────────────▶
 *	                           └─ registers ─ wait ┘
 *	the waiting thread  ── look ── signal ── clone ── release all ──▶ waits for the writer
 *	                                           └────▶ the frozen copy: heapsnap_frozen()
 *
 * First it examines all threads while they still run. A running thread is then stopped by a signal
 * (gate.h). A thread that sleeps in the kernel is left alone: the kernel tells where it sleeps. Its
 * processor time tells if it has run since; if so, its registers are out of date, and marked so. A
 * sleeping thread thus costs the stop two system calls of a fraction of a microsecond each. The
 * stop has a limit, HEAPSNAP_STOP: threads that have not stopped by then run on, and the snapshot
 * lacks their stacks.
 *
 * async-signal-safe, all of it. Runs in the waiting thread (waiter.h), which has a stack,
 * descriptors and a signal mask of its own, so none of the program's are used up.
 */

#include <stdint.h>

/** The interrupted context of the program; a ucontext_t. */
typedef void heapsnap_context;

/** Notes the calling thread as the one that triggered. It must then not move on. */
void heapsnap_freeze_note_caller(const heapsnap_context *context);

/** Notes that no thread triggered. */
void heapsnap_freeze_note_nobody(void);

/**
 * @param hold_ns  for how long threads may be held until the copy has ended, so that the program
 *                 needs no more memory meanwhile; 0: they go on at once
 * @return the pid of the frozen copy, or -errno
 */
long heapsnap_freeze(uint64_t hold_ns);

#endif
