// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * roots, shared: what holds the heap from outside, and how much.
 */
#include "lib/graph/root_sizes.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
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
	const struct heap_thread *thread;

	if (root->thread == HEAP_NO_INDEX)
		return "(no thread)";
	thread = &session->snapshot->threads[root->thread];
	return session_format(session, "thread %" PRIu32 " (%s)", thread->tid,
			      name_of(session, thread->name));
}

static const char *label_frame(struct session *session, const struct heap_root *root)
{
	if (root->frame == HEAP_NO_INDEX)
		return "(no frame)";
	return session_format(session, "%s, %s", describe_frame(session, root->frame),
			      label_thread(session, root));
}

// What roots of one group have in common. NULL: the root is a group of its own.
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

struct group {
	const char *label;
	heap_root_id root; // the first of it
	struct heap_root_size holding;
};

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
	unsigned which;  // enum which, or'ed
	uint32_t *group; // [roots]
	struct group *groups;
	uint32_t count;
};

// Those that hold something and were asked for, by label. @return how many, or -1
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
	asked->groups = session_allocate(session, roots * sizeof(*asked->groups));
	if (!labelled || !asked->group || !asked->groups)
		return heap_error_out_of_memory();
	memset(asked->group, 0xff, roots * sizeof(*asked->group));
	count = label_roots(asked, labelled);
	if (count < 0)
		return heap_error_out_of_memory();
	for (int64_t i = 0; i < count; i++) {
		const char *name = labelled[i].label;

		if (i == 0 || !name || strcmp(name, labelled[i - 1].label) != 0)
			asked->groups[asked->count++] =
				(struct group){ .label = name, .root = labelled[i].root };
		asked->group[labelled[i].root] = asked->count - 1;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *measure_groups(struct asked *asked)
{
	const struct heap_root_sizes *sizes;
	struct heap_root_size *results =
		session_allocate(asked->session, (asked->count + 1u) * sizeof(*results));
	struct heap_error *error = session_root_sizes(asked->session, &sizes);

	if (!error && !results)
		error = heap_error_out_of_memory();
	if (!error)
		error = heap_root_sizes_measure(sizes, asked->group, asked->count, results, NULL);
	for (uint32_t i = 0; !error && i < asked->count; i++)
		asked->groups[i].holding = results[i];
	return error;
}

// --- roots -------------------------------------------------------------------

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->holding.retained != b->holding.retained)
		return a->holding.retained > b->holding.retained ? -1 : 1;
	if (a->holding.reachable != b->holding.reachable)
		return a->holding.reachable > b->holding.reachable ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

static uint64_t total_bytes(const struct heap_snapshot *snapshot)
{
	uint64_t total = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		total += snapshot->size[i];
	return total;
}

static void print_group(const struct asked *asked, const struct group *group, uint64_t total)
{
	struct session *session = asked->session;
	struct output *output = session->output;
	const struct heap_root_size *holding = &group->holding;
	double share = total ? 100.0 * (double)holding->retained / (double)total : 0;

	table_row(output, "%10s\t%10s\t%10s\t%10s\t%6.1f\t%s",
		  describe_bytes(session, holding->retained),
		  describe_bytes(session, holding->reachable),
		  describe_bytes(session, holding->reachable - holding->retained),
		  describe_bytes(session, holding->exclusive), share,
		  group->label ? group->label : describe_root(session, group->root));
	output_open_object(output, NULL);
	output_number(output, "retained", holding->retained);
	output_number(output, "retained_objects", holding->retained_objects);
	output_number(output, "reachable", holding->reachable);
	output_number(output, "reachable_objects", holding->reachable_objects);
	output_number(output, "shared", holding->reachable - holding->retained);
	output_number(output, "exclusive", holding->exclusive);
	output_real(output, "per_cent", share);
	if (group->label)
		output_string(output, groupings[asked->grouping], group->label);
	else
		describe_root_json(session, "root", group->root);
	output_close(output);
}

static enum command_status print_groups(struct asked *asked, uint64_t minimum, uint64_t limit)
{
	struct session *session = asked->session;
	uint64_t total = total_bytes(session->snapshot), shown = 0;

	qsort(asked->groups, asked->count, sizeof(*asked->groups), compare_groups);
	table_header(session->output, "02341", "%10s\t%10s\t%10s\t%10s\t%6s\t%s", "retained",
		     "reachable", "shared", "exclusive", "%", groupings[asked->grouping]);
	output_open_array(session->output, NULL);
	for (uint32_t i = 0; i < asked->count && shown < limit && !session_must_stop(session);
	     i++) {
		if (asked->groups[i].holding.reachable < minimum)
			continue;
		print_group(asked, &asked->groups[i], total);
		shown++;
	}
	output_close(session->output);
	return shown ? COMMAND_OK : COMMAND_NOTHING;
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

static enum command_status roots_run(struct session *session, int argc, char **argv)
{
	const char *minimum_text = NULL, *by = "root";
	uint64_t minimum = 0, limit = DEFAULT_SHOWN;
	struct asked asked = { .session = session };
	bool all = command_option(&argc, argv, "--all", NULL);

	if (command_option(&argc, argv, "--globals", NULL))
		asked.which |= GLOBALS;
	if (command_option(&argc, argv, "--stack", NULL))
		asked.which |= STACKS;
	if (!asked.which)
		asked.which = GLOBALS | STACKS | OTHERS;
	if (command_option(&argc, argv, "--min", &minimum_text) < 0 ||
	    command_option(&argc, argv, "--by", &by) < 0 ||
	    (minimum_text && !heap_parse_size(minimum_text, &minimum)) ||
	    !command_number(&argc, argv, "--limit", &limit) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = parse_grouping(by, &asked.grouping);

	if (!error)
		error = describe_load(session);
	if (!error)
		error = make_groups(&asked);
	if (!error)
		error = measure_groups(&asked);
	if (error)
		return command_fail(session, error);
	return print_groups(&asked, minimum, all ? UINT64_MAX : limit);
}

const struct command roots_command = {
	.name = "roots",
	.synopsis = "[--all] [--by root|variable|file|module|thread|frame|kind] [--globals] "
		    "[--limit N] [--min SIZE] [--stack]",
	.summary = "the roots by what they hold: retained, reachable, shared, exclusive",
	.details =
		"retained: bytes that would be free without this root; reachable: bytes that it "
		"leads\n"
		"to; shared: those that others lead to as well; exclusive: bytes of the objects "
		"that\n"
		"it alone points to. %: retained, of the heap. The 25 largest are shown that lead "
		"to\n"
		"--min SIZE or more. --by takes all of a file, a thread... together; --globals "
		"shows\n"
		"variables of modules alone, --stack those of threads' frames.\n\n"
		"  roots\n"
		"  roots --min 1M --all\n"
		"  roots --by thread --stack",
	.run = roots_run,
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
	struct heap_error *error = operand_parse(session, word, &operand);

	if (!error)
		*node = operand.object != HEAP_NO_OBJECT
				? operand.object
				: session->snapshot->object_count + operand.root;
	return error;
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

	struct heap_error *error = describe_load(session);

	if (!error)
		error = parse_operand(session, argv[1], &a);
	if (!error)
		error = parse_operand(session, argv[2], &b);
	if (!error)
		error = session_edges(session);
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
	.details = "What both lead to, themselves included, and what only one of the two does. "
		   "&name\n"
		   "is a variable itself.\n\n"
		   "  shared &g_table &g_list\n"
		   "  shared 0x5ed26d8 $2",
	.run = shared_run,
	.words = WORDS_OBJECT,
};
