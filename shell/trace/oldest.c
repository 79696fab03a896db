// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/oldest.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"
#include "lib/graph/path_tree.h"
#include "shell/print/describe.h"
#include "shell/print/path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1024,
	MAX_DIGITS = 9,
};

static const char suffix[] = ".oldest";

// --- the file beside a trace -----------------------------------------------------

struct serials HEAP_ARRAY(uint32_t);

static int compare_latest_first(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a < *b) - (*a > *b);
}

// The number in "app.trace.07.oldest". @return false if it is another file
static bool read_serial(const char *file, const char *trace, uint32_t *serial)
{
	size_t length = strlen(trace), digits;

	if (strncmp(file, trace, length) != 0 || file[length] != '.')
		return false;
	file += length + 1;
	digits = strspn(file, "0123456789");
	*serial = (uint32_t)strtoul(file, NULL, 10);
	return digits > 0 && digits <= MAX_DIGITS && strcmp(file + digits, suffix) == 0;
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

// @param length  of the directory's name in @p path, with its slash
HEAP_MUST_CHECK
static struct heap_error *list_serials(const char *path, int length, struct serials *serials)
{
	CLEANUP_FREE char *name = NULL;

	if (asprintf(&name, "%.*s", length, path) < 0) {
		name = NULL;
		return heap_error_out_of_memory();
	}

	CLEANUP(close_directory) DIR *directory = opendir(length ? name : ".");

	for (const struct dirent *entry; directory && (entry = readdir(directory));) {
		uint32_t serial;

		if (read_serial(entry->d_name, path + length, &serial))
			HEAP_TRY(heap_array_append(serials, serial));
	}
	if (serials->count > 0)
		qsort(serials->items, serials->count, sizeof(*serials->items),
		      compare_latest_first);
	return NULL;
}

struct heap_error *trace_oldest_open(struct trace_holders *holders, const char *path,
				     const struct heap_trace_info *trace, struct output *output,
				     char **found)
{
	CLEANUP_ARRAY struct serials serials = { 0 };

	*found = NULL;
	*holders = (struct trace_holders){ .session = { .errors = stderr, .output = output } };
	HEAP_TRY(list_serials(path, (int)(heap_base_name(path) - path), &serials));
	for (size_t i = 0; i < serials.count; i++) {
		CLEANUP_FREE char *name = NULL;
		struct heap_error *error;

		if (asprintf(&name, "%s.%02" PRIu32 "%s", path, serials.items[i], suffix) < 0) {
			name = NULL;
			return heap_error_out_of_memory();
		}
		error = trace_holders_open(holders, name, trace, output);
		if (!error) {
			*found = keep(name);
			return NULL;
		}
		if (heap_error_code(error) != HEAP_ERROR_ARGUMENT)
			return error;
		// An earlier trace of that name left it.
		heap_error_destroy(error);
		trace_holders_close(holders);
		*holders =
			(struct trace_holders){ .session = { .errors = stderr, .output = output } };
	}
	return NULL;
}

// --- printing --------------------------------------------------------------------

static int compare_ages(const void *left, const void *right)
{
	const struct trace_sample *a = left, *b = right;

	if (a->born_us != b->born_us)
		return a->born_us < b->born_us ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

// @param died_only_later  what was freed after the snapshot is there in it
static void sort_by_age(struct trace_samples *samples, bool died_only_later)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < samples->count; i++) {
		if (died_only_later || samples->samples[i].died_us == TRACE_ALIVE)
			samples->samples[kept++] = samples->samples[i];
	}
	samples->count = kept;
	if (kept > 0)
		qsort(samples->samples, kept, sizeof(*samples->samples), compare_ages);
}

HEAP_MUST_CHECK
static struct heap_error *print_path(struct session *session, const struct heap_path_tree *paths,
				     heap_object_id object)
{
	CLEANUP(heap_path_deinit) struct heap_path path = { 0 };
	struct heap_error *error = heap_path_tree_find(paths, object, &path);

	describe_object_json(session, "object", object);
	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		output_text(session->output, "  nothing: leaked\n    → %s\n",
			    describe_object(session, object));
		output_boolean(session->output, "leaked", true);
		return NULL;
	}
	HEAP_TRY(error);
	path_print(session, "path", &path, "  ");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_sample(struct trace_holders *holders,
				       const struct trace_samples *samples,
				       const struct heap_path_tree *paths,
				       const struct trace_sample *sample, uint64_t now_us)
{
	struct session *session = &holders->session;
	uint64_t age_us = now_us > sample->born_us ? now_us - sample->born_us : 0;
	struct output *output = session->output;
	char site[TEXT_MAX];
	SESSION_SCOPE(session);

	HEAP_TRY(trace_site_text(samples, sample->step, site, sizeof(site)));
	output_text(output, "\n%s  %s  %s\n", describe_duration(session, age_us * 1000),
		    describe_bytes(session, sample->size), site);
	output_open_object(output, NULL);
	output_number(output, "number", sample->number);
	output_number(output, "born_us", sample->born_us);
	output_number(output, "age_us", age_us);
	output_number(output, "size", sample->size);
	output_number(output, "thread", sample->born_by);
	output_string(output, "site", site);
	if (paths->graph)
		HEAP_TRY(print_path(session, paths,
				    trace_holders_find(holders, sample->number)->object));
	output_close(output);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_paths(struct session *session, struct heap_path_tree *paths)
{
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SLOTS));
	HEAP_TRY(session_graph(session));
	return heap_path_tree_init(paths, session->graph, false);
}

struct heap_error *trace_oldest_print(struct trace_holders *holders, struct trace_samples *samples,
				      const char *snapshot, uint64_t limit)
{
	CLEANUP(heap_path_tree_deinit) struct heap_path_tree paths = { 0 };
	uint64_t now_us =
		snapshot ? trace_holders_time_us(holders) : heap_trace_info(samples->trace)->end_us;
	struct session *session = &holders->session;
	struct output *output = session->output;
	SESSION_SCOPE(session);

	sort_by_age(samples, snapshot);
	output_text(output,
		    "%s, %s from the trace's beginning: %" PRIu32
		    " sampled blocks, the oldest first\n",
		    snapshot ? snapshot : "The end", describe_duration(session, now_us * 1000),
		    samples->count);
	if (snapshot)
		output_string(output, "snapshot", snapshot);
	output_number(output, "time_us", now_us);
	output_number(output, "samples", samples->count);
	if (snapshot)
		HEAP_TRY(find_paths(session, &paths));
	else
		output_text(
			output,
			"What holds them is not known: there is neither a snapshot (--snapshot) "
			"nor a file of\nheapsnap run --oldest beside the trace\n");
	output_open_array(output, "oldest");
	for (uint32_t i = 0; i < samples->count && i < limit; i++)
		HEAP_TRY(print_sample(holders, samples, &paths, &samples->samples[i], now_us));
	output_close(output);
	return NULL;
}
