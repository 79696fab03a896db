// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * identify: the tree of who holds an object, up to the roots.
 *
 *	struct date at 0x5ed26d8 is:
 *	└─.month of struct utility at 0x5f02008, which is:
 *	  └─the global variable popular (cache.c:50, libutility.so)
 */
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/field.h"

#include <inttypes.h>
#include <string.h>

enum {
	DEFAULT_DEPTH = 12,
	DEFAULT_WIDTH = 8, // holders shown of one object
	MAX_PREFIX = 512,
};

struct tree {
	struct session *session;
	uint64_t depth; // levels that may still be shown
	uint64_t width;
	uint8_t *shown; // [objects] whether its holders have been shown, or are being
	char prefix[MAX_PREFIX];
	bool found_root;
};

// Holders of one object: roots first, then objects; named and typed ones first.
struct holders {
	uint32_t *edges; // root edges, then object edges
	heap_object_id *sources;
	uint32_t roots, objects;
};

HEAP_MUST_CHECK
static struct heap_error *find_holders(struct tree *tree, heap_object_id object,
				       struct holders *holders)
{
	const struct heap_graph *graph = tree->session->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t roots = graph->root_in_first[object + 1] - graph->root_in_first[object];
	uint32_t objects = graph->in_first[object + 1] - graph->in_first[object];

	holders->edges =
		session_allocate(tree->session, ((size_t)roots + objects) * sizeof(uint32_t));
	holders->sources =
		session_allocate(tree->session, (size_t)objects * sizeof(heap_object_id));
	if (!holders->edges || !holders->sources)
		return heap_error_out_of_memory();
	for (unsigned rank = 0; rank < 4; rank++) {
		for (uint32_t i = 0; i < roots; i++) {
			uint32_t edge = graph->root_in[graph->root_in_first[object] + i];
			uint32_t root = snapshot->root_edges[edge].root;

			if (heap_root_rank(&snapshot->roots[root]) == rank)
				holders->edges[holders->roots++] = edge;
		}
	}
	for (int typed = 1; typed >= 0; typed--) {
		for (uint32_t i = 0; i < objects; i++) {
			uint32_t at = graph->in_first[object] + i;
			uint32_t edge = graph->in_edge[at];

			if (!!(snapshot->edge_flags[edge] & HEAP_EDGE_TYPED) != typed)
				continue;
			holders->sources[holders->objects] = graph->in_source[at];
			holders->edges[roots + holders->objects++] = edge;
		}
	}
	return NULL;
}

static void print_branch(struct tree *tree, bool last)
{
	output_text(tree->session->output, "%s%s", tree->prefix, last ? "└─" : "├─");
}

static const char *interior_text(struct session *session, uint32_t interior)
{
	return interior ? session_format(session, " (points %" PRIu32 " bytes into it)", interior)
			: "";
}

static void show_root_holder(struct tree *tree, uint32_t edge_number, bool last)
{
	struct session *session = tree->session;
	const struct heap_root_edge *edge = &session->snapshot->root_edges[edge_number];
	const char *field = field_of_root(session, edge->root, edge->offset);

	tree->found_root = true;
	print_branch(tree, last);
	output_text(session->output, "%s%s%s%s\n", *field ? field : "", *field ? " of " : "",
		    describe_root(session, edge->root), interior_text(session, edge->interior));
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", edge->flags & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", edge->interior);
	describe_root_json(session, "root", edge->root);
	output_close(session->output);
}

HEAP_MUST_CHECK
static struct heap_error *show_holders(struct tree *tree, heap_object_id object);

// What is said of a holder whose own holders are not shown below it.
static const char *why_not(const struct tree *tree, heap_object_id source)
{
	const struct heap_graph *graph = tree->session->graph;

	if (tree->shown[source] == 1)
		return ", itself (a cycle)";
	if (tree->shown[source])
		return ", already shown";
	if (graph->in_first[source] == graph->in_first[source + 1] &&
	    graph->root_in_first[source] == graph->root_in_first[source + 1])
		return ", which nothing holds (leaked)";
	return tree->depth == 0 ? ", which is held further up" : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *show_object_holder(struct tree *tree, heap_object_id source,
					     uint32_t edge, bool last)
{
	struct session *session = tree->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *field =
		field_of_object(session, source, (uint64_t)snapshot->edge_slot[edge] * 8);
	const char *end = why_not(tree, source);
	size_t length = strlen(tree->prefix);
	struct heap_error *error = NULL;

	print_branch(tree, last);
	output_text(session->output, "%s of %s%s%s\n", field, describe_object(session, source),
		    interior_text(session, snapshot->edge_interior[edge]),
		    end ? end : ", which is:");
	session_remember(session, source);
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", snapshot->edge_flags[edge] & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", snapshot->edge_interior[edge]);
	describe_object_json(session, "object", source);
	if (!end) {
		if (length + 5 < sizeof(tree->prefix))
			strcat(tree->prefix, last ? "  " : "│ ");
		tree->depth--;
		error = show_holders(tree, source);
		tree->depth++;
		tree->prefix[length] = '\0';
	}
	output_close(session->output);
	return error;
}

struct heap_error *show_holders(struct tree *tree, heap_object_id object)
{
	struct holders holders = { 0 };
	struct heap_error *error = find_holders(tree, object, &holders);
	uint64_t all = (uint64_t)holders.roots + holders.objects;
	uint64_t shown = all < tree->width ? all : tree->width;

	if (error)
		return error;
	tree->shown[object] = 1;
	output_open_array(tree->session->output, "held_by");
	for (uint64_t i = 0; !error && i < shown && !session_interrupted; i++) {
		bool last = i + 1 == all;

		if (i < holders.roots)
			show_root_holder(tree, holders.edges[i], last);
		else
			error = show_object_holder(tree, holders.sources[i - holders.roots],
						   holders.edges[i], last);
	}
	output_close(tree->session->output);
	if (shown < all) {
		print_branch(tree, true);
		output_text(tree->session->output, "and %" PRIu64 " more (--width shows them)\n",
			    all - shown);
	}
	tree->shown[object] = 2;
	return error;
}

static enum command_status identify_run(struct session *session, int argc, char **argv)
{
	struct tree tree = { .session = session, .depth = DEFAULT_DEPTH, .width = DEFAULT_WIDTH };
	heap_object_id object;

	if (!command_number(&argc, argv, "--depth", &tree.depth) ||
	    !command_number(&argc, argv, "--width", &tree.width) || argc != 2 || tree.depth > 200)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_parse_object(session, argv[1], &object);
	if (!error)
		error = session_graph(session);
	if (error)
		return command_fail(session, error);
	tree.shown = session_allocate(session, session->snapshot->object_count);
	if (!tree.shown)
		return command_fail(session, heap_error_out_of_memory());
	output_open_object(session->output, NULL);
	describe_object_json(session, "object", object);
	output_text(session->output, "%s is:\n", describe_object(session, object));
	error = show_holders(&tree, object);
	if (error)
		return command_fail(session, error);
	if (tree.shown[object] && session->answer_count == 0 && !tree.found_root)
		output_text(session->output, "  held by nothing: leaked\n");
	return COMMAND_OK;
}

static const char *const identify_options[] = { "--depth", "--width", NULL };

const struct command identify_command = {
	.name = "identify",
	.synopsis = "[--depth N] [--width N] OBJ",
	.summary = "who holds an object, up to the roots",
	.details = "A tree: below each object those that hold it, named by their field. A branch "
		   "ends\n"
		   "at a root, at an object that has been shown, or after --depth levels.\n\n"
		   "  identify 0x5ed26d8\n"
		   "  identify --depth 3 $1",
	.run = identify_run,
	.words = WORDS_OBJECT,
	.options = identify_options,
};
