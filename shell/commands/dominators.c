// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * dominators, retained, suspects: memory that would be free without an object or a root.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/graph/retained.h"
#include "lib/query/absent.h"
#include "lib/series/identity.h"
#include "shell/command.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/tables/site_rows.h"
#include "shell/series/filter.h"
#include "shell/words/operand.h"
#include "shell/print/part.h"
#include "shell/print/path.h"
#include "shell/series/series.h"
#include "shell/tables/part_sums.h"
#include "shell/tables/root_sizes.h"
#include "shell/tables/suspects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- dominators --------------------------------------------------------------

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

// --- retained ----------------------------------------------------------------

// Says who holds an object that no single object or root holds.
static enum command_status say_holders(struct session *session, heap_node_id node)
{
	const char *holders = "several roots";
	struct heap_error *error = root_holders_of(session, node, &holders);

	output_text(session->output, "held by %s\n", holders);
	output_string(session->output, "held_by", holders);
	return error ? command_fail(session, error) : COMMAND_OK;
}

// Prints how much a variable's pointers hold.
static enum command_status retained_by_root(struct session *session, heap_root_id root)
{
	const struct session_holders *holders;
	const struct heap_root_size *size;
	struct heap_error *error = session_holders(session, &holders);

	if (error)
		return command_fail(session, error);
	size = &holders->sizes[holders->group[root]];
	output_text(session->output,
		    "%s: retained %s in %" PRIu64 " object%s, of %s in %" PRIu64
		    " that it leads to\n",
		    describe_root(session, root), describe_bytes(session, size->retained),
		    size->retained_objects, format_plural(size->retained_objects),
		    describe_bytes(session, size->reachable), size->reachable_objects);
	output_open_object(session->output, NULL);
	describe_root_json(session, "root", root);
	output_number(session->output, "retained", size->retained);
	output_number(session->output, "retained_objects", size->retained_objects);
	output_number(session->output, "reachable", size->reachable);
	output_number(session->output, "reachable_objects", size->reachable_objects);
	return COMMAND_OK;
}

static enum command_status retained_by_object(struct session *session,
					      const struct operand *operand)
{
	struct output *output = session->output;
	struct heap_error *error = session_dominators(session);

	if (error)
		return command_fail(session, error);

	heap_node_id node = operand_node(session, operand);
	uint64_t retained = node_retained(session, node);
	heap_node_id holder = node < session->snapshot->object_count
				      ? heap_divided_holder(session->divided, node)
				      : session->dominators->nearest[node];

	if (retained == 0) {
		node_print_leaked(session, node);
		return COMMAND_NOTHING;
	}
	output_text(output, "%s: own %s, retained %s, ", node_describe(session, node),
		    describe_bytes(session, node_size(session, node)),
		    describe_bytes(session, retained));
	output_open_object(output, NULL);
	node_json(session, "", node);
	output_number(output, "own", node_size(session, node));
	output_number(output, "retained", retained);
	if (holder == HEAP_NO_NODE)
		return say_holders(session, node);
	output_text(output, "held by %s\n", node_describe(session, holder));
	node_json(session, "held_by_", holder);
	node_remember(session, holder);
	return COMMAND_OK;
}

// Prints the objects that a set retains, by type.
struct type_sum {
	uint64_t objects;
	uint64_t bytes;
	heap_type_id type;
};

static int compare_sums(const void *left, const void *right)
{
	const struct type_sum *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static void print_sums(struct session *session, struct type_sum *sums, uint64_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	qsort(sums, snapshot->types.count, sizeof(*sums), compare_sums);
	table_header(output, "10", "%10s\t%12s\t%s", "objects", "bytes", "type");
	output_open_array(output, "types");
	for (uint32_t i = 0; i < snapshot->types.count && i < limit && sums[i].objects; i++) {
		const char *type = sums[i].type == HEAP_NO_TYPE
					   ? "(untyped)"
					   : describe_type(session, sums[i].type);

		table_row(output, "%10" PRIu64 "\t%12s\t%s", sums[i].objects,
			  describe_bytes(session, sums[i].bytes), type);
		output_open_object(output, NULL);
		output_string(output, "type", type);
		output_number(output, "objects", sums[i].objects);
		output_number(output, "bytes", sums[i].bytes);
		output_close(output);
	}
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *show_set(struct session *session, const uint8_t *set, uint64_t limit,
				   const struct part_sums *parts, uint64_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot, *nodes;
	struct output *output = session->output;
	uint8_t *retained = session_allocate(session, session->divided->objects / 8 + 1);
	struct heap_graph *graph;
	struct type_sum *sums =
		session_allocate(session, (snapshot->types.count + 1) * sizeof(*sums));
	struct heap_retained own = { 0, 0 }, all;

	if (!retained || !sums)
		return heap_error_out_of_memory();
	HEAP_TRY(session_nodes(session, &graph));
	HEAP_TRY(session_node_kinds(session, &nodes));
	HEAP_TRY(heap_retained_by_set(graph, set, retained, &all));
	for (heap_type_id i = 0; i < snapshot->types.count; i++)
		sums[i].type = i;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		own.objects += heap_bit_get(set, i);
		own.bytes += heap_bit_get(set, i) ? snapshot->size[i] : 0;
	}
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		if (heap_bit_get(retained, i)) {
			sums[nodes->type[i]].objects++;
			sums[nodes->type[i]].bytes += nodes->size[i];
		}
	}
	output_open_object(output, NULL);
	print_sums(session, sums, limit);
	output_text(output,
		    "Total: %" PRIu64 " object%s, own %s; together they retain %" PRIu64
		    " object%s, %s\n",
		    own.objects, format_plural(own.objects), describe_bytes(session, own.bytes),
		    all.objects, format_plural(all.objects), describe_bytes(session, all.bytes));
	output_number(output, "count", own.objects);
	output_number(output, "own", own.bytes);
	output_number(output, "retained_objects", all.objects);
	output_number(output, "retained", all.bytes);
	part_sums_print(session, parts);
	*count = own.objects + parts->parts;
	return NULL;
}

// The objects that match, with their parts, and the parts of others that match.
HEAP_MUST_CHECK
static struct heap_error *find_set(struct session *session, struct heap_filter *filter,
				   uint8_t **result, struct part_sums *parts)
{
	const struct heap_divided *divided = session->divided;
	uint8_t *set = session_allocate(session, divided->objects / 8 + 1);

	if (!set)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0, end = session->snapshot->object_count; i < end; i++) {
		heap_node_id first, last;

		i = heap_filter_next(filter, i, end);
		if (i == end)
			break;
		heap_bit_set(set, i);
		last = heap_divided_parts(divided, i, &first);
		for (heap_node_id part = first; part < last; part++)
			heap_bit_set(set, part);
	}
	*parts = part_sums_of_filter(divided, filter, set);
	*result = set;
	return session_filter_finish(session, filter);
}

static enum command_status retained_by_filter(struct session *session, int argc, char **argv,
					      uint64_t limit)
{
	struct heap_filter *filter = NULL;
	struct part_sums parts;
	uint64_t count = 0;
	uint8_t *set = NULL;
	struct heap_error *error = session_divided(session);

	if (!error)
		error = session_filter(session, argc, argv, &filter);
	if (!error)
		error = find_set(session, filter, &set, &parts);
	heap_filter_destroy(filter);
	if (!error)
		error = show_set(session, set, limit, &parts, &count);
	if (error)
		return command_fail(session, error);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

// --- what all of a type or a site retain

struct group_sum {
	uint64_t objects;
	uint64_t bytes;
	uint64_t retained;
	uint32_t key;
};

static int compare_group_sums(const void *left, const void *right)
{
	const struct group_sum *a = left, *b = right;

	if (a->retained != b->retained)
		return a->retained > b->retained ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

HEAP_MUST_CHECK
static struct heap_error *sum_groups(struct session *session, const struct heap_snapshot *nodes,
				     const uint32_t *group, uint32_t count,
				     struct group_sum **result)
{
	struct group_sum *sums = session_allocate(session, (count + 1u) * sizeof(*sums));
	uint64_t *retained = session_allocate(session, (count + 1u) * sizeof(*retained));

	if (!sums || !retained)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_dominator_tree_sum(&session->tree, group, count, retained));
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		sums[group[i]].objects++;
		sums[group[i]].bytes += nodes->size[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		sums[i].retained = retained[i];
		sums[i].key = i;
	}
	qsort(sums, count, sizeof(*sums), compare_group_sums);
	*result = sums;
	return NULL;
}

static void print_group_sum(struct session *session, const struct group_sum *sum, const char *by,
			    const char *name)
{
	struct output *output = session->output;

	table_row(output, "%10" PRIu64 "\t%12s\t%12s\t%s", sum->objects,
		  describe_bytes(session, sum->bytes), describe_bytes(session, sum->retained),
		  name);
	output_open_object(output, NULL);
	output_string(output, by, name);
	output_number(output, "objects", sum->objects);
	output_number(output, "bytes", sum->bytes);
	output_number(output, "retained", sum->retained);
	output_close(output);
}

// The rows of all nodes' sites.
HEAP_MUST_CHECK
static struct heap_error *find_rows(struct session *session, const struct heap_snapshot *nodes,
				    const uint32_t **result)
{
	uint32_t *rows =
		session_allocate(session, ((size_t)nodes->object_count + 1) * sizeof(*rows));
	const heap_site_id *row_of;

	if (!rows)
		return heap_error_out_of_memory();
	HEAP_TRY(site_rows_find(session, &row_of));
	for (heap_node_id i = 0; i < nodes->object_count; i++)
		rows[i] = row_of[nodes->site[i]];
	*result = rows;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *sum_by(struct session *session, const char *by, uint32_t count,
				 struct group_sum **sums)
{
	const struct heap_snapshot *nodes;
	const uint32_t *rows;
	bool by_site = strcmp(by, "site") == 0;

	if (!by_site && strcmp(by, "type") != 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--by %s: not type or site", by);
	HEAP_TRY(session_node_kinds(session, &nodes));
	HEAP_TRY(session_dominator_tree(session));
	if (!by_site)
		return sum_groups(session, nodes, nodes->type, count, sums);
	HEAP_TRY(find_rows(session, nodes, &rows));
	return sum_groups(session, nodes, rows, count, sums);
}

static enum command_status retained_by_group(struct session *session, const char *by,
					     uint64_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	bool by_site = strcmp(by, "site") == 0;
	uint32_t count = by_site ? snapshot->site_count : snapshot->types.count;
	struct group_sum *sums;
	struct heap_error *error = sum_by(session, by, count, &sums);

	if (error)
		return command_fail(session, error);
	table_header(session->output, "210", "%10s\t%12s\t%12s\t%s", "objects", "bytes", "retained",
		     by);
	output_open_array(session->output, NULL);
	for (uint32_t i = 0; i < count && limit > 0; i++) {
		uint32_t key = sums[i].key;

		if (sums[i].objects == 0)
			continue;
		print_group_sum(session, &sums[i], by,
				by_site               ? describe_site(session, key)
				: key == HEAP_NO_TYPE ? "(untyped)"
						      : describe_type(session, key));
		limit--;
	}
	output_close(session->output);
	return snapshot->object_count ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status retained_run(struct session *session, int argc, char **argv)
{
	uint64_t limit = DEFAULT_CHILDREN;
	const char *by = NULL;
	struct operand operand;

	if (command_option(&argc, argv, "--by", &by) < 0 || !command_limit(&argc, argv, &limit) ||
	    (by ? argc != 1 : argc < 2))
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (error)
		return command_fail(session, error);
	if (by)
		return retained_by_group(session, by, limit);
	if (argc == 2) {
		error = operand_parse(session, argv[1], &operand);
		if (!error && operand.object != HEAP_NO_OBJECT)
			return retained_by_object(session, &operand);
		if (!error && operand_is_root(session, &operand))
			return retained_by_root(session, operand.root);
		if (!error)
			error = operand_no_object(session, argv[1], &operand);
		if (!heap_filter_is_name(argv[1]))
			return command_fail(session, error);
		heap_error_destroy(error);
	}
	return retained_by_filter(session, argc - 1, argv + 1, limit);
}

const struct command retained_command = {
	.name = "retained",
	.synopsis = "[--all | --limit N] [--conservative] OBJ|FILTER...|--by type|site",
	.summary = "bytes that would be free without an object, or without all that match",
	.details =
		"For an object also its holder: the nearest object or root that all paths to it\n"
		"lead through, or the roots that hold it together. For a variable (&name, or a\n"
		"struct), all that its pointers hold. For a filter, the bytes that its objects\n"
		"retain together, by type: perhaps more than the sum of what each retains. Parts\n"
		"of pools that match have a line of their own: their bytes, and their share of\n"
		"the pools, which are freed as wholes. An address inside a pool is that of the\n"
		"part there.\n"
		"--by shows how much all objects of each type, or site, retain at least; objects\n"
		"that several of them hold only together are not counted there. --conservative:\n"
		"words of stacks count like variables (help roots).\n\n"
		"  retained g_table\n"
		"  retained type 'struct date'\n"
		"  retained --limit 3 size '>1K' reachable\n"
		"  retained --by type",
	.run = retained_run,
	.words = WORDS_OBJECT | WORDS_FILTER,
	.keeps_answer = true,
};

// --- suspects ----------------------------------------------------------------

enum {
	DEFAULT_SHARE = 10, // per cent of the heap
};

// Finds a path to a part of a pool: of the pointers to the pool, only those into the part count.
HEAP_MUST_CHECK
static struct heap_error *find_way_to_part(struct session *session, heap_node_id node,
					   struct heap_path *path, size_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id pool = heap_divided_block(session->divided, node);
	uint8_t *no_edge = session_allocate(session, (size_t)snapshot->edge_count / 8 + 1);
	uint8_t *no_root_edge = session_allocate(session, snapshot->root_edge_count / 8 + 1);
	struct heap_path_limits limits = { .no_edge = no_edge, .no_root_edge = no_root_edge };
	struct heap_error *error;

	if (!no_edge || !no_root_edge)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < snapshot->edge_count; i++) {
		if (snapshot->edge_target[i] == pool &&
		    heap_divided_node(session->divided, pool, snapshot->edge_interior[i]) != node)
			heap_bit_set(no_edge, i);
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (edge->target == pool &&
		    heap_divided_node(session->divided, pool, edge->interior) != node)
			heap_bit_set(no_root_edge, i);
	}
	error = heap_path_find_within(session->graph, pool, &limits, path);
	*count = error ? 0 : 1;
	if (!error || heap_error_code(error) != HEAP_ERROR_ABSENT)
		return error;
	heap_error_destroy(error);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_way(struct session *session, const struct heap_suspect *suspect)
{
	struct heap_path path;
	size_t count = 0;

	if (suspect->kind == HEAP_SUSPECT_LEAKED)
		return NULL;
	if (heap_divided_part(session->divided, suspect->example))
		HEAP_TRY(find_way_to_part(session, suspect->example, &path, &count));
	else
		HEAP_TRY(heap_paths_find(session->graph, suspect->example, NULL, 1, &path, &count));
	if (count == 0)
		return NULL;
	path_print(session, "path", &path, "   ");
	heap_path_deinit(&path);
	return NULL;
}

static const char *example_of(const struct heap_suspect *suspect)
{
	if (suspect->kind == HEAP_SUSPECT_CHAIN || suspect->kind == HEAP_SUSPECT_LEAKED)
		return "The first of them";
	return suspect->members > 1 ? "The largest of them" : "It";
}

// Where that one was allocated, or, if nobody knows, which one it is.
static void print_example(struct session *session, const struct heap_suspect *suspect)
{
	bool is_known = !heap_unprepared(session->snapshot);
	heap_object_id block = heap_divided_block(session->divided, suspect->example);

	if (is_known || suspect->kind != HEAP_SUSPECT_ONE)
		output_text(session->output, "   %s %s %s.\n", example_of(suspect),
			    is_known ? "comes from" : "is",
			    is_known ? backtrace_site(session, block)
				     : node_describe(session, suspect->example));
}

HEAP_MUST_CHECK
static struct heap_error *print_suspect(struct session *session, const struct heap_suspect *suspect,
					size_t number, uint64_t total)
{
	struct output *output = session->output;
	const struct heap_part *part = heap_divided_part(session->divided, suspect->example);
	heap_object_id block = heap_divided_block(session->divided, suspect->example);
	const char *site = describe_site(session, session->snapshot->site[block]);
	const char *text;
	struct heap_error *error;

	HEAP_TRY(suspects_describe(session, suspect, &text));
	if (number > 1)
		output_text(output, "\n");
	output_text(output, "%zu. %.1f %% of the heap, %s: %s\n", number,
		    format_per_cent(suspect->bytes, total), describe_bytes(session, suspect->bytes),
		    text);
	print_example(session, suspect);
	output_text(output, "   %s\n", suspects_advice(session, suspect));
	output_open_object(output, NULL);
	output_string(output, "kind", suspects_kind(suspect->kind));
	output_string(output, "text", text);
	output_number(output, "bytes", suspect->bytes);
	output_real(output, "per_cent", format_per_cent(suspect->bytes, total));
	output_number(output, "members", suspect->members);
	output_string(output, "type", suspects_type(session, suspect->example));
	output_string(output, "site", site);
	if (suspect->place != HEAP_NO_NODE)
		node_json(session, "held_by_", suspect->place);
	if (part)
		part_json(session, "example", part);
	else
		describe_object_json(session, "example", block);
	error = print_way(session, suspect);
	output_close(output);
	return error;
}

struct suspects_asked {
	uint64_t total;               // bytes of the heap
	uint64_t least, least_leaked; // bytes
	uint64_t limit;
};

// "10%", or a size. @return false if it is neither
static bool parse_minimum(const char *text, uint64_t total, uint64_t *least)
{
	char *end;
	double share = strtod(text, &end);

	if (end != text && strcmp(end, "%") == 0 && share > 0 && share <= 100) {
		*least = (uint64_t)((double)total * share / 100);
		return true;
	}
	return heap_parse_size(text, least);
}

// Compares with the first snapshot of a series, where `compare` has named none.
HEAP_MUST_CHECK
static struct heap_error *compare_with_first(struct session *session)
{
	struct session_series *series = session->series;
	const struct heap_info *now = &session->snapshot->info, *then;

	HEAP_TRY(series_compare(session, series->paths[0]));
	then = &series->other.snapshot->info;
	if (heap_is_one_process(now, then)) {
		output_text(session->output,
			    "New is what [0] does not have; `compare` names another.\n\n");
		return NULL;
	}
	session_close(&series->other);
	series->other = (struct session){ 0 };
	return NULL;
}

// Finds the objects that the other snapshot of the comparison does not have.
HEAP_MUST_CHECK
static struct heap_error *find_new(struct session *session)
{
	struct session_series *series = session->series;

	if (series && series->current > 0 && !series->other.snapshot)
		HEAP_TRY(compare_with_first(session));
	return series && series->other.snapshot ? series_need_new(session) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_suspects(struct session *session,
					 const struct suspects_asked *asked, size_t *count)
{
	CLEANUP_FREE struct heap_suspect *suspects = NULL;

	HEAP_TRY(find_new(session));
	HEAP_TRY(suspects_find(session, asked->least, asked->least_leaked, &suspects, count));
	if (*count > 0) {
		HEAP_TRY(session_edges(session));
		HEAP_TRY(heap_snapshot_load(session->snapshot,
					    HEAP_COLUMN_SLOTS | HEAP_COLUMN_BACKTRACE));
	}
	output_open_array(session->output, NULL);
	for (size_t i = 0; i < *count && i < asked->limit && !session_must_stop(session); i++)
		HEAP_TRY(print_suspect(session, &suspects[i], i + 1, asked->total));
	output_close(session->output);
	if (*count > asked->limit)
		command_tell_rest(session, *count - asked->limit);
	return NULL;
}

// Says where the answer that a series is for would be: at its beginning nothing is new.
static void tell_of_series(struct session *session)
{
	const struct session_series *series = session->series;

	if (series && series->count > 1 && series->current == 0 && !session->quiet)
		output_text(
			session->output,
			"\nThis is the first of %zu snapshots. After `go %zu` suspects begins with "
			"what is new, if they are of one process.\n",
			series->count, series->count - 1);
}

static enum command_status suspects_run(struct session *session, int argc, char **argv)
{
	const char *minimum = NULL;
	size_t count = 0;
	struct suspects_asked asked = { .limit = UINT64_MAX };
	struct heap_error *error;

	if (command_option(&argc, argv, "--min", &minimum) < 0 ||
	    !command_limit(&argc, argv, &asked.limit) || argc != 1)
		return COMMAND_USAGE;
	error = describe_load(session);
	if (error)
		return command_fail(session, error);
	asked.total = heap_snapshot_bytes(session->snapshot);
	asked.least = asked.total / 100 * DEFAULT_SHARE;
	asked.least_leaked = asked.total / 100;
	if (minimum && !parse_minimum(minimum, asked.total, &asked.least))
		return COMMAND_USAGE;
	if (minimum)
		asked.least_leaked = asked.least;
	error = print_suspects(session, &asked, &count);
	if (error)
		return command_fail(session, error);
	if (asked.total == 0)
		output_text(session->output, "There are no objects.\n");
	else if (count == 0)
		output_text(session->output, "Nothing holds %s or more of one kind.\n",
			    describe_bytes(session, asked.least));
	tell_of_series(session);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command suspects_command = {
	.name = "suspects",
	.synopsis = "[--all | --limit N] [--conservative] [--min SIZE|PERCENT%]",
	.summary = "what leaks or grew, and the few places where most of the heap gathers",
	.details =
		"Leaks and new objects come first: with several snapshots, those new since the\n"
		"one that compare named, or else since the first. Then objects of one type below\n"
		"one object or held by the same roots, chains of them, single large ones, and\n"
		"variables that hold much of many kinds; each with a path from a root to its\n"
		"largest member. Each holds 10 % of the heap or more, a leak 1 %. --conservative:\n"
		"words of stacks count like variables (help roots).\n\n"
		"  suspects\n"
		"  suspects --min 1M",
	.run = suspects_run,
};
