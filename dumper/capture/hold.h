// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HOLD_H
#define HEAPSNAP_HOLD_H

/**
 * Holds sleeping threads during a stop, so that their registers are known, without a signal.
 *
 *	the waiting thread ── clone(CLONE_VM) ──▶ the holder: SEIZE, INTERRUPT, GETREGSET
 *	                   ◀──── all are held ───
 *	   stop, copy, go  ───── release ───────▶ repairs what EINTR would end, DETACH, exits
 *
 * A process cannot trace its own threads, so the holder is a process of its own that shares
 * the memory. Only threads asleep in calls that the kernel restarts after a tracer's stop are
 * held (enum heapsnap_call), and on x86-64 those where the tracer can ask for that: a result
 * of -EINTR is made -ERESTARTNOHAND, upon which the kernel restarts the call unless a signal
 * has a handler. The program sees none of it: the holder has no exit signal, and dies with
 * the thread that started it.
 *
 * Refused where a debugger traces the program, by Yama, by a security module, or if the
 * program has installed a filter of system calls, which might end who traces. Then nothing
 * is held. async-signal-safe but for heapsnap_hold_init().
 */

#include "dumper/capture/threads.h"

#include <stdbool.h>
#include <stdint.h>

/** When the library is loaded: maps a stack, and notes which filters of system calls there are. */
void heapsnap_hold_init(void);

/**
 * Holds threads, for as long as @p time_ns from the first: what it has not come to by then is left
 * alone.
 *
 * @param slots  in heapsnap_process.threads, of threads that sleep; must stay until
 *               heapsnap_hold_finish(). The state of each that is held becomes
 *               HEAPSNAP_THREAD_STOPPED, also later than this returns.
 * @param tasks  must stay open as long
 * @return false: nothing can be held in this process
 */
bool heapsnap_hold(const struct heapsnap_tasks *tasks, const uint32_t *slots, uint32_t count,
		   uint64_t time_ns);

/** True if a thread is held, or is about to be: it must get no signal of ours. */
bool heapsnap_hold_has(uint32_t slot);

/** Lets all threads go on. */
void heapsnap_hold_release(void);

/** Waits until the holder has ended. */
void heapsnap_hold_finish(void);

#endif
