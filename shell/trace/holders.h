// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_HOLDERS_H
#define TRACE_HOLDERS_H

/**
 * The samples of a trace that are still live in a snapshot of the same process: their types and holders.
 *
 *	trace      sample 17 ─ site, calls, times
 *	             │ by number
 *	snapshot   object ─ type, best path from a root
 */

#include "shell/base/session.h"
#include "shell/trace/tree.h"

struct trace_holders {
	struct session session;
	const struct heap_sample **by_number; /**< [count] of the snapshot, those in the trace */
	uint32_t count;
};

/**
 * Opens a snapshot. trace_holders_close() in any case.
 *
 * @param output  destination of messages; must outlive the result
 * @return HEAP_ERROR_ARGUMENT if it is of another process than the trace, or was taken before
 *         the trace began
 */
HEAP_MUST_CHECK
struct heap_error *trace_holders_open(struct trace_holders *holders, const char *path,
				      const struct heap_trace_info *trace, struct output *output);

void trace_holders_close(struct trace_holders *holders);

/** When the snapshot was taken, since the trace began. */
uint64_t trace_holders_time_us(const struct trace_holders *holders);

/** The sample of a number in the trace; NULL if it is not live in the snapshot. */
const struct heap_sample *trace_holders_find(const struct trace_holders *holders, uint32_t number);

/** Keeps only the samples that are live in the snapshot. */
void trace_holders_filter(const struct trace_holders *holders, struct trace_samples *samples);

/**
 * Builds a tree: sites, below each the types of its live objects, and below each type the holders: the
 * last pointer of the best path from a root (lib/graph/paths.h) and that root.
 *
 * @param samples  after trace_holders_filter()
 * @param tree     the caller's, to be freed by trace_tree_deinit()
 */
HEAP_MUST_CHECK
struct heap_error *trace_holders_tree(struct trace_holders *holders,
				      const struct trace_samples *samples, struct trace_tree *tree);

#endif
