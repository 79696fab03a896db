// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/views.h"

#include "lib/base/cleanup.h"
#include "lib/query/comparison.h"
#include "shell/base/table.h"
#include "shell/trace/tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	BAR = 40, // characters of the timeline
	ROWS = 20,
	DECADES = 10, // of lifetimes: below 10 µs, 100 µs... and alive
	PRUNING = 200,
};

// --- texts -------------------------------------------------------------------------

static const char *bytes_text(struct trace_views *views, double bytes)
{
	return format_bytes((uint64_t)llround(bytes), views->text[views->turn++ % 4]);
}

static const char *time_text(struct trace_views *views, uint64_t us)
{
	char *text = views->text[views->turn++ % 4];

	if (us < 1000)
		snprintf(text, FORMAT_BYTES_MAX, "%" PRIu64 " µs", us);
	else if (us < 1000000)
		snprintf(text, FORMAT_BYTES_MAX, "%.1f ms", (double)us / 1e3);
	else
		snprintf(text, FORMAT_BYTES_MAX, "%.2f s", (double)us / 1e6);
	return text;
}

static void print_estimate(struct trace_views *views, const char *key,
			   const struct trace_estimate *sum)
{
	output_open_object(views->output, key);
	output_number(views->output, "samples", sum->samples);
	output_real(views->output, "objects", sum->objects);
	output_real(views->output, "bytes", sum->bytes);
	output_real(views->output, "error", trace_estimate_error(sum));
	output_close(views->output);
}

static struct trace_estimate sum_at(const struct trace_views *views, enum trace_moment moment,
				    uint64_t time_us)
{
	struct trace_estimate sum = { 0 };

	for (uint32_t i = 0; i < views->samples.count; i++) {
		const struct trace_sample *sample = &views->samples.samples[i];

		if (moment == TRACE_ALLOCATED || trace_is_live(sample, time_us))
			trace_estimate_add(&sum, &views->samples, sample);
	}
	return sum;
}

enum trace_moment trace_views_moment(const struct trace_views *views, uint64_t *time_us)
{
	const char *by = views->by;

	*time_us = heap_trace_info(views->samples.trace)->end_us;
	if (strcmp(by, "allocated") == 0)
		return TRACE_ALLOCATED;
	if (strcmp(by, "peak") == 0)
		*time_us = views->peak_us;
	else if (strcmp(by, "end") != 0)
		heap_parse_time(by, by + strlen(by), time_us);
	return TRACE_AT;
}

// --- views -------------------------------------------------------------------------

void trace_views_summary(struct trace_views *views)
{
	const struct heap_trace_info *info = heap_trace_info(views->samples.trace);
	struct trace_estimate allocated = sum_at(views, TRACE_ALLOCATED, 0);
	struct trace_estimate peak = sum_at(views, TRACE_AT, views->peak_us);
	struct trace_estimate end = sum_at(views, TRACE_AT, info->end_us);
	const time_t seconds = (time_t)(info->start_ns / 1000000000);
	char date[64] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(date, sizeof(date), "%F %T", &local);
	output_text(views->output, "%s (pid %" PRIu32 "), %s, for %s; 1 sample in %s%s\n",
		    info->program, info->pid, date, time_text(views, info->end_us),
		    bytes_text(views, (double)info->mean), info->ended ? "" : "; cut off");
	output_string(views->output, "program", info->program);
	output_number(views->output, "pid", info->pid);
	output_number(views->output, "start_ns", info->start_ns);
	output_number(views->output, "end_us", info->end_us);
	output_number(views->output, "mean", info->mean);
	output_boolean(views->output, "ended", info->ended);
	output_number(views->output, "dropped", info->dropped);
	output_number(views->output, "peak_us", views->peak_us);
	output_text(views->output, "allocated  %10s ±%s, %.0f objects (%" PRIu64 " samples)\n",
		    bytes_text(views, allocated.bytes),
		    bytes_text(views, trace_estimate_error(&allocated)), allocated.objects,
		    allocated.samples);
	print_estimate(views, "allocated", &allocated);
	output_text(views->output, "peak       %10s ±%s at %s\n", bytes_text(views, peak.bytes),
		    bytes_text(views, trace_estimate_error(&peak)),
		    time_text(views, views->peak_us));
	print_estimate(views, "peak", &peak);
	output_text(views->output, "at the end %10s ±%s\n", bytes_text(views, end.bytes),
		    bytes_text(views, trace_estimate_error(&end)));
	print_estimate(views, "end", &end);
	if (info->dropped > 0)
		output_text(views->output, "%" PRIu64 " events are missing: sums are too low\n",
			    info->dropped);
}

void trace_views_timeline(struct trace_views *views)
{
	const struct heap_trace_info *info = heap_trace_info(views->samples.trace);
	double most = sum_at(views, TRACE_AT, views->peak_us).bytes;

	output_text(views->output, "%10s %12s\n", "time", "live");
	output_open_array(views->output, "timeline");
	for (uint64_t i = 0; i <= ROWS; i++) {
		uint64_t time = (uint64_t)((double)info->end_us * (double)i / ROWS);
		struct trace_estimate sum = sum_at(views, TRACE_AT, time);
		int length = most > 0 ? (int)(sum.bytes / most * BAR + 0.5) : 0;

		output_text(views->output, "%10s %12s  %.*s\n", time_text(views, time),
			    bytes_text(views, sum.bytes), length,
			    "########################################");
		output_open_object(views->output, NULL);
		output_number(views->output, "time_us", time);
		print_estimate(views, "live", &sum);
		output_close(views->output);
	}
	output_close(views->output);
}

void trace_views_lifetimes(struct trace_views *views)
{
	struct trace_estimate sums[DECADES + 1] = { { 0 } };
	uint64_t limit = 10;

	for (uint32_t i = 0; i < views->samples.count; i++) {
		const struct trace_sample *sample = &views->samples.samples[i];
		int decade = 0;

		for (uint64_t bound = 10;
		     decade < DECADES - 1 && sample->died_us - sample->born_us >= bound;
		     bound *= 10)
			decade++;
		if (sample->died_us == TRACE_ALIVE)
			decade = DECADES;
		trace_estimate_add(&sums[decade], &views->samples, sample);
	}
	output_text(views->output, "%14s %12s %12s\n", "lifetime", "objects", "bytes");
	output_open_array(views->output, "lifetimes");
	for (int i = 0; i <= DECADES; i++, limit *= 10) {
		bool is_last = i >= DECADES - 1;

		if (sums[i].samples == 0)
			continue;
		output_text(views->output, "%3s %10s %12.0f %12s\n",
			    i == DECADES ? ""
			    : is_last    ? ">="
					 : "<",
			    i == DECADES ? "alive" : time_text(views, is_last ? limit / 10 : limit),
			    sums[i].objects, bytes_text(views, sums[i].bytes));
		output_open_object(views->output, NULL);
		if (!is_last)
			output_number(views->output, "below_us", limit);
		output_boolean(views->output, "alive", i == DECADES);
		print_estimate(views, "sum", &sums[i]);
		output_close(views->output);
	}
	output_close(views->output);
}

// A tree that is printed.
struct nodes {
	const struct trace_tree *tree;
	bool prunes; // small branches
};

// The JSON keys of arrays of nodes, by depth; the last one repeats.
static const char *const call_keys[] = { "places", "calls", NULL };
static const char *const holder_keys[] = { "places", "types", "holders", NULL };

// @param keys  from here on
static void print_nodes(struct trace_views *views, const struct nodes *nodes, uint32_t parent,
			const char *indent, unsigned depth, const char *const *keys)
{
	const struct trace_tree *tree = nodes->tree;
	double all = tree->nodes[0].sum.bytes;
	uint64_t told = 0;

	output_open_array(views->output, *keys);
	for (uint32_t i = tree->nodes[parent].child; i; i = tree->nodes[i].next) {
		const struct trace_node *node = &tree->nodes[i];
		char below[512];

		if (told++ == views->limit ||
		    (depth && nodes->prunes && node->sum.bytes < all / PRUNING))
			break;
		table_row(views->output, "%12s\t%10s\t%12.0f\t%5.1f\t%s%s",
			  bytes_text(views, node->sum.bytes),
			  bytes_text(views, trace_estimate_error(&node->sum)), node->sum.objects,
			  all > 0 ? 100 * node->sum.bytes / all : 0, indent, node->text);
		output_open_object(views->output, NULL);
		output_string(views->output, "place", node->text);
		print_estimate(views, "sum", &node->sum);
		snprintf(below, sizeof(below), "%s  ", indent);
		if (node->child && depth < 200)
			print_nodes(views, nodes, i, below, depth + 1, keys[1] ? keys + 1 : keys);
		output_close(views->output);
	}
	output_close(views->output);
}

struct heap_error *trace_views_tree(struct trace_views *views, bool upwards, uint32_t depth)
{
	CLEANUP(trace_tree_deinit) struct trace_tree tree = { 0 };
	uint64_t time_us;
	enum trace_moment moment = trace_views_moment(views, &time_us);

	HEAP_TRY(trace_tree_init(&tree, &views->samples, moment, time_us, upwards, depth));
	table_header(views->output, "0231", "%12s\t%10s\t%12s\t%5s\t%s", "bytes", "±", "objects",
		     "%", upwards ? "site" : "call");
	print_nodes(views, &(struct nodes){ &tree, true }, 0, "", 0, call_keys);
	return NULL;
}

struct heap_error *trace_views_holders(struct trace_views *views)
{
	uint64_t time_us = trace_holders_time_us(&views->holders);
	CLEANUP(trace_tree_deinit) struct trace_tree tree = { 0 };

	HEAP_TRY(trace_holders_tree(&views->holders, &views->samples, &tree));
	output_text(views->output,
		    "%s, %s from the trace's beginning: %" PRIu32 " samples are there\n\n",
		    views->snapshot, time_text(views, time_us), views->samples.count);
	table_header(views->output, "0231", "%12s\t%10s\t%12s\t%5s\t%s", "bytes", "±", "objects",
		     "%", "site, type, held by");
	output_string(views->output, "snapshot", views->snapshot);
	output_number(views->output, "time_us", time_us);
	output_number(views->output, "samples", views->samples.count);
	print_nodes(views, &(struct nodes){ &tree, false }, 0, "", 0, holder_keys);
	return NULL;
}

// A line per call path: "main;serve;grow 4096".
static void print_collapsed(struct trace_views *views, const struct trace_tree *tree, uint32_t node,
			    const char *before)
{
	double bytes = tree->nodes[node].sum.bytes;
	CLEANUP_FREE char *path = NULL;

	if (node && asprintf(&path, "%s%s%.*s", before, *before ? ";" : "",
			     (int)strcspn(tree->nodes[node].text, ";"), tree->nodes[node].text) < 0)
		path = NULL;
	for (uint32_t i = tree->nodes[node].child; i; i = tree->nodes[i].next) {
		bytes -= tree->nodes[i].sum.bytes;
		print_collapsed(views, tree, i, path ? path : "");
	}
	if (path && llround(bytes) > 0)
		output_text(views->output, "%s %lld\n", path, llround(bytes));
}

struct heap_error *trace_views_collapsed(struct trace_views *views)
{
	CLEANUP(trace_tree_deinit) struct trace_tree tree = { 0 };
	uint64_t time_us;
	enum trace_moment moment = trace_views_moment(views, &time_us);

	HEAP_TRY(trace_tree_init(&tree, &views->samples, moment, time_us, false, UINT32_MAX));
	print_collapsed(views, &tree, 0, "");
	return NULL;
}
