// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_VIEWS_H
#define TRACE_VIEWS_H

/** The views of a trace that heapsh-trace prints as text or JSON. */

#include "shell/base/format.h"
#include "shell/base/output.h"
#include "shell/trace/holders.h"
#include "shell/trace/samples.h"
#include "shell/trace/tree.h"

struct trace_views {
	struct output *output;
	struct trace_samples samples;
	struct trace_holders holders; /**< with a snapshot */
	const char *snapshot;         /**< its name; NULL: there is none */
	const char *by;               /**< "allocated", "peak", "end", or a time */
	uint64_t limit;               /**< nodes below each one of a tree */
	uint64_t peak_us;             /**< trace_samples_peak() */

	/* private */
	char text[4][FORMAT_BYTES_MAX]; // in turn
	unsigned turn;
};

/** The samples that `by` means. @param time_us  gets when they are alive */
enum trace_moment trace_views_moment(const struct trace_views *views, uint64_t *time_us);

/** The program, and how much was allocated, live at the peak and live at the end. */
void trace_views_summary(struct trace_views *views);

/** How much was live, in equal steps of time. */
void trace_views_timeline(struct trace_views *views);

/** How long blocks lived, by powers of ten. */
void trace_views_lifetimes(struct trace_views *views);

/** Calls as a tree. @param upwards  from sites to their callers; otherwise from main() */
HEAP_MUST_CHECK
struct heap_error *trace_views_tree(struct trace_views *views, bool upwards, uint32_t depth);

/** The samples that the snapshot has, by site, type and holder. */
HEAP_MUST_CHECK
struct heap_error *trace_views_holders(struct trace_views *views);

/** A line per call path, for flame graphs. */
HEAP_MUST_CHECK
struct heap_error *trace_views_collapsed(struct trace_views *views);

#endif
