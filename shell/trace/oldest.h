// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_OLDEST_H
#define TRACE_OLDEST_H

/**
 * The oldest samples that are still live, each with its age, size, site, type and a path from a root.
 *
 *	2.5 s     56 B  session_open (app.c:52)
 *	  the global variable registry (app.c:37, app)
 *	    → struct registry at 0x55f4471df2a0
 *	    .first → struct session at 0x55f4471df340
 *
 * Types and paths come from a snapshot of the same process, or from the small one that
 * libheapsnap-trace.so writes beside the trace (HEAPSNAP_OLDEST), app.trace.00.oldest. Without either
 * the rest is printed all the same.
 */

#include "shell/trace/holders.h"

/**
 * Opens the latest of the files beside a trace that belong to it. trace_holders_close() in any case.
 *
 * @param path   of the trace
 * @param found  gets the path of the file, the caller's to free; NULL: there is none
 * @return NULL, also if there is none; what trace_holders_open() says of a damaged one
 */
HEAP_MUST_CHECK
struct heap_error *trace_oldest_open(struct trace_holders *holders, const char *path,
				     const struct heap_trace_info *trace, struct output *output,
				     char **found);

/**
 * Prints the samples that are live, the oldest first.
 *
 * @param holders   with a session; its snapshot is NULL if there is none
 * @param samples   after trace_holders_filter(); those that are printed come first then
 * @param snapshot  its name; NULL: there is none
 * @param limit     of samples
 */
HEAP_MUST_CHECK
struct heap_error *trace_oldest_print(struct trace_holders *holders, struct trace_samples *samples,
				      const char *snapshot, uint64_t limit);

#endif
