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
 * First it looks at all threads while they still run. One that runs is then stopped by a
 * signal (gate.h). One that sleeps in the kernel is left alone: the kernel tells where it
 * sleeps and, by its processor time, whether it has run since; then what was noted of it
 * does not hold, and is marked so. So a sleeping thread costs the stop two system calls of a
 * fraction of a microsecond each. The stop has a bound, HEAPSNAP_STOP; threads that have
 * not stopped by then run on, and the snapshot lacks their stacks.
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

/**
 * @param hold_ns  for how long threads may be held until the copy has ended, so that the program
 *                 needs no more memory meanwhile; 0: they go on at once
 * @return the pid of the frozen copy, or -errno
 */
long heapsnap_freeze(uint64_t hold_ns);

#endif
