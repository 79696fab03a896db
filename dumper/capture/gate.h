// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_GATE_H
#define HEAPSNAP_GATE_H

/**
 * The gate at which threads wait while the process is cloned.
 *
 * A thread is stopped by a real-time signal. Its handler records the registers and waits until the
 * gate opens. With many threads on few processors the signalling thread would rarely be scheduled.
 * So each thread that has stopped signals two more before it waits, and each that leaves wakes two
 * more. The time then grows with the number of threads, not with the turns that they take.
 * async-signal-safe.
 *
 * Threads are identified by their index in heapsnap_process.threads.
 */

#include "dumper/base/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/** Notes a thread's registers. */
void heapsnap_gate_note(struct heapsnap_thread *thread, const ucontext_t *context);

/**
 * Installs the handler, for a signal that the program does not handle. To be called before
 * each stop: programs reset handlers. It stays: a thread may get its signal late.
 *
 * @return the signal; 0 if all are taken
 */
int heapsnap_gate_install(void);

/** Shuts the gate. No thread has been signalled yet. */
void heapsnap_gate_shut(void);

/** Puts a thread on the list of those to signal. @return false: it is there already */
bool heapsnap_gate_ask(uint32_t slot);

/** Sends the signal to the new threads on the list. @return their number */
uint32_t heapsnap_gate_send(void);

/** True if a thread has not been signalled, or could not be. */
bool heapsnap_gate_may_ask(uint32_t slot);

/** True if a signal could not be queued since the last call: there are too many. */
bool heapsnap_gate_was_refused(void);

/** True if a thread has been signalled, and has not answered. */
bool heapsnap_gate_is_expected(uint32_t slot);

/** No longer expects an answer of a thread. */
void heapsnap_gate_excuse(uint32_t slot);

/** Lets a slot be another thread's: the one that had it has ended. @return false: an answer is expected of that still */
bool heapsnap_gate_forget(uint32_t slot);

/** Waits until all have answered, or for a while. @return true if all have */
bool heapsnap_gate_wait(uint64_t wait_ns);

/** Opens the gate. @return when: heapsnap_monotonic_ns() */
uint64_t heapsnap_gate_open(void);

/** The number of system calls that this thread has made in the functions above. */
extern uint64_t heapsnap_gate_calls;

#endif
