// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_KEEP_H
#define HEAPSNAP_KEEP_H

/**
 * HEAPSNAP_KEEP: of the snapshots that this process has written the oldest are removed.
 *
 * Only a file that is still the one that was written: what has been moved, or replaced by
 * somebody else's, is left alone. A child of fork() begins anew, and leaves its parent's.
 */

#include <stdbool.h>

/** Once, when the setting is made. @return false if memory is short */
bool heapsnap_keep_init(void);

/**
 * Notes a file that has been written, and removes what is too many. async-signal-safe; in the
 * waiting thread alone.
 */
void heapsnap_keep(const char *path);

#endif
