// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_BEFORE_OOM_H
#define HEAPSNAP_BEFORE_OOM_H

/**
 * HEAPSNAP_BEFORE_OOM: one snapshot before the kernel kills the program for lack of memory.
 *
 * The thread of timer.h checks how much is left (base/headroom.h). The snapshot itself must not use
 * it up: the writer takes at most three quarters of it, and the program is stopped until the
 * snapshot is written, since each page that it wrote to would be copied. If a control group has
 * several processes, one at a time takes its snapshot.
 *
 * Where many threads compete for processors, memory could end before that thread gets its turn. So
 * threads that allocate faster than it runs wait for its next check.
 */

#include <stdbool.h>
#include <stdint.h>

/** To be called when the setting has changed. */
void heapsnap_before_oom_init(void);

/**
 * To be called from malloc's slow path: waits for a look, some milliseconds at most, if more has
 * been allocated since the last than was left then.
 *
 * @param bytes  allocated by this thread since its last call
 */
void heapsnap_before_oom_brake(uint64_t bytes);

/** Checks the memory left, in the timer's thread. @return ns to wait before the next check; 0: for ever */
uint64_t heapsnap_before_oom_look(bool *is_near);

/** In the timer's thread: takes the snapshot. @return false: not yet, because another one is being taken */
bool heapsnap_before_oom_take(void);

#endif
