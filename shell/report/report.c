// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/report.h"

#include "lib/base/cleanup.h"
#include "shell/series/candidates.h"
#include "shell/base/new_file.h"
#include "shell/web/page.h"
#include "shell/report/data.h"
#include "shell/web/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	FEWEST_FOR_LEAKS = 3, // snapshots
};

// Writes the data to memory; its size is bounded.
HEAP_MUST_CHECK
static struct heap_error *make_data(struct session *session, struct report_series *series,
				    const struct candidates *leaks, char **data, size_t *size)
{
	struct output *before = session->output;
	FILE *stream = open_memstream(data, size);
	struct output *output = stream ? output_create(stream, OUTPUT_JSON, false) : NULL;
	struct heap_error *error;

	if (!output) {
		if (stream)
			fclose(stream);
		return heap_error_out_of_memory();
	}
	session->output = output;
	error = report_data_write(session, series, leaks);
	session->output = before;
	if (!output_finish(output) && !error)
		error = heap_error_out_of_memory();
	output_destroy(output);
	if (fclose(stream) != 0 && !error)
		error = heap_error_out_of_memory();
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *write_file(const char *path, struct session *session,
				     struct report_series *series, const struct candidates *leaks,
				     uint64_t *bytes)
{
	CLEANUP_FREE char *data = NULL;
	size_t size = 0;
	struct new_file file;

	HEAP_TRY(make_data(session, series, leaks, &data, &size));
	if (session_interrupted)
		return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted; %s is not written",
					 path);
	HEAP_TRY(new_file_open(&file, path));
	page_write(file.stream, report_frame(), session->snapshot->info.program, data, size);
	*bytes = (uint64_t)ftell(file.stream);
	return new_file_close(&file, NULL);
}

// --- from snapshots ---------------------------------------------------------------

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

struct heap_error *report_write_one(const char *path, struct session *session, uint64_t *bytes)
{
	CLEANUP(report_series_deinit) struct report_series told = { 0 };

	HEAP_TRY(report_series_init(&told));
	HEAP_TRY(report_series_add(&told, session, base_name(session->snapshot->path)));
	return write_file(path, session, &told, NULL, bytes);
}

// The series owns the snapshots, and closes them.
static void leave_snapshot(struct session *session)
{
	progress_end(&session->progress);
	session_release(session, NULL);
	session->snapshot = NULL;
	session_switch(session, NULL);
}

HEAP_MUST_CHECK
static struct heap_error *read_file(struct heap_series *series, struct report_series *told,
				    struct session *session, const char *file)
{
	struct heap_snapshot *snapshot;

	HEAP_TRY(heap_snapshot_open(file, &snapshot));
	leave_snapshot(session);
	HEAP_TRY(heap_series_add(series, snapshot));
	session->snapshot = heap_series_latest(series);
	return report_series_add(told, session, base_name(file));
}

HEAP_MUST_CHECK
static struct heap_error *write_last(const char *path, struct heap_series *series,
				     struct report_series *told, struct session *session,
				     uint64_t *bytes)
{
	static const struct candidates_options all = { .by = CANDIDATES_BY_KIND };
	bool has_leaks = heap_series_length(series) >= FEWEST_FOR_LEAKS;
	CLEANUP(candidates_deinit) struct candidates leaks = { 0 };

	if (has_leaks)
		HEAP_TRY(candidates_find(&leaks, &all, session, series, &told->kinds,
					 told->by_kind));
	return write_file(path, session, told, has_leaks ? &leaks : NULL, bytes);
}

struct heap_error *report_write_series(const char *path, struct session *session,
				       char *const *files, size_t count, report_listener *listen,
				       void *context, uint64_t *bytes)
{
	struct heap_series *series = NULL;
	struct report_series told = { 0 };
	struct heap_error *error = heap_series_create(&series);

	if (!error)
		error = report_series_init(&told);
	for (size_t i = 0; i < count && !error; i++) {
		if (listen)
			listen(context, i, files[i]);
		error = read_file(series, &told, session, files[i]);
	}
	if (!error)
		error = write_last(path, series, &told, session, bytes);
	leave_snapshot(session);
	report_series_deinit(&told);
	heap_series_destroy(series);
	return error;
}
