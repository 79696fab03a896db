// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_TRACKED_H
#define HEAPSNAP_TRACKED_H

/**
 * heapsnap_track(): pieces of memory that the program hands out itself, from pools and arenas.
 *
 * They have no header. The contents of one are in a list instead, which is searched by address,
 * without locks. Entries are never removed, as a pool hands out the same places again and again. An
 * entry whose extent is 0 is unused. The writer reads the list (protocol.h).
 */

#include <stdbool.h>

/** Notes that a piece has a label. @return false: it is no piece */
bool heapsnap_tracked_set_labelled(const void *piece);

#endif
