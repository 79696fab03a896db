// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CACHE_DIRECTORY_H
#define HEAP_CACHE_DIRECTORY_H

/** The directory of heapsh's caches: debug information that was read, side files of snapshots. */

/** $XDG_CACHE_HOME/heapsh or ~/.cache/heapsh; malloc'd, NULL if neither can be had. */
char *heap_cache_directory(void);

#endif
