// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_KEEP_H
#define HEAPSNAP_KEEP_H

/**
 * HEAPSNAP_KEEP: removes the oldest snapshots that this process has written.
 *
 * A file is removed only if it is still the one that was written: files that were moved, or
 * replaced by somebody else's, are left alone. A child of fork() starts afresh, and leaves its
 * parent's files.
 */

#include <stdbool.h>

/** To be called once, when the setting is made. @return false if memory is short */
bool heapsnap_keep_init(void);

/**
 * Notes a file that has been written, and removes what is too many. async-signal-safe; in the
 * waiting thread alone.
 */
void heapsnap_keep(const char *path);

#endif
