// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRACKED_H
#define HEAPSNAP_TRACKED_H

/**
 * heapsnap_track(): pieces of memory that the program hands out itself, from pools and arenas.
 *
 * They have no header. What would stand there is in a list, which is found by address, without
 * locks. Entries are never removed: a pool hands out the same places again and again. One whose
 * extent is 0 stands for nothing. The writer reads the list (protocol.h).
 */

#include <stdbool.h>

/** Notes that a piece has a label, if it is one. @return whether it is */
bool heapsnap_tracked_set_labelled(const void *piece);

#endif
