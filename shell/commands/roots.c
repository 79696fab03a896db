// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * roots, shared: the roots, and how much of the heap they hold.
 */
#include "lib/base/cleanup.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/tables/root_sizes.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- groups of roots ---------------------------------------------------------

enum {
	DEFAULT_SHOWN = 25,
};

enum grouping {
	BY_ROOT,
	BY_VARIABLE,
	BY_FILE,
	BY_MODULE,
	BY_THREAD,
	BY_FRAME,
	BY_KIND,
};

static const char *const groupings[] = {
	[BY_ROOT] = "root",     [BY_VARIABLE] = "variable", [BY_FILE] = "file",
	[BY_MODULE] = "module", [BY_THREAD] = "thread",     [BY_FRAME] = "frame",
	[BY_KIND] = "kind",
};

static const char *const kind_names[HEAP_ROOT_KINDS] = {
	[HEAP_ROOT_GLOBAL] = "global variables",
	[HEAP_ROOT_THREAD_LOCAL] = "thread-local variables",
	[HEAP_ROOT_LOCAL] = "local variables",
	[HEAP_ROOT_REGISTER] = "registers",
	[HEAP_ROOT_STACK] = "words of stacks",
	[HEAP_ROOT_SEGMENT] = "unnamed data of modules",
	[HEAP_ROOT_MAPPING] = "other mappings",
};

static const char *name_of(struct session *session, uint32_t offset)
{
	return describe_name(session, heap_snapshot_string(session->snapshot, offset));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *label_variable(struct session *session, const struct heap_root *root)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *file = base_name(name_of(session, root->file));
	const char *name = name_of(session, root->name);
	const char *of = "";

	if (root->kind > HEAP_ROOT_REGISTER)
		return kind_names[root->kind];
	if (root->frame != HEAP_NO_INDEX && root->kind == HEAP_ROOT_LOCAL)
		of = session_format(session, " of %s",
				    name_of(session, snapshot->frames[root->frame].function));
	if (*file)
		return session_format(session, "%s%s (%s:%" PRIu32 ")", name, of, file, root->line);
	return session_format(session, "%s%s", name, of);
}

static const char *label_module(struct session *session, const struct heap_root *root)
{
	uint32_t module = root->module;

	if (module == HEAP_NO_INDEX && root->frame != HEAP_NO_INDEX)
		module = session->snapshot->frames[root->frame].module;
	return module == HEAP_NO_INDEX ? "(no module)" : describe_module(session, module);
}

static const char *label_thread(struct session *session, const struct heap_root *root)
{
	return root->thread == HEAP_NO_INDEX ? "(no thread)"
					     : describe_named_thread(session, root->thread);
}

static const char *label_frame(struct session *session, const struct heap_root *root)
{
	if (root->frame == HEAP_NO_INDEX)
		return "(no frame)";
	return session_format(session, "%s, %s", describe_frame(session, root->frame),
			      label_thread(session, root));
}

// The name that all roots of one group share. NULL: the root is a group of its own.
static const char *label(struct session *session, enum grouping grouping,
			 const struct heap_root *root)
{
	const char *file;

	switch (grouping) {
	case BY_VARIABLE:
		return label_variable(session, root);
	case BY_FILE:
		file = name_of(session, root->file);
		return *file ? file : "(no file)";
	case BY_MODULE:
		return label_module(session, root);
	case BY_THREAD:
		return label_thread(session, root);
	case BY_FRAME:
		return label_frame(session, root);
	case BY_KIND:
		return kind_names[root->kind];
	default:
		return NULL;
	}
}

struct labelled {
	const char *label;
	heap_root_id root;
};

static int compare_labels(const void *left, const void *right)
{
	const struct labelled *a = left, *b = right;
	int order = a->label && b->label ? strcmp(a->label, b->label) : 0;

	return order ? order : a->root < b->root ? -1 : a->root > b->root;
}

enum which {
	GLOBALS = 1 << 0,
	STACKS = 1 << 1,
	OTHERS = 1 << 2,
};

static unsigned which_of(const struct heap_root *root)
{
	switch (root->kind) {
	case HEAP_ROOT_GLOBAL:
	case HEAP_ROOT_THREAD_LOCAL:
	case HEAP_ROOT_SEGMENT:
		return GLOBALS;
	case HEAP_ROOT_LOCAL:
	case HEAP_ROOT_REGISTER:
	case HEAP_ROOT_STACK:
		return STACKS;
	default:
		return OTHERS;
	}
}

struct asked {
	struct session *session;
	enum grouping grouping;
	unsigned which;     // enum which, or'ed
	uint32_t *group;    // [roots]
	heap_root_id *root; // [count] the first of each group
	const char **label; // [count] NULL: the root's
	uint32_t count;
};

// Labels the roots that hold something and are to be shown, and sorts them by label. @return how
// many, or -1
static int64_t label_roots(const struct asked *asked, struct labelled *labelled)
{
	struct session *session = asked->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	uint8_t *holds = session_allocate(session, snapshot->root_count + 1);
	int64_t count = 0;

	if (!holds)
		return -1;
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		holds[snapshot->root_edges[i].root] = 1;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (holds[i] && (which_of(root) & asked->which))
			labelled[count++] =
				(struct labelled){ label(session, asked->grouping, root), i };
	}
	qsort(labelled, (size_t)count, sizeof(*labelled), compare_labels);
	return count;
}

HEAP_MUST_CHECK
static struct heap_error *make_groups(struct asked *asked)
{
	struct session *session = asked->session;
	size_t roots = (size_t)session->snapshot->root_count + 1;
	struct labelled *labelled = session_allocate(session, roots * sizeof(*labelled));
	int64_t count;

	asked->group = session_allocate(session, roots * sizeof(*asked->group));
	asked->root = session_allocate(session, roots * sizeof(*asked->root));
	asked->label = session_allocate(session, roots * sizeof(*asked->label));
	if (!labelled || !asked->group || !asked->root || !asked->label)
		return heap_error_out_of_memory();
	memset(asked->group, 0xff, roots * sizeof(*asked->group));
	count = label_roots(asked, labelled);
	if (count < 0)
		return heap_error_out_of_memory();
	for (int64_t i = 0; i < count; i++) {
		const char *name = labelled[i].label;

		if (i == 0 || !name || strcmp(name, labelled[i - 1].label) != 0) {
			asked->label[asked->count] = name;
			asked->root[asked->count++] = labelled[i].root;
		}
		asked->group[labelled[i].root] = asked->count - 1;
	}
	return NULL;
}

// @param joint  gets what groups->joint points to; all 0 before
HEAP_MUST_CHECK
static struct heap_error *measure_groups(struct asked *asked, struct root_groups *groups,
					 struct heap_joint_sizes *joint)
{
	struct session *session = asked->session;
	const struct heap_root_sizes *sizes;
	struct heap_root_size *results;

	HEAP_TRY(make_groups(asked));
	results = session_allocate(session, (asked->count + 1u) * sizeof(*results));
	if (!results)
		return heap_error_out_of_memory();
	HEAP_TRY(session_root_sizes(session, &sizes));
	HEAP_TRY(heap_root_sizes_measure(sizes, asked->group, asked->count, results, joint));
	*groups = (struct root_groups){
		.count = asked->count,
		.words = HEAP_NO_GROUP,
		.all = sizes,
		.sizes = results,
		.joint = joint,
		.roots = asked->root,
		.labels = asked->label,
	};
	return NULL;
}

// --- roots -------------------------------------------------------------------

static void print_sizes(struct session *session, const struct root_row *row, double share,
			const char *name)
{
	const struct heap_root_size *size = &row->size;

	if (row->kind != ROOT_ROW_GROUP && row->kind != ROOT_ROW_WORDS)
		table_row(session->output, "%10s\t%10s\t%10s\t%10s\t%6.1f\t%s",
			  describe_bytes(session, size->retained), "", "", "", share, name);
	else
		table_row(session->output, "%10s\t%10s\t%10s\t%10s\t%6.1f\t%s",
			  describe_bytes(session, size->retained),
			  describe_bytes(session, size->reachable),
			  describe_bytes(session, size->reachable - size->retained),
			  describe_bytes(session, size->exclusive), share, name);
}

static void print_sizes_json(struct output *output, const struct root_row *row, double share)
{
	const struct heap_root_size *size = &row->size;

	output_number(output, "retained", size->retained);
	output_number(output, "retained_objects", size->retained_objects);
	if (row->kind == ROOT_ROW_GROUP || row->kind == ROOT_ROW_WORDS) {
		output_number(output, "reachable", size->reachable);
		output_number(output, "reachable_objects", size->reachable_objects);
		output_number(output, "shared", size->reachable - size->retained);
		output_number(output, "exclusive", size->exclusive);
	}
	output_real(output, "per_cent", share);
}

static void print_row(const struct asked *asked, const struct root_groups *groups,
		      const struct root_row *row, uint64_t total)
{
	struct session *session = asked->session;
	struct output *output = session->output;
	const char *name = root_row_name(session, groups, row);
	double share = format_per_cent(row->size.retained, total);

	print_sizes(session, row, share, name);
	output_open_object(output, NULL);
	output_string(output, "name", name);
	print_sizes_json(output, row, share);
	if (row->kind == ROOT_ROW_JOINT) {
		output_open_array(output, "together");
		root_row_json_names(session, groups, row->joint);
		output_close(output);
		output_string(output, "types", row->types);
	} else if (row->kind != ROOT_ROW_GROUP) {
		output_string(output, "rest", root_row_word(row->kind));
	} else if (groups->labels && groups->labels[row->group]) {
		output_string(output, groupings[asked->grouping], name);
	} else {
		describe_root_json(session, "root",
				   groups->roots ? groups->roots[row->group] : row->group);
	}
	output_close(output);
}

static enum command_status print_rows(const struct asked *asked, const struct root_groups *groups,
				      const struct root_row *rows, size_t count)
{
	struct session *session = asked->session;
	uint64_t total = heap_snapshot_bytes(session->snapshot);

	table_header(session->output, "02341", "%10s\t%10s\t%10s\t%10s\t%6s\t%s", "retained",
		     "reachable", "shared", "exclusive", "%", groupings[asked->grouping]);
	output_open_array(session->output, NULL);
	for (size_t i = 0; i < count && !session_must_stop(session); i++)
		print_row(asked, groups, &rows[i], total);
	output_close(session->output);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

HEAP_MUST_CHECK
static struct heap_error *parse_grouping(const char *by, enum grouping *grouping)
{
	for (int i = BY_ROOT; i <= BY_KIND; i++) {
		if (strcmp(groupings[i], by) == 0) {
			*grouping = i;
			return NULL;
		}
	}
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "--by %s: not root, variable, file, module, thread, frame or kind",
				 by);
}

// Finds the groups of roots, with their sizes. @param joint  stays empty if each root is a group
HEAP_MUST_CHECK
static struct heap_error *find_groups(struct asked *asked, struct root_groups *groups,
				      struct heap_joint_sizes *joint)
{
	bool by_root = asked->grouping == BY_ROOT && !asked->which;

	if (!asked->which)
		asked->which = GLOBALS | STACKS | OTHERS;
	return by_root ? root_groups_by_root(asked->session, groups)
		       : measure_groups(asked, groups, joint);
}

static enum command_status roots_run(struct session *session, int argc, char **argv)
{
	const char *minimum_text = NULL, *by = "root";
	uint64_t minimum = 0, limit = DEFAULT_SHOWN;
	struct asked asked = { .session = session };
	CLEANUP(heap_joint_sizes_deinit) struct heap_joint_sizes joint = { 0 };
	struct root_groups groups;
	struct root_row *rows;
	size_t count;

	if (command_option(&argc, argv, "--globals", NULL))
		asked.which |= GLOBALS;
	if (command_option(&argc, argv, "--stack", NULL))
		asked.which |= STACKS;
	if (command_option(&argc, argv, "--min", &minimum_text) < 0 ||
	    command_option(&argc, argv, "--by", &by) < 0 ||
	    (minimum_text && !heap_parse_size(minimum_text, &minimum)) ||
	    !command_limit(&argc, argv, &limit) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = parse_grouping(by, &asked.grouping);

	if (!error)
		error = find_groups(&asked, &groups, &joint);
	if (!error)
		error = root_rows_make(session, &groups, minimum, limit, &rows, &count);
	return error ? command_fail(session, error) : print_rows(&asked, &groups, rows, count);
}

const struct command roots_command = {
	.name = "roots",
	.synopsis = "[--all | --limit N] [--by root|variable|file|module|thread|frame|kind] "
		    "[--conservative] [--globals] [--min SIZE] [--stack]",
	.summary = "the roots by what they hold: retained, reachable, shared, exclusive",
	.details =
		"retained: bytes that would be free without this root; reachable: bytes that it "
		"leads\n"
		"to; shared: those that others lead to as well; exclusive: bytes of the objects "
		"that\n"
		"it alone points to. %: retained, of the heap. \"a and b, together\": the bytes "
		"that\n"
		"would be free without both, with their largest types. The 25 largest roots that\n"
		"lead to --min SIZE or more are shown; then the rest, so that % adds up to 100.\n"
		"--by groups them by file, thread...; --globals shows only variables of modules,\n"
		"--stack those of threads' frames, and each word of stacks.\n\n"
		"Words of stacks and registers that no variable explains are often stale. They\n"
		"hold only objects that nothing else holds, and take none from a variable. So do\n"
		"variables of a call what those of its callers hold, and global ones. With\n"
		"--conservative all roots count alike.\n\n"
		"  roots\n"
		"  roots --min 1M --all\n"
		"  roots --by thread --stack",
	.run = roots_run,
	.nothing = "No such root leads to an object.",
};

// --- shared ------------------------------------------------------------------

static const char *describe_operand(struct session *session, heap_node_id node)
{
	uint32_t objects = session->snapshot->object_count;

	return node < objects ? describe_object(session, node)
			      : describe_root(session, node - objects);
}

HEAP_MUST_CHECK
static struct heap_error *parse_operand(struct session *session, const char *word,
					heap_node_id *node)
{
	struct operand operand;

	HEAP_TRY(operand_parse(session, word, &operand));
	*node = operand.object != HEAP_NO_OBJECT ? operand.object
						 : session->snapshot->object_count + operand.root;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_operands(struct session *session, char *const words[2],
					 heap_node_id *a, heap_node_id *b)
{
	HEAP_TRY(describe_load(session));
	HEAP_TRY(parse_operand(session, words[0], a));
	HEAP_TRY(parse_operand(session, words[1], b));
	return session_edges(session);
}

static void print_share(struct session *session, const char *key,
			const struct heap_reachable *reachable, const char *what)
{
	output_text(session->output, "%12s  %" PRIu64 " object%s that %s\n",
		    describe_bytes(session, reachable->bytes), reachable->objects,
		    format_plural(reachable->objects), what);
	output_open_object(session->output, key);
	output_number(session->output, "objects", reachable->objects);
	output_number(session->output, "bytes", reachable->bytes);
	output_close(session->output);
}

static struct heap_reachable less(const struct heap_reachable *all,
				  const struct heap_reachable *part)
{
	return (struct heap_reachable){ all->objects - part->objects, all->bytes - part->bytes };
}

static enum command_status shared_run(struct session *session, int argc, char **argv)
{
	struct heap_reachable_search *search;
	struct heap_reachable first, second, both, only_first, only_second;
	heap_node_id a, b;

	if (argc != 3)
		return COMMAND_USAGE;

	struct heap_error *error = parse_operands(session, argv + 1, &a, &b);

	if (!error)
		error = heap_reachable_create(session->graph, &search);
	if (error)
		return command_fail(session, error);
	heap_reachable_from_both(search, a, b, &first, &second, &both);
	heap_reachable_destroy(search);
	only_first = less(&first, &both);
	only_second = less(&second, &both);
	output_open_object(session->output, NULL);
	print_share(session, "both", &both, "both lead to");
	print_share(session, "first", &only_first,
		    session_format(session, "only %s leads to", describe_operand(session, a)));
	print_share(session, "second", &only_second,
		    session_format(session, "only %s leads to", describe_operand(session, b)));
	return both.objects ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command shared_command = {
	.name = "shared",
	.synopsis = "OBJ OBJ",
	.summary = "how much two objects or variables have in common",
	.details = "The bytes that both lead to, themselves included, and those that only one of\n"
		   "them leads to. &name is a variable itself.\n\n"
		   "  shared &g_table &g_list\n"
		   "  shared 0x5ed26d8 $2",
	.run = shared_run,
	.words = WORDS_OBJECT,
};
