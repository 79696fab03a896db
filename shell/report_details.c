// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report_details.h"

#include "lib/cleanup.h"
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/path.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_TEXT = 6 << 10,       // bytes of one text of an object
	MAX_TEXTS = 1200 << 10,   // of all of them; each may be twice as long as JSON
	MAX_STEPS = 4000,         // of a path that is written down
	MAX_WORK = 200 * 1000000, // objects that all searches for paths may look at
	MAX_LINES = 4000,
};

int report_details_add(struct report_details *details, heap_object_id object)
{
	if (object == HEAP_NO_OBJECT)
		return REPORT_NO_DETAIL;
	for (int i = 0; i < details->count; i++) {
		if (details->objects[i] == object)
			return i;
	}
	if (details->count == REPORT_MAX_DETAILS)
		return REPORT_NO_DETAIL;
	details->objects[details->count] = object;
	return details->count++;
}

void report_details_refer(struct report_details *details, struct session *session, const char *key,
			  heap_object_id object)
{
	int number = report_details_add(details, object);

	if (number != REPORT_NO_DETAIL)
		output_number(session->output, key, (uint64_t)number);
}

// --- texts of commands ----------------------------------------------------------

struct capture {
	struct output *before;
	FILE *stream;
	char *text;
	size_t size;
};

// From now on what is told to the output is text, and kept.
HEAP_MUST_CHECK
static struct heap_error *begin_capture(struct session *session, struct capture *capture)
{
	struct output *output = NULL;

	*capture = (struct capture){ .before = session->output };
	capture->stream = open_memstream(&capture->text, &capture->size);
	if (capture->stream)
		output = output_create(capture->stream, OUTPUT_TEXT, false);
	if (!output) {
		if (capture->stream)
			fclose(capture->stream);
		free(capture->text);
		return heap_error_out_of_memory();
	}
	session->output = output;
	return NULL;
}

// @return the text, cut at the end of a line if it is long; the session's
static const char *end_capture(struct session *session, struct capture *capture)
{
	output_destroy(session->output);
	session->output = capture->before;
	if (fclose(capture->stream) != 0) {
		free(capture->text);
		return "";
	}
	if (capture->size > MAX_TEXT) {
		static const char more[] = "  …\n";
		char *end = memrchr(capture->text, '\n', MAX_TEXT - sizeof(more));

		strcpy(end ? end + 1 : capture->text, more);
	}
	return session_keep(session, capture->text);
}

// What `show` says, without its first line.
HEAP_MUST_CHECK
static struct heap_error *capture_show(struct session *session, heap_object_id object,
				       const char **result)
{
	char name[] = "show", address[32];
	char *words[] = { name, address, NULL };
	struct capture capture;
	struct heap_error *error = begin_capture(session, &capture);

	if (error)
		return error;
	snprintf(address, sizeof(address), "%#" PRIx64, session->snapshot->address[object]);
	session->lines_left = MAX_LINES;
	show_command.run(session, 2, words);
	session->lines_left = MAX_LINES;

	const char *text = end_capture(session, &capture);
	const char *line = strchr(text, '\n');

	*result = line ? line + 1 : "";
	return NULL;
}

// A way from a root, as `path` says it; "" if there is none or finding it takes too long.
HEAP_MUST_CHECK
static struct heap_error *capture_path(struct session *session, heap_object_id object,
				       uint64_t *work, const char **result)
{
	struct capture capture;
	struct heap_path path;
	struct heap_error *error = NULL;

	*result = "";
	if (*work > MAX_WORK || !session->graph->reach[object])
		return NULL;
	error = heap_path_find(session->graph, object, &path);
	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		return NULL;
	}
	if (error)
		return error;
	*work += path.count + session->snapshot->object_count / 64;
	if (path.count > MAX_STEPS)
		*result = session_format(session, "… %zu steps from a root\n", path.count);
	else
		error = begin_capture(session, &capture);
	if (!error && !**result) {
		path_print(session, NULL, &path, "");
		*result = end_capture(session, &capture);
	}
	heap_path_deinit(&path);
	return error;
}

// --- objects --------------------------------------------------------------------

// Of an object nothing more is said once the texts are used up.
HEAP_MUST_CHECK
static struct heap_error *write_texts(struct session *session, heap_object_id object,
				      uint64_t *work, size_t *written)
{
	const char *show, *path;
	struct heap_error *error;

	if (*written > MAX_TEXTS)
		return NULL;
	error = capture_show(session, object, &show);
	if (!error)
		error = capture_path(session, object, work, &path);
	if (error)
		return error;
	output_string(session->output, "show", show);
	if (*path)
		output_string(session->output, "path", path);
	*written += strlen(show) + strlen(path);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_object(struct session *session, heap_object_id object,
				       uint64_t *work, size_t *written)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_node_id holder = session->dominators->nearest[object];
	bool reachable = session->graph->reach[object];
	struct output *output = session->output;
	struct heap_error *error;

	output_open_object(output, NULL);
	output_string(output, "name", describe_object(session, object));
	output_address(output, "address", snapshot->address[object]);
	output_number(output, "size", snapshot->size[object]);
	output_number(output, "retained", session->dominators->retained[object]);
	output_string(output, "held_by",
		      holder != HEAP_NO_NODE ? describe_node(session, holder)
		      : reachable            ? "several roots"
					     : "nothing: no root reaches it");
	error = write_texts(session, object, work, written);
	output_close(output);
	return error;
}

struct heap_error *report_details_write(const struct report_details *details,
					struct session *session)
{
	struct heap_error *error = heap_graph_need_reach(session->graph);
	size_t written = 0;
	uint64_t work = 0;

	output_open_array(session->output, "objects");
	for (int i = 0; !error && i < details->count; i++) {
		const void *mark = session_mark(session);

		error = heap_progress_report(&session->progress.progress, "objects", (uint64_t)i,
					     (uint64_t)details->count);
		if (!error)
			error = write_object(session, details->objects[i], &work, &written);
		session_release(session, mark);
	}
	output_close(session->output);
	return error;
}
