// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * sites: the code that allocated the memory, and its callers.
 */
#include "shell/trace/call_tree.h"
#include "shell/command.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/tables/site_rows.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 200,       // of a tree; its JSON nests two levels for each
	DEFAULT_PRUNING = 200, // branches of less than this part of all are left out
};

struct options {
	bool by_objects;
	bool tree;
	bool callers;
	uint64_t limit;
	uint64_t min; // bytes; UINT64_MAX: a part of all
	uint64_t depth;
};

struct sum {
	uint32_t id;
	uint64_t objects;
	uint64_t bytes;
	uint32_t caller; // the list: the nearest call whose line is known, if the site's is not
	bool has_others; // as well as that caller
};

static int compare_by_bytes(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_by_objects(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return compare_by_bytes(left, right);
}

static void sort(struct sum *sums, size_t count, const struct options *options)
{
	qsort(sums, count, sizeof(*sums),
	      options->by_objects ? compare_by_objects : compare_by_bytes);
}

static double share_of(const struct sum *sum, const struct sum *all, const struct options *options)
{
	uint64_t part = options->by_objects ? sum->objects : sum->bytes;
	uint64_t whole = options->by_objects ? all->objects : all->bytes;

	return format_per_cent(part, whole);
}

static void print_sum(struct session *session, const struct sum *sum, const struct sum *all,
		      const struct options *options, const char *name)
{
	double share = share_of(sum, all, options);

	table_row(session->output, "%10" PRIu64 "\t%12s\t  %5.1f\t%s", sum->objects,
		  describe_bytes(session, sum->bytes), share, name);
	output_number(session->output, "objects", sum->objects);
	output_number(session->output, "bytes", sum->bytes);
	output_real(session->output, "per_cent", share);
}

// --- the list ----------------------------------------------------------------

// Notes for whom an object was allocated.
static void add_caller(const struct heap_snapshot *snapshot, struct sum *sum, heap_object_id object)
{
	uint32_t step = heap_backtrace_step(snapshot->backtrace[object]);
	uint32_t call;

	if (step == 0 || snapshot->sites[sum->id].line != 0 || sum->has_others)
		return;
	call = backtrace_known_call(snapshot, step);
	if (sum->caller == HEAP_NO_INDEX)
		sum->caller = call;
	else
		sum->has_others = call != HEAP_NO_INDEX && call != sum->caller;
}

static const char *describe_sum(struct session *session, const struct sum *sum)
{
	const char *site = describe_site(session, sum->id);

	if (sum->caller == HEAP_NO_INDEX)
		return site;
	return session_format(session, "%s, for %s%s", site, backtrace_call(session, sum->caller),
			      sum->has_others ? " and others" : "");
}

static enum command_status print_list(struct session *session, const struct options *options)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	struct sum *sums = session_allocate(session, (snapshot->site_count + 1) * sizeof(*sums));
	const heap_site_id *first = NULL;
	struct sum all = { 0 };
	struct heap_error *error =
		sums ? site_rows_find(session, &first) : heap_error_out_of_memory();

	if (error)
		return command_fail(session, error);
	for (heap_site_id i = 0; i < snapshot->site_count; i++)
		sums[i] = (struct sum){ .id = i, .caller = HEAP_NO_INDEX };
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		struct sum *sum = &sums[first[snapshot->site[i]]];

		sum->objects++;
		sum->bytes += snapshot->size[i];
		add_caller(snapshot, sum, i);
		all.objects++;
		all.bytes += snapshot->size[i];
	}
	sort(sums, snapshot->site_count, options);
	table_header(output, "201", "%10s\t%12s\t  %5s\t%s", "objects", "bytes", "%", "site");
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < snapshot->site_count && i < options->limit && sums[i].objects &&
			     !session_must_stop(session);
	     i++) {
		output_open_object(output, NULL);
		print_sum(session, &sums[i], &all, options, describe_sum(session, &sums[i]));
		output_string(output, "site", describe_site(session, sums[i].id));
		if (sums[i].caller != HEAP_NO_INDEX) {
			output_string(output, "caller", backtrace_call(session, sums[i].caller));
			output_boolean(output, "has_other_callers", sums[i].has_others);
		}
		output_close(output);
	}
	output_close(output);
	return all.objects ? COMMAND_OK : COMMAND_NOTHING;
}

// --- the tree ----------------------------------------------------------------

struct printing {
	struct session *session;
	const struct call_tree *tree;
	const struct options *options;
	struct sum all;
};

static struct sum sum_of(const struct call_tree *tree, uint32_t node)
{
	return (struct sum){ .id = node,
			     .objects = (uint64_t)llround(tree->nodes[node].objects),
			     .bytes = (uint64_t)llround(tree->nodes[node].bytes) };
}

// A node's children in order. @return [*count] until the command ends, or NULL
static struct sum *sort_children(const struct printing *printing, uint32_t node, uint32_t *count)
{
	const struct call_tree_node *nodes = printing->tree->nodes;
	struct sum *children;

	*count = 0;
	for (uint32_t i = nodes[node].child; i > 0; i = nodes[i].next)
		++*count;
	children = session_allocate(printing->session, *count * sizeof(*children));
	if (!children)
		return NULL;
	*count = 0;
	for (uint32_t i = nodes[node].child; i > 0; i = nodes[i].next)
		children[(*count)++] = sum_of(printing->tree, i);
	sort(children, *count, printing->options);
	return children;
}

// Puts those that are large enough before the others, in order. @return how many
static uint32_t put_large_first(const struct printing *printing, struct sum *children,
				uint32_t count)
{
	struct sum *small = session_allocate(printing->session, count * sizeof(*small));
	uint32_t kept = 0, left = 0;

	if (!small)
		return count;
	for (uint32_t i = 0; i < count; i++) {
		if (children[i].bytes >= printing->options->min)
			children[kept++] = children[i];
		else
			small[left++] = children[i];
	}
	memcpy(children + kept, small, left * sizeof(*small));
	return kept;
}

// The columns of a line of the tree. @param margin  in the unit of the share
static void print_estimate(const struct printing *printing, const struct sum *sum, double margin,
			   const char *name)
{
	struct session *session = printing->session;
	bool by_objects = printing->options->by_objects;
	double whole = (double)(by_objects ? printing->all.objects : printing->all.bytes);
	double share = share_of(sum, &printing->all, printing->options);
	double margin_share = whole > 0 ? 100 * margin / whole : 0;

	table_row(session->output, "%10" PRIu64 "\t%12s\t  %5.1f\t%6s\t%s", sum->objects,
		  describe_bytes(session, sum->bytes), share,
		  margin > 0 ? session_format(session, "±%.1f", margin_share) : "", name);
	output_number(session->output, "objects", sum->objects);
	output_number(session->output, "bytes", sum->bytes);
	output_real(session->output, "per_cent", share);
	output_real(session->output, "margin_per_cent", margin_share);
}

// A node's place in the code, if known.
static const char *describe_caller(const struct printing *printing,
				   const struct call_tree_node *node)
{
	struct session *session = printing->session;
	const char *place = call_tree_describe(session, node->place);

	if (node->caller)
		return session_format(session, "%s; one was %s", place,
				      call_tree_describe(session, node->caller));
	return session_format(session, "%s%s", place,
			      call_tree_is_inlined(session, node->place) ? ", inlined" : "");
}

static void print_children(const struct printing *printing, uint32_t node, const char *indent,
			   unsigned depth);

static void print_node(const struct printing *printing, const struct sum *sum, const char *indent,
		       const char *branch, const char *below, unsigned depth)
{
	struct session *session = printing->session;
	struct output *output = session->output;
	const struct call_tree_node *node = &printing->tree->nodes[sum->id];
	double margin = printing->options->by_objects ? node->object_margin : node->byte_margin;

	output_open_object(output, NULL);
	print_estimate(
		printing, sum, margin,
		session_format(session, "%s%s%s", indent, branch, describe_caller(printing, node)));
	output_string(output, "place", call_tree_describe(session, node->place));
	output_boolean(output, "inlined", call_tree_is_inlined(session, node->place));
	if (node->caller)
		output_string(output, "one_caller", call_tree_describe(session, node->caller));
	print_children(printing, sum->id, session_format(session, "%s%s", indent, below),
		       depth + 1);
	output_close(output);
}

// Sums up the children of a node that are not shown.
static void print_rest(const struct printing *printing, const struct sum *children, uint32_t from,
		       uint32_t count, const char *indent, bool at_root)
{
	struct sum rest = { 0 };

	for (uint32_t i = from; i < count; i++) {
		rest.objects += children[i].objects;
		rest.bytes += children[i].bytes;
	}
	if (rest.objects == 0 || output_is_json(printing->session->output))
		return;
	print_estimate(printing, &rest, 0,
		       session_format(printing->session, "%s%s… %" PRIu32 " more", indent,
				      at_root ? "" : "└─", count - from));
}

static void print_children(const struct printing *printing, uint32_t node, const char *indent,
			   unsigned depth)
{
	struct session *session = printing->session;
	const struct options *options = printing->options;
	uint32_t count, shown;
	struct sum *children = sort_children(printing, node, &count);
	bool at_root = depth == 0;

	if (!children)
		return;
	shown = depth < options->depth ? put_large_first(printing, children, count) : 0;
	if (shown > options->limit)
		shown = (uint32_t)options->limit;
	output_open_array(session->output, "calls");
	for (uint32_t i = 0; i < shown && session_take_line(session); i++) {
		bool last = i + 1 == count;

		print_node(printing, &children[i], indent,
			   at_root ? ""
			   : last  ? "└─"
				   : "├─",
			   at_root ? ""
			   : last  ? "  "
				   : "│ ",
			   depth);
	}
	output_close(session->output);
	print_rest(printing, children, shown, count, indent, at_root);
}

static enum command_status print_tree(struct session *session, struct options *options)
{
	struct call_tree tree;
	struct heap_error *error = call_tree_init(&tree, session, options->callers);
	struct output *output = session->output;

	if (error)
		return command_fail(session, error);

	struct printing printing = { session, &tree, options, sum_of(&tree, 0) };

	if (options->min == UINT64_MAX)
		options->min = printing.all.bytes / DEFAULT_PRUNING;
	table_header(output, "2011", "%10s\t%12s\t  %5s\t%6s\t%s", "objects", "bytes", "%", "±",
		     options->callers ? "site, and who calls it" : "call");
	output_open_object(output, NULL);
	output_number(output, "objects", printing.all.objects);
	output_number(output, "bytes", printing.all.bytes);
	print_children(&printing, 0, "", 0);
	output_number(output, "sampled", tree.sampled);
	output_number(output, "estimated", tree.estimated);
	output_number(output, "not_sampled", tree.unknown);
	if (!session->quiet)
		output_text(output,
			    "%" PRIu64 " sample%s stand%s for %" PRIu64 " more object%s of %s sites"
			    " (± is the 95 %% confidence interval); callers of %" PRIu64
			    " are not known\n",
			    tree.sampled, format_plural(tree.sampled), tree.sampled == 1 ? "s" : "",
			    tree.estimated, format_plural(tree.estimated),
			    tree.sampled == 1 ? "its" : "their", tree.unknown);
	call_tree_deinit(&tree);
	return printing.all.objects ? COMMAND_OK : COMMAND_NOTHING;
}

// --- the command -------------------------------------------------------------

// @return false if they are wrong
static bool parse_options(int *argc, char **argv, struct options *options)
{
	const char *by = "bytes", *min = NULL;

	options->tree = command_option(argc, argv, "--tree", NULL);
	options->callers = command_option(argc, argv, "--callers", NULL);
	if (command_option(argc, argv, "--by", &by) < 0 ||
	    command_option(argc, argv, "--min", &min) < 0 ||
	    !command_limit(argc, argv, &options->limit) ||
	    !command_number(argc, argv, "--depth", &options->depth))
		return false;
	options->by_objects = strcmp(by, "objects") == 0;
	if (options->depth > MAX_DEPTH)
		options->depth = MAX_DEPTH;
	if (min && !heap_parse_size(min, &options->min))
		return false;
	return *argc == 1 && (options->by_objects || strcmp(by, "bytes") == 0);
}

static enum command_status sites_run(struct session *session, int argc, char **argv)
{
	struct options options = { .limit = UINT64_MAX, .min = UINT64_MAX, .depth = MAX_DEPTH };

	if (!parse_options(&argc, argv, &options))
		return COMMAND_USAGE;

	struct heap_error *error = heap_snapshot_load(
		session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE);

	if (error)
		return command_fail(session, error);
	if (session->snapshot->info.origin != HEAP_ORIGIN_LIBRARY)
		output_text(session->output,
			    "Nobody had prepared the process: where blocks were allocated is not "
			    "known\n");
	return options.tree || options.callers ? print_tree(session, &options)
					       : print_list(session, &options);
}

const struct command sites_command = {
	.name = "sites",
	.synopsis = "[--by bytes|objects] [--all | --limit N] [--tree | --callers] [--depth N] "
		    "[--min SIZE]",
	.summary = "objects and bytes per allocation site, or along the calls that led there",
	.details =
		"The code that allocated objects, with the bytes that are live now, most first.\n"
		"--tree unfolds the calls from main down, --callers from the sites up; branches\n"
		"of less than SIZE (a 200th of all) are left out. The callers of a site are\n"
		"estimated from samples, with a margin of error in the column ±. The callers of\n"
		"a site without samples are unknown.\n"
		"\n"
		"  sites --limit 10\n"
		"  sites --tree --min 1M\n"
		"  sites --callers --depth 3",
	.run = sites_run,
	.nothing = "There are no objects.",
};
