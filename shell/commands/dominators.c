// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * dominators: what an object or a variable holds alone, as a tree.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/tables/root_sizes.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 200,
	MAX_PREFIX = 1024,
	DEFAULT_CHILDREN = 10,
};

#define NO_CLASS UINT32_MAX

// A node, or at the top all objects that the same roots hold together.
struct child {
	uint64_t bytes;
	heap_node_id node;
	uint32_t class; // of root_groups_by_root(), or NO_CLASS: a node
};

struct tree {
	struct session *session;
	uint64_t depth;            // levels that may still be shown
	uint64_t limit;            // children shown of each node
	uint64_t whole;            // bytes that shares are of
	heap_node_id start;        // the first line's, or HEAP_NO_NODE
	struct root_groups groups; // if it is shown from its top
	char prefix[MAX_PREFIX];
};

static int compare_children(const void *left, const void *right)
{
	const struct child *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static void print_node(struct tree *tree, heap_node_id node, uint64_t retained, const char *branch)
{
	struct session *session = tree->session;

	table_row(session->output, "%12s\t%6.1f\t%s%s%s", describe_bytes(session, retained),
		  format_per_cent(retained, tree->whole), tree->prefix, branch,
		  node_describe(session, node));
	node_json(session, "", node);
	output_number(session->output, "retained", retained);
	if (heap_divided_is_object(session->divided, node))
		output_number(session->output, "own", node_size(session, node));
	node_remember(session, node);
}

static void print_class(struct tree *tree, const struct child *child, const char *branch)
{
	struct session *session = tree->session;
	const char *name = root_class_name(session, &tree->groups, child->class);

	table_row(session->output, "%12s\t%6.1f\t%s%s%s", describe_bytes(session, child->bytes),
		  format_per_cent(child->bytes, tree->whole), tree->prefix, branch, name);
	output_string(session->output, "held_by", name);
	output_number(session->output, "retained", child->bytes);
}

// @param class  NO_CLASS, or at the top the only class to count
HEAP_MUST_CHECK
static struct heap_error *show_children(struct tree *tree, heap_node_id node, uint32_t class);

HEAP_MUST_CHECK
static struct heap_error *show_child(struct tree *tree, const struct child *child, bool last)
{
	size_t length = strlen(tree->prefix);
	struct heap_error *error = NULL;

	output_open_object(tree->session->output, NULL);
	if (child->class == NO_CLASS)
		print_node(tree, child->node, child->bytes, last ? "└─" : "├─");
	else
		print_class(tree, child, last ? "└─" : "├─");
	if (tree->depth > 1 && length + 5 < sizeof(tree->prefix)) {
		strcat(tree->prefix, last ? "  " : "│ ");
		tree->depth--;
		error = show_children(tree, child->node, child->class);
		tree->depth++;
		tree->prefix[length] = '\0';
	}
	output_close(tree->session->output);
	return error;
}

static void say_more(struct tree *tree, const struct child *children, uint32_t from, uint32_t count)
{
	struct session *session = tree->session;
	uint64_t bytes = 0;

	if (from >= count)
		return;
	for (uint32_t i = from; i < count; i++)
		bytes += children[i].bytes;
	table_row(session->output, "%12s\t%6.1f\t%s└─%" PRIu32 " more",
		  describe_bytes(session, bytes), format_per_cent(bytes, tree->whole), tree->prefix,
		  count - from);
	output_number(session->output, "more", count - from);
	output_number(session->output, "more_retained", bytes);
}

// The class of a node at the top: unless one variable holds it, several roots or words do.
static uint32_t class_of(const struct tree *tree, heap_node_id node)
{
	const struct session *session = tree->session;
	uint32_t objects = session->divided->objects;

	if (heap_divided_is_object(session->divided, node))
		return heap_joint_class(tree->groups.all, tree->groups.joint, node);
	return heap_root_level(session->graph, &session->snapshot->roots[node - objects]) ==
			       HEAP_LEVEL_WORD
		       ? tree->groups.words
		       : NO_CLASS;
}

// @param children  [as many as the top has] @return how many there are
static uint32_t gather_top(const struct tree *tree, uint32_t *place_of, uint32_t class,
			   struct child *children)
{
	const struct heap_dominator_tree *dominated = &tree->session->tree;
	uint32_t top = dominated->nodes, count = 0;

	for (uint32_t i = dominated->first[top]; i < dominated->first[top + 1]; i++) {
		heap_node_id node = dominated->child[i];
		uint64_t bytes = tree->session->dominators->retained[node];
		uint32_t own = class_of(tree, node);

		if (class != NO_CLASS && own == class) {
			children[count++] = (struct child){ bytes, node, NO_CLASS };
		} else if (class == NO_CLASS && own == NO_CLASS) {
			children[count++] = (struct child){ bytes, node, NO_CLASS };
		} else if (class == NO_CLASS) {
			if (place_of[own] == 0) {
				children[count++] = (struct child){ 0, top, own };
				place_of[own] = count;
			}
			children[place_of[own] - 1].bytes += bytes;
		}
	}
	return count;
}

// True if another node of a part's block dominates it.
// @param outside  a bit for each node: none of that block does
static bool is_within(const struct session *session, heap_node_id part, uint8_t *outside)
{
	const struct heap_divided *divided = session->divided;
	const heap_node_id *nearest = session->dominators->nearest;
	heap_object_id block = heap_divided_block(divided, part);
	heap_node_id above = nearest[part];

	while (heap_divided_is_object(divided, above) && !heap_bit_get(outside, above) &&
	       heap_divided_block(divided, above) != block)
		above = nearest[above];
	if (heap_divided_is_object(divided, above) && heap_divided_block(divided, above) == block)
		return true;
	for (heap_node_id node = nearest[part]; node != above; node = nearest[node])
		heap_bit_set(outside, node);
	return false;
}

// Adds the parts of the pool that the tree begins at: its first line stands for them, too.
// @param children  with room for all parts behind the first @p count
HEAP_MUST_CHECK
static struct heap_error *gather_parts(const struct tree *tree, struct child *children,
				       uint32_t *count)
{
	struct session *session = tree->session;
	heap_node_id first, end = heap_divided_parts(session->divided, tree->start, &first);
	uint8_t *outside = session_allocate(session, session->divided->objects / 8 + 1);

	if (!outside)
		return heap_error_out_of_memory();
	for (heap_node_id part = first; part < end; part++) {
		uint64_t bytes = session->dominators->retained[part];

		if (bytes > 0 && !is_within(session, part, outside))
			children[(*count)++] = (struct child){ bytes, part, NO_CLASS };
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *gather(const struct tree *tree, heap_node_id node, uint32_t class,
				 struct child **result, uint32_t *count)
{
	struct session *session = tree->session;
	const struct heap_dominator_tree *dominated = &session->tree;
	uint32_t first = dominated->first[node];
	heap_node_id part, end = heap_divided_parts(session->divided, node, &part);
	struct child *children;

	*count = dominated->first[node + 1] - first;
	*result = children =
		session_allocate(session, (*count + (size_t)(end - part) + 1) * sizeof(*children));
	if (!children)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; node != dominated->nodes && i < *count; i++) {
		heap_node_id child = dominated->child[first + i];

		children[i] =
			(struct child){ session->dominators->retained[child], child, NO_CLASS };
	}
	if (node == tree->start)
		HEAP_TRY(gather_parts(tree, children, count));
	if (node == dominated->nodes) {
		size_t classes = HEAP_CLASS_JOINT(tree->groups.count) + tree->groups.joint->count;
		uint32_t *place_of = session_allocate(session, classes * sizeof(*place_of));

		if (!place_of)
			return heap_error_out_of_memory();
		*count = gather_top(tree, place_of, class, children);
	}
	qsort(children, *count, sizeof(*children), compare_children);
	return NULL;
}

struct heap_error *show_children(struct tree *tree, heap_node_id node, uint32_t class)
{
	struct session *session = tree->session;
	struct child *children;
	uint32_t count, shown;

	HEAP_TRY(gather(tree, node, class, &children, &count));
	shown = count < tree->limit ? count : (uint32_t)tree->limit;
	output_open_array(session->output, "dominates");
	for (uint32_t i = 0; i < shown && !session_must_stop(session); i++)
		HEAP_TRY(show_child(tree, &children[i], i + 1 == count));
	output_close(session->output);
	say_more(tree, children, shown, count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_node(struct session *session, const char *word, heap_node_id *node)
{
	struct operand operand;

	HEAP_TRY(operand_parse(session, word, &operand));
	HEAP_TRY(session_divided(session));
	*node = operand_node(session, &operand);
	return NULL;
}

// @param word  NULL: the tree of all roots
// @param node  gets the word's, or HEAP_NO_NODE
HEAP_MUST_CHECK
static struct heap_error *prepare(struct tree *tree, const char *word, heap_node_id *node)
{
	*node = HEAP_NO_NODE;
	HEAP_TRY(describe_load(tree->session));
	if (word)
		HEAP_TRY(parse_node(tree->session, word, node));
	HEAP_TRY(session_dominator_tree(tree->session));
	return *node == HEAP_NO_NODE ? root_groups_by_root(tree->session, &tree->groups) : NULL;
}

static enum command_status dominators_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct tree tree = { .session = session, .depth = 1, .limit = DEFAULT_CHILDREN };
	heap_node_id node;

	if (!command_number(&argc, argv, "--depth", &tree.depth) ||
	    !command_limit(&argc, argv, &tree.limit) || argc > 2 || tree.depth > MAX_DEPTH)
		return COMMAND_USAGE;

	struct heap_error *error = prepare(&tree, argc == 2 ? argv[1] : NULL, &node);

	if (error)
		return command_fail(session, error);
	if (node != HEAP_NO_NODE && heap_divided_is_object(session->divided, node) &&
	    node_retained(session, node) == 0) {
		node_print_leaked(session, node);
		return COMMAND_NOTHING;
	}
	tree.start = node;
	table_header(session->output, "01", "%12s\t%6s\t%s", "retained", "%", "by");
	output_open_object(session->output, NULL);
	if (node == HEAP_NO_NODE) {
		tree.whole = heap_snapshot_bytes(snapshot);
		node = session->tree.nodes;
	} else {
		tree.whole = node_retained(session, node);
		print_node(&tree, node, tree.whole, "");
	}
	if (tree.depth > 0)
		error = show_children(&tree, node, NO_CLASS);
	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command dominators_command = {
	.name = "dominators",
	.synopsis = "[--depth N] [--all | --limit N] [--conservative] [OBJ]",
	.summary = "what an object or a variable holds alone, as a tree",
	.details =
		"Below each object are those that it dominates directly: they would be free\n"
		"without it. The largest come first, 10 of each. Without OBJ the tree begins at\n"
		"the roots, and at groups of roots that hold something together. % is of the\n"
		"first line, or of the heap. Parts of pools belong to whoever points to them, not\n"
		"to who holds the pool. --conservative: words of stacks count like\n"
		"variables (help roots).\n\n"
		"  dominators g_table\n"
		"  dominators --depth 3 &popular\n"
		"  dominators",
	.run = dominators_run,
	.words = WORDS_OBJECT,
};
