// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OLDEST_H
#define OLDEST_H

/**
 * A small snapshot for the oldest blocks: the oldest samples of the process's trace, and the best
 * path from a root to each.
 *
 *	all objects ──▶ samples, by time ──▶ first N ──▶ their paths ──▶ a small snapshot
 *
 * For trace-only mode (libheapsnap-trace.so). heapsh-trace --oldest reads it beside the trace;
 * heapsh reads it like any snapshot.
 */

#include "lib/base/error.h"

#include <stdint.h>

/**
 * Reads a snapshot, and writes that part of it.
 *
 * @param from   descriptor of the snapshot
 * @param count  how many samples to keep at most
 * @param to     descriptor, open for writing, empty; neither synced nor closed
 */
HEAP_MUST_CHECK
struct heap_error *oldest_write(int from, uint32_t count, int to);

#endif
