// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRIGGER_H
#define HEAPSNAP_TRIGGER_H

/**
 * The two ways to trigger a snapshot: the signal, and the program's own call (heapsnap.h).
 *
 * One snapshot is written at a time. A signal that arrives meanwhile is counted, and its snapshot
 * is taken as soon as the previous one is done; a call by the program is refused. While a snapshot
 * is being written, a thread of ours waits for the frozen copy, so the program has no child to
 * reap. That thread blocks all signals and has no part in the program.
 */

#include "dumper/capture/freeze.h"

#include <stdbool.h>
#include <stdint.h>

/** Installs the handler, unless the program has one of its own by now. */
void heapsnap_trigger_init(void);

/** Waits until no snapshot is being written, and the thread that waits for it has ended. */
void heapsnap_trigger_rest(void);

/** The number of snapshots that this process has taken. */
uint32_t heapsnap_trigger_count(void);

/** The time of the last snapshot, on the monotonic clock; 0: there was none. */
uint64_t heapsnap_trigger_latest_ns(void);

/**
 * Takes a snapshot, and returns when the program is frozen. async-signal-safe.
 *
 * @param context  of the calling thread; NULL for a thread of ours
 * @param hold_ns  as heapsnap_freeze() has it; types are then found in two thirds of that time
 * @return 0, -EAGAIN while another is being written, or another -errno, which has been reported
 */
int heapsnap_trigger_take(const heapsnap_context *context, uint64_t hold_ns);

/**
 * The same for a program that is about to end: waits its turn, and until it is written.
 *
 * @param pattern  of the file's name
 * @param report   enum heapsnap_report
 */
void heapsnap_trigger_last(const char *pattern, uint32_t report, const heapsnap_context *context);

#endif
