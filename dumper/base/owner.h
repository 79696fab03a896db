// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_OWNER_H
#define HEAPSNAP_OWNER_H

/**
 * The process that the library's state belongs to.
 *
 * A child of fork() starts afresh at its first call. A child of vfork() runs in its parent's
 * memory: it owns nothing, and must change nothing. async-signal-safe, except for the
 * initialization.
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * Makes the calling process the owner.
 *
 * @param begin_anew  called in each child of fork() that becomes the owner of its own memory;
 *                    memory of heapsnap_reserve_own() is zeros there if @p is_wiped, and has to
 *                    be cleared if not
 * @return false if there is no memory
 */
bool heapsnap_owner_init(void (*begin_anew)(bool is_wiped));

/** False in a child of vfork(), and before heapsnap_owner_init(). */
bool heapsnap_is_owner(void);

/** To be called in a child of fork(), which then need not compare pids to know that it is one. */
void heapsnap_owner_fork(void);

/** The owner's process id; 0 before heapsnap_owner_init(). */
uint32_t heapsnap_owner_pid(void);

#endif
