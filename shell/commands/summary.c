// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * summary, reachability: the whole heap at a glance, and how much each kind of root keeps.
 */
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/leaks.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/memory_use.h"
#include "shell/base/format.h"
#include "shell/base/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct amount {
	uint64_t objects;
	uint64_t bytes;
};

static void add(struct amount *amount, uint64_t bytes)
{
	amount->objects++;
	amount->bytes += bytes;
}

static void amount_json(struct output *output, const struct amount *amount)
{
	output_number(output, "objects", amount->objects);
	output_number(output, "bytes", amount->bytes);
}

// A line of a table; in JSON an object.
static void print_amount(struct session *session, const char *key, const char *name,
			 const char *text, const struct amount *amount, uint64_t all)
{
	struct output *output = session->output;

	table_row(output, "%10" PRIu64 "\t%12s\t%6.1f\t%s", amount->objects,
		  describe_bytes(session, amount->bytes), format_per_cent(amount->bytes, all),
		  text);
	output_open_object(output, NULL);
	output_string(output, key, name);
	amount_json(output, amount);
	output_close(output);
}

// --- reachability ------------------------------------------------------------

static const struct {
	const char *name;
	const char *text;
} reached_from[HEAP_ROOT_KINDS] = {
	[HEAP_ROOT_GLOBAL] = { "global", "global and static variables" },
	[HEAP_ROOT_THREAD_LOCAL] = { "thread-local", "thread-local variables" },
	[HEAP_ROOT_LOCAL] = { "local", "local variables" },
	[HEAP_ROOT_REGISTER] = { "register", "registers" },
	[HEAP_ROOT_STACK] = { "stack", "words of stacks without a name" },
	[HEAP_ROOT_SEGMENT] = { "segment", "words of modules' data without a name" },
	[HEAP_ROOT_MAPPING] = { "mapping", "other mappings" },
};

struct reaching {
	struct session *session;
	uint8_t *visited;      // [objects / 8 + 1] a bit for each
	heap_object_id *stack; // [objects + 1]
	size_t top;
};

static void visit(struct reaching *reaching, heap_object_id object)
{
	uint8_t bit = (uint8_t)(1 << object % 8);

	if (reaching->visited[object / 8] & bit)
		return;
	reaching->visited[object / 8] |= bit;
	reaching->stack[reaching->top++] = object;
}

// Counts the objects that roots of a kind reach, but roots of no earlier kind.
static void follow(struct reaching *reaching, enum heap_root_kind kind, struct amount *amount)
{
	const struct heap_snapshot *snapshot = reaching->session->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (snapshot->roots[edge->root].kind == kind)
			visit(reaching, edge->target);
	}
	while (reaching->top > 0 && !session_must_stop(reaching->session)) {
		heap_object_id object = reaching->stack[--reaching->top];

		add(amount, snapshot->size[object]);
		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++)
			visit(reaching, snapshot->edge_target[i]);
	}
}

// @param amounts  [HEAP_ROOT_KINDS]
HEAP_MUST_CHECK
static struct heap_error *reach_by_kind(struct session *session, struct amount *amounts)
{
	size_t objects = session->snapshot->object_count;
	CLEANUP_COLUMN uint8_t *visited = NULL;
	CLEANUP_COLUMN heap_object_id *stack = NULL;

	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &visited));
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*stack), &stack));

	struct reaching reaching = { session, visited, stack, 0 };

	for (int i = 0; i < HEAP_ROOT_KINDS; i++)
		follow(&reaching, i, &amounts[i]);
	return session_must_stop(session) ? heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted")
					  : NULL;
}

static void print_leak_class(struct session *session, const struct heap_leaks *leaks,
			     enum heap_leak_class class, const char *name, const char *text,
			     uint64_t all)
{
	const struct amount amount = { leaks->sums[class].objects, leaks->sums[class].bytes };

	if (amount.objects > 0)
		print_amount(session, "class", name, text, &amount, all);
}

static void print_reachability(struct session *session, const struct amount *reached,
			       const struct heap_leaks *leaks)
{
	struct output *output = session->output;
	const struct amount interior = { leaks->sums[HEAP_LEAK_INTERIOR].objects,
					 leaks->sums[HEAP_LEAK_INTERIOR].bytes };
	uint64_t all = heap_snapshot_bytes(session->snapshot);

	table_header(output, "201", "%10s\t%12s\t%6s\t%s", "objects", "bytes", "%", "reached from");
	output_open_object(output, NULL);
	output_open_array(output, "reached");
	for (int i = 0; i < HEAP_ROOT_KINDS; i++) {
		if (reached[i].objects > 0)
			print_amount(session, "from", reached_from[i].name, reached_from[i].text,
				     &reached[i], all);
	}
	output_close(output);
	output_open_array(output, "leaked");
	print_leak_class(session, leaks, HEAP_LEAK_PERHAPS, "perhaps",
			 heap_leaks_lack_memory(session->snapshot)
				 ? "perhaps memory that is not known"
				 : "perhaps a register that is not known",
			 all);
	print_leak_class(session, leaks, HEAP_LEAK_DIRECT, "direct", "nothing", all);
	print_leak_class(session, leaks, HEAP_LEAK_CYCLE, "cycle", "nothing but their own cycle",
			 all);
	print_leak_class(session, leaks, HEAP_LEAK_INDIRECT, "indirect", "leaked objects alone",
			 all);
	output_close(output);
	output_open_object(output, "interior");
	amount_json(output, &interior);
	output_close(output);
	if (interior.objects > 0)
		output_text(output,
			    "Of what is reached %" PRIu64 " object%s, %s, only through pointers "
			    "into objects.\n",
			    interior.objects, format_plural(interior.objects),
			    describe_bytes(session, interior.bytes));
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *find_reached(struct session *session, struct amount *amounts,
				       struct heap_leaks *leaks)
{
	HEAP_TRY(session_edges(session));
	HEAP_TRY(reach_by_kind(session, amounts));
	return heap_leaks_find(session->graph, NULL, NULL, leaks);
}

static enum command_status reachability_run(struct session *session, int argc, char **argv)
{
	struct amount reached[HEAP_ROOT_KINDS] = { { 0, 0 } };
	struct heap_leaks leaks;

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = find_reached(session, reached, &leaks);

	if (error)
		return command_fail(session, error);
	print_reachability(session, reached, &leaks);
	heap_leaks_deinit(&leaks);
	return session->snapshot->object_count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command reachability_command = {
	.name = "reachability",
	.synopsis = "",
	.summary = "how much each kind of roots reaches, and how much none does",
	.details = "Each object counts once, for the first root that leads to it: global variables "
		   "come\n"
		   "before local ones, and words without a name last.\n"
		   "\n"
		   "  reachability",
	.run = reachability_run,
};

// --- summary -----------------------------------------------------------------

enum {
	SHORT_LIST = 5, // lines of each table, in text
};

struct entry {
	struct amount amount;
	uint32_t key;
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->amount.bytes != b->amount.bytes)
		return a->amount.bytes > b->amount.bytes ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static struct entry *make_entries(struct session *session, uint32_t count)
{
	struct entry *entries = session_allocate(session, (count + 1u) * sizeof(*entries));

	for (uint32_t i = 0; entries && i < count; i++)
		entries[i].key = i;
	return entries;
}

// Prints a table, the largest first, and the sum of the rest on a line.
static void print_table(struct session *session, const char *key, struct entry *entries,
			uint32_t count, uint64_t all,
			const char *(*name)(struct session *session, uint32_t key))
{
	struct output *output = session->output;
	uint32_t limit = output_is_json(output) ? UINT32_MAX : SHORT_LIST, others = 0;
	struct amount rest = { 0, 0 };

	qsort(entries, count, sizeof(*entries), compare_entries);
	output_text(output, "\n");
	table_header(output, "201", "%10s\t%12s\t%6s\t%s", "objects", "bytes", "%", key);
	output_open_array(output, key);
	for (uint32_t i = 0; i < count && entries[i].amount.objects > 0; i++) {
		if (i < limit) {
			const char *text = name(session, entries[i].key);

			print_amount(session, "name", text, text, &entries[i].amount, all);
		} else {
			others++;
			rest.objects += entries[i].amount.objects;
			rest.bytes += entries[i].amount.bytes;
		}
	}
	output_close(output);
	if (others > 0)
		table_row(output, "%10" PRIu64 "\t%12s\t%6.1f\t%" PRIu32 " more", rest.objects,
			  describe_bytes(session, rest.bytes), format_per_cent(rest.bytes, all),
			  others);
}

// @param key  a type, or the number of types for pools whose parts have types
static const char *type_name(struct session *session, uint32_t key)
{
	if (key == session->snapshot->types.count)
		return "(pools)";
	return key == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, key);
}

static uint32_t type_key(const struct heap_snapshot *snapshot, heap_object_id object)
{
	heap_type_id type = snapshot->type[object];

	return type == HEAP_NO_TYPE && heap_snapshot_part_count(snapshot, object) > 0
		       ? snapshot->types.count
		       : type;
}

static const char *module_name(struct session *session, uint32_t key)
{
	return key == 0 ? describe_no_module(session) : describe_module(session, key - 1);
}

// Keys of reachability: enum heap_reach, and one more.
enum {
	REACH_PERHAPS = HEAP_REACH_START + 1,
	REACH_KEYS,
};

static const char *reach_name(struct session *session, uint32_t key)
{
	return key == HEAP_REACH_NOT     ? "leaked"
	       : key == REACH_PERHAPS    ? (heap_leaks_lack_memory(session->snapshot)
						    ? "perhaps held by memory that is missing"
						    : "perhaps held by a register")
	       : key == HEAP_REACH_START ? "reachable"
					 : "reachable, only through pointers into objects";
}

static void print_totals(struct session *session, const struct amount *all,
			 const struct amount *typed)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	output_text(output, "%" PRIu64 " object%s, %s", all->objects, format_plural(all->objects),
		    describe_bytes(session, all->bytes));
	if (all->objects > 0)
		output_text(output, "; %.1f %% of them typed, %.1f %% of the bytes",
			    format_per_cent(typed->objects, all->objects),
			    format_per_cent(typed->bytes, all->bytes));
	output_text(output,
		    "\n%" PRIu32 " pointers between them, %" PRIu64 " from %" PRIu32 " roots\n",
		    snapshot->edge_count, snapshot->root_edge_count, snapshot->root_count);
	amount_json(output, all);
	output_open_object(output, "typed");
	amount_json(output, typed);
	output_close(output);
	output_number(output, "pointers", snapshot->edge_count);
	output_number(output, "roots", snapshot->root_count);
	output_number(output, "root_pointers", snapshot->root_edge_count);
}

HEAP_MUST_CHECK
static struct heap_error *load_summary(struct session *session)
{
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
							       HEAP_COLUMN_SITE |
							       HEAP_COLUMN_PARTS));
	HEAP_TRY(session_edges(session));
	return heap_graph_need_reach(session->graph);
}

// Counts each object by its reachability. Classes of leaks are found only where there may be
// more to tell than reachability does.
//
// @param reaches  [REACH_KEYS]
HEAP_MUST_CHECK
static struct heap_error *count_reaches(struct session *session, struct entry *reaches)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_leaks leaks = { 0 };
	struct heap_error *error = NULL;

	if (heap_leaks_are_uncertain(snapshot))
		error = heap_leaks_find(session->graph, NULL, NULL, &leaks);
	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++) {
		bool perhaps = leaks.class_of && leaks.class_of[i] == HEAP_LEAK_PERHAPS;

		add(&reaches[perhaps ? REACH_PERHAPS : session->graph->reach[i]].amount,
		    snapshot->size[i]);
	}
	heap_leaks_deinit(&leaks);
	return error;
}

static enum command_status summary_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct amount all = { 0, 0 }, typed = { 0, 0 };

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = load_summary(session);
	struct entry *reaches = make_entries(session, REACH_KEYS);
	struct entry *modules = make_entries(session, snapshot->module_count + 1);
	struct entry *types = make_entries(session, snapshot->types.count + 1);

	if (!error && (!reaches || !modules || !types))
		error = heap_error_out_of_memory();
	if (!error)
		error = count_reaches(session, reaches);
	if (error)
		return command_fail(session, error);
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t size = snapshot->size[i];

		add(&all, size);
		if (snapshot->type[i] != HEAP_NO_TYPE)
			add(&typed, size);
		add(&modules[snapshot->sites[snapshot->site[i]].module + 1].amount, size);
		add(&types[type_key(snapshot, i)].amount, size);
	}
	output_open_object(session->output, NULL);
	print_totals(session, &all, &typed);
	memory_use_print(session);
	print_table(session, "reachability", reaches, REACH_KEYS, all.bytes, reach_name);
	print_table(session, "module", modules, snapshot->module_count + 1, all.bytes, module_name);
	print_table(session, "type", types, snapshot->types.count + 1, all.bytes, type_name);
	output_close(session->output);
	return snapshot->object_count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command summary_command = {
	.name = "summary",
	.synopsis = "",
	.summary = "the whole heap at a glance: by reachability, module and type",
	.details = "The five largest of each; `reachability`, `count --by module` and `count` have "
		   "the rest.\n\n"
		   "  summary",
	.run = summary_run,
};
