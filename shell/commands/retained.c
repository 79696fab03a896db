// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * retained: the bytes that would be free without an object, a variable, or all that match.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/graph/retained.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/series/filter.h"
#include "shell/tables/part_sums.h"
#include "shell/tables/root_sizes.h"
#include "shell/tables/site_rows.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_ROWS = 10,
};

// --- of an object or a variable -----------------------------------------------

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

// --- of all that match ----------------------------------------------------------

// The objects of one type that a set retains.
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

// --- of each type or site -------------------------------------------------------

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
	uint64_t limit = DEFAULT_ROWS;
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
