// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/details.h"

#include "lib/base/cleanup.h"
#include "lib/graph/path_tree.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/print/path.h"
#include "shell/report/text.h"
#include "shell/tables/root_sizes.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_TEXT = 6 << 10,     // bytes of one text of an object
	MAX_TEXTS = 1500 << 10, // of all of them together, as written to the page
	MAX_STEPS = 4000,       // of a path that is written down
	MAX_LINES = 4000,
	MAX_PATHS = 3, // of an object in a heap that is not large
	LARGE = 20000, // objects
	MAX_NEIGHBOURS = 12,
};

static int add(struct report_details *details, heap_object_id object, int limit)
{
	if (object == HEAP_NO_OBJECT)
		return REPORT_NO_DETAIL;
	for (int i = 0; i < details->count; i++) {
		if (details->objects[i] == object)
			return i;
	}
	if (details->count >= limit)
		return REPORT_NO_DETAIL;
	details->objects[details->count] = object;
	return details->count++;
}

int report_details_add(struct report_details *details, heap_object_id object)
{
	return add(details, object, REPORT_MAX_ASKED);
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

// Redirects the output to a buffer, as text.
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

// @return the text, truncated at the end of a line if it is long; owned by the session
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

// Captures the output of `show`, without its first line.
HEAP_MUST_CHECK
static struct heap_error *capture_show(struct session *session, heap_object_id object,
				       const char **result)
{
	char name[] = "show", address[32];
	char *words[] = { name, address, NULL };
	struct capture capture;

	HEAP_TRY(begin_capture(session, &capture));
	snprintf(address, sizeof(address), "%#" PRIx64, session->snapshot->address[object]);
	session->lines_left = MAX_LINES;
	show_command.run(session, 2, words);
	session->lines_left = MAX_LINES;

	const char *text = end_capture(session, &capture);
	const char *line = strchr(text, '\n');

	*result = line ? line + 1 : "";
	return NULL;
}

// Captures one path from a root, as `path` prints it.
HEAP_MUST_CHECK
static struct heap_error *capture_path(struct session *session, const struct heap_path *path,
				       const char **result)
{
	struct capture capture;

	if (path->count > MAX_STEPS) {
		*result = session_format(session, "… %zu steps from a root\n", path->count);
		return NULL;
	}
	HEAP_TRY(begin_capture(session, &capture));
	path_print(session, NULL, path, "");
	*result = end_capture(session, &capture);
	return NULL;
}

// --- objects --------------------------------------------------------------------

struct writing {
	struct session *session;
	struct report_details *details;
	size_t written; // of texts
	bool large;
	struct heap_path_tree typed_ways, ways; // of a large heap
};

// Adds the objects that a reader is likely to visit next: referrers and targets.
static void add_neighbours(struct writing *writing, heap_object_id object)
{
	const struct heap_snapshot *snapshot = writing->session->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	const struct heap_divided *divided = writing->session->divided;
	heap_node_id holder = heap_divided_holder(divided, object);

	if (heap_divided_is_object(divided, holder))
		add(writing->details, heap_divided_block(divided, holder), REPORT_MAX_DETAILS);
	for (uint32_t i = first; i < end && i < first + MAX_NEIGHBOURS; i++)
		add(writing->details, snapshot->edge_target[i], REPORT_MAX_DETAILS);
}

static void add_steps(struct writing *writing, const struct heap_path *path)
{
	const struct heap_snapshot *snapshot = writing->session->snapshot;

	add(writing->details, snapshot->root_edges[path->root_edge].target, REPORT_MAX_DETAILS);
	for (size_t i = 0; i < path->count && i < MAX_NEIGHBOURS; i++)
		add(writing->details, snapshot->edge_target[path->edges[i]], REPORT_MAX_DETAILS);
}

// In a large heap a search per object would take too long, so one search serves all.
HEAP_MUST_CHECK
static struct heap_error *find_path(const struct writing *writing, heap_object_id object,
				    struct heap_path *path, size_t *count)
{
	struct heap_error *error = heap_path_tree_find(&writing->typed_ways, object, path);

	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		error = heap_path_tree_find(&writing->ways, object, path);
	}
	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		return NULL;
	}
	*count = error ? 0 : 1;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *write_paths(struct writing *writing, heap_object_id object)
{
	struct session *session = writing->session;
	struct heap_path paths[MAX_PATHS];
	size_t count = 0;
	struct heap_error *error =
		writing->large ? find_path(writing, object, paths, &count)
			       : heap_paths_find(session->graph, session->divided, object, NULL,
						 MAX_PATHS, paths, &count);

	output_open_array(session->output, "paths");
	for (size_t i = 0; i < count; i++) {
		const char *text = "";

		if (!error)
			error = capture_path(session, &paths[i], &text);
		output_string(session->output, NULL, text);
		add_steps(writing, &paths[i]);
		writing->written += report_weight(text);
		heap_path_deinit(&paths[i]);
	}
	output_close(session->output);
	return error;
}

// Omits an object's texts once the budget for texts is used up.
HEAP_MUST_CHECK
static struct heap_error *write_texts(struct writing *writing, heap_object_id object)
{
	const char *show;

	if (writing->written > MAX_TEXTS)
		return NULL;
	HEAP_TRY(capture_show(writing->session, object, &show));
	output_string(writing->session->output, "show", show);
	writing->written += report_weight(show);
	HEAP_TRY(write_paths(writing, object));
	add_neighbours(writing, object);
	return NULL;
}

static const char *describe_holder(struct session *session, heap_object_id object)
{
	heap_node_id holder = heap_divided_holder(session->divided, object);
	const char *holders = "several roots";

	if (holder != HEAP_NO_NODE)
		return report_name(session, node_describe(session, holder));
	if (!session->graph->reach[object])
		return "nothing: no root reaches it";
	heap_error_destroy(root_holders_of(session, object, &holders));
	return report_name(session, holders);
}

HEAP_MUST_CHECK
static struct heap_error *write_object(struct writing *writing, heap_object_id object)
{
	struct session *session = writing->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	struct heap_error *error;

	output_open_object(output, NULL);
	output_string(output, "name", report_name(session, describe_object(session, object)));
	output_address(output, "address", snapshot->address[object]);
	output_number(output, "size", snapshot->size[object]);
	output_number(output, "retained", session_retained(session, object));
	output_string(output, "held_by", describe_holder(session, object));
	error = write_texts(writing, object);
	output_close(output);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct writing *writing)
{
	struct heap_graph *graph = writing->session->graph;

	HEAP_TRY(heap_graph_need_reach(graph));
	writing->large = graph->snapshot->object_count > LARGE;
	if (writing->large)
		HEAP_TRY(heap_path_tree_init(&writing->typed_ways, graph, true));
	if (writing->large)
		HEAP_TRY(heap_path_tree_init(&writing->ways, graph, false));
	return NULL;
}

struct heap_error *report_details_write(struct report_details *details, struct session *session)
{
	struct writing writing = { .session = session, .details = details };
	struct heap_error *error = prepare(&writing);

	output_open_array(session->output, "objects");
	// Objects that are added meanwhile come after these.
	for (int i = 0; !error && i < details->count; i++) {
		const void *mark = session_mark(session);

		error = heap_progress_report(&session->progress.progress, "objects", (uint64_t)i,
					     (uint64_t)details->count);
		if (!error)
			error = write_object(&writing, details->objects[i]);
		session_release(session, mark);
	}
	output_close(session->output);
	heap_path_tree_deinit(&writing.typed_ways);
	heap_path_tree_deinit(&writing.ways);
	return error;
}
