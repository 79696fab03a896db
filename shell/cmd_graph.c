// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * inrefs, outrefs, path, retained: an object's place in the graph.
 */
#include "lib/cleanup.h"
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/field.h"
#include "shell/format.h"

#include <inttypes.h>

// What all of them begin with: one operand, descriptions, the graph.
HEAP_MUST_CHECK
static struct heap_error *prepare(struct session *session, const char *word, heap_object_id *object)
{
	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_parse_object(session, word, object);
	if (!error)
		error = session_graph(session);
	return error;
}

static const char *edge_remark(struct session *session, uint32_t interior, uint8_t flags)
{
	const char *into = interior ? session_format(session, " + %" PRIu32, interior) : "";

	return session_format(session, "%s%s", into, flags & HEAP_EDGE_TYPED ? "" : " (untyped)");
}

static void print_edge_json(struct session *session, const char *field, uint32_t interior,
			    uint8_t flags)
{
	output_string(session->output, "field", field);
	output_number(session->output, "interior", interior);
	output_boolean(session->output, "typed", flags & HEAP_EDGE_TYPED);
}

// --- outrefs -----------------------------------------------------------------

static enum command_status outrefs_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	heap_object_id object;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = prepare(session, argv[1], &object);

	if (error)
		return command_fail(session, error);

	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	output_open_array(output, NULL);
	for (uint32_t i = first; i < end && !session_must_stop(session); i++) {
		const char *field =
			field_of_object(session, object, (uint64_t)snapshot->edge_slot[i] * 8);

		output_text(
			output, "%s = %s%s\n", field,
			describe_object(session, snapshot->edge_target[i]),
			edge_remark(session, snapshot->edge_interior[i], snapshot->edge_flags[i]));
		session_remember(session, snapshot->edge_target[i]);
		output_open_object(output, NULL);
		print_edge_json(session, field, snapshot->edge_interior[i],
				snapshot->edge_flags[i]);
		describe_object_json(session, "object", snapshot->edge_target[i]);
		output_close(output);
	}
	output_close(output);
	return end > first ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command outrefs_command = {
	.name = "outrefs",
	.synopsis = "OBJ",
	.summary = "the objects that an object points to",
	.details = "Field by field, marked as `inrefs` does.\n\n"
		   "  outrefs 0x5ed26d8",
	.run = outrefs_run,
	.words = WORDS_OBJECT,
};

// --- inrefs ------------------------------------------------------------------

static void print_root_reference(struct session *session, const struct heap_root_edge *edge)
{
	const char *field = field_of_root(session, edge->root, edge->offset);

	output_text(session->output, "%s%s%s%s\n", field, *field ? " of " : "",
		    describe_root(session, edge->root),
		    edge_remark(session, edge->interior, edge->flags));
	output_open_object(session->output, NULL);
	print_edge_json(session, field, edge->interior, edge->flags);
	describe_root_json(session, "root", edge->root);
	output_close(session->output);
}

static void print_reference(struct session *session, uint32_t edge, heap_object_id source)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *field =
		field_of_object(session, source, (uint64_t)snapshot->edge_slot[edge] * 8);

	output_text(
		session->output, "%s of %s%s\n", field, describe_object(session, source),
		edge_remark(session, snapshot->edge_interior[edge], snapshot->edge_flags[edge]));
	session_remember(session, source);
	output_open_object(session->output, NULL);
	print_edge_json(session, field, snapshot->edge_interior[edge], snapshot->edge_flags[edge]);
	describe_object_json(session, "object", source);
	output_close(session->output);
}

static enum command_status inrefs_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = prepare(session, argv[1], &object);

	if (error)
		return command_fail(session, error);

	const struct heap_graph *graph = session->graph;
	uint32_t root_first = graph->root_in_first[object];
	uint32_t root_end = graph->root_in_first[object + 1];
	uint32_t first = graph->in_first[object], end = graph->in_first[object + 1];

	output_open_array(session->output, NULL);
	for (uint32_t i = root_first; i < root_end; i++)
		print_root_reference(session, &snapshot->root_edges[graph->root_in[i]]);
	for (uint32_t i = first; i < end && !session_must_stop(session); i++)
		print_reference(session, graph->in_edge[i], graph->in_source[i]);
	output_close(session->output);
	return root_end > root_first || end > first ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command inrefs_command = {
	.name = "inrefs",
	.synopsis = "OBJ",
	.summary = "the roots and objects that point to an object",
	.details = "A pointer into its middle is said by + BYTES, one that the holder's type does "
		   "not\n"
		   "know of by (untyped).\n\n"
		   "  inrefs 0x5ed26d8\n"
		   "  inrefs $1",
	.run = inrefs_run,
	.words = WORDS_OBJECT,
};

// --- path --------------------------------------------------------------------

enum {
	MIN_ALIKE = 3, // steps through a list that are worth leaving out
};

static heap_object_id path_object(const struct heap_snapshot *snapshot,
				  const struct heap_path *path, size_t step)
{
	return step == 0 ? snapshot->root_edges[path->root_edge].target
			 : snapshot->edge_target[path->edges[step - 1]];
}

// How many steps from this one on lead by one and the same field from one type to itself.
static size_t count_alike(const struct heap_snapshot *snapshot, const struct heap_path *path,
			  size_t step)
{
	heap_type_id type = snapshot->type[path_object(snapshot, path, step)];
	size_t alike = 0;

	while (type != HEAP_NO_TYPE && step + alike < path->count &&
	       snapshot->edge_slot[path->edges[step + alike]] ==
		       snapshot->edge_slot[path->edges[step]] &&
	       snapshot->type[path_object(snapshot, path, step + alike + 1)] == type)
		alike++;
	return alike;
}

static const char *path_field(struct session *session, const struct heap_path *path, size_t step)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	return field_of_object(session, path_object(snapshot, path, step),
			       (uint64_t)snapshot->edge_slot[path->edges[step]] * 8);
}

static void print_step(struct session *session, const struct heap_path *path, size_t step,
		       const char *field)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_edge *root = &snapshot->root_edges[path->root_edge];
	uint32_t interior =
		step == 0 ? root->interior : snapshot->edge_interior[path->edges[step - 1]];
	uint8_t flags = step == 0 ? root->flags : snapshot->edge_flags[path->edges[step - 1]];
	heap_object_id object = path_object(snapshot, path, step);

	output_text(session->output, "  %s%s→ %s%s\n", field, *field ? " " : "",
		    describe_object(session, object), edge_remark(session, interior, flags));
	session_remember(session, object);
	output_open_object(session->output, NULL);
	print_edge_json(session, field, interior, flags);
	describe_object_json(session, "object", object);
	output_close(session->output);
}

// A list's nodes are left out in text, but for the first and the last; JSON has them all.
static void print_path(struct session *session, const struct heap_path *path)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_edge *root = &snapshot->root_edges[path->root_edge];
	struct output *output = session->output;
	const char *field = field_of_root(session, root->root, root->offset);

	output_open_array(output, NULL);
	output_text(output, "%s\n", describe_root(session, root->root));
	output_open_object(output, NULL);
	describe_root_json(session, "root", root->root);
	output_close(output);
	for (size_t step = 0; step <= path->count; step++) {
		size_t alike = count_alike(snapshot, path, step);

		print_step(session, path, step, field);
		if (step < path->count)
			field = path_field(session, path, step);
		if (!output_is_json(output) && alike > MIN_ALIKE) {
			output_text(output, "  … %zu more by %s\n", alike - 1, field);
			step += alike - 1;
		}
	}
	output_close(output);
}

static enum command_status path_run(struct session *session, int argc, char **argv)
{
	struct heap_path path;
	heap_object_id object;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = prepare(session, argv[1], &object);

	if (error)
		return command_fail(session, error);
	error = heap_path_find(session->graph, object, &path);
	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		output_text(session->output, "no root reaches %s: leaked\n",
			    describe_object(session, object));
		output_open_array(session->output, NULL);
		return COMMAND_NOTHING;
	}
	if (error)
		return command_fail(session, error);
	print_path(session, &path);
	heap_path_deinit(&path);
	return COMMAND_OK;
}

const struct command path_command = {
	.name = "path",
	.synopsis = "OBJ",
	.summary = "a shortest way from a root to an object",
	.details = "Of several of one length the one by typed pointers from a named variable.\n\n"
		   "  path 0x5ed26d8",
	.run = path_run,
	.words = WORDS_OBJECT,
};

// --- retained ----------------------------------------------------------------

static enum command_status retained_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	heap_object_id object;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = prepare(session, argv[1], &object);

	if (!error)
		error = heap_graph_need_reach(session->graph);
	if (error)
		return command_fail(session, error);
	// Asked first: an unreachable object retains nothing, and saying so needs no
	// dominators.
	if (session->graph->reach[object] == HEAP_REACH_NOT) {
		output_text(output, "no root reaches %s: leaked\n",
			    describe_object(session, object));
		output_open_object(output, NULL);
		describe_object_json(session, "object", object);
		output_number(output, "own", snapshot->size[object]);
		output_number(output, "retained", 0);
		return COMMAND_NOTHING;
	}
	error = session_dominators(session);
	if (error)
		return command_fail(session, error);

	heap_node_id holder = session->dominators->nearest[object];
	uint64_t retained = session->dominators->retained[object];

	output_text(output, "%s: own %s, retained %s, ", describe_object(session, object),
		    describe_bytes(session, snapshot->size[object]),
		    describe_bytes(session, retained));
	output_open_object(output, NULL);
	describe_object_json(session, "object", object);
	output_number(output, "own", snapshot->size[object]);
	output_number(output, "retained", retained);
	if (holder == HEAP_NO_NODE) {
		output_text(output, "held by several roots\n");
	} else if (holder < snapshot->object_count) {
		output_text(output, "held by %s\n", describe_object(session, holder));
		describe_object_json(session, "held_by_object", holder);
		session_remember(session, holder);
	} else {
		output_text(output, "held by %s\n",
			    describe_root(session, holder - snapshot->object_count));
		describe_root_json(session, "held_by_root", holder - snapshot->object_count);
	}
	return COMMAND_OK;
}

const struct command retained_command = {
	.name = "retained",
	.synopsis = "OBJ",
	.summary = "bytes that would be freed along with an object",
	.details = "Also what holds it: the nearest object or root that all paths lead through.\n\n"
		   "  retained g_table",
	.run = retained_run,
	.words = WORDS_OBJECT,
};
