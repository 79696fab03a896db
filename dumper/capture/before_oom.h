// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_BEFORE_OOM_H
#define HEAPSNAP_BEFORE_OOM_H

/**
 * One snapshot before the kernel kills the program because memory has ended: HEAPSNAP_BEFORE_OOM.
 *
 * The thread of timer.h looks at what is left (base/headroom.h). The snapshot itself must not
 * bring the end: the writer takes at most three quarters of what is left, and the program is held
 * until it is done, for each page that it wrote to would be copied. Of several processes in a
 * control group, one at a time takes its snapshot.
 *
 * Threads that allocate faster than that thread gets a processor wait for its look: where many
 * compete for processors, memory could end before its turn.
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

/** In the timer's thread: looks what is left. @return how long to wait before the next look, in ns; 0: for ever */
uint64_t heapsnap_before_oom_look(bool *is_near);

/** In the timer's thread: takes the snapshot. @return false: not yet, because another one is being taken */
bool heapsnap_before_oom_take(void);

#endif
