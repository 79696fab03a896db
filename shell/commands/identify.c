// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * identify: the tree of who holds an object, up to the roots.
 *
 *	struct session at 0x5ed26d8 is:
 *	├─.next of struct session at 0x5ed2700, which is:
 *	│ └─… 38 more by .next, the last of them struct session at 0x5f02008, which is:
 *	│   └─the global variable sessions (server.c:50, server)
 *	└─.owner of struct job at 0x5f07f20, 3 steps below the global variable queue (job.c:12, server)
 *
 * A list or a tree of one type takes two lines, however long it is. Once a screen is full, each
 * further holder takes one line, which still names the root.
 */
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/node.h"
#include "shell/print/part.h"
#include "shell/print/path.h"
#include "shell/base/format.h"
#include "shell/print/referrer_tree.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <string.h>

enum {
	POINTEES_SHOWN = 16,   // of a variable
	SCREEN = 20,           // lines, after which branches are cut short
	MAX_LEVELS = 40,       // shown below each other; then a branch is cut short, too
	MAX_ALL_LEVELS = 500,  // the same with --all
	MAX_JSON_LEVELS = 100, // nested twice: jq reads 256, JSON::PP 512, Python 1000
	MAX_PREFIX = 512,
	MIN_HIDDEN = 3, // objects of a run that are worth leaving out
	MAX_PERIOD = 3, // types that take turns in a run
	MAX_FIELDS = 3, // named of a run
};

// Holders that are followed, by steps from the object: a tree that is wide everywhere says nothing.
static const uint64_t default_widths[] = { 6, 3, 2 };

struct view {
	struct session *session;
	struct holder_tree tree;
	struct holder_widths widths;
	uint64_t depth; // levels that may be shown
	bool all;       // nothing is left out
	uint64_t level;
	unsigned lines;
	char prefix[MAX_PREFIX];
};

// Progress of an object in the answer.
enum shown {
	SHOWN_NOT,
	SHOWN_NOW, // its holders are being shown
	SHOWN_DONE,
};

static void print_branch(struct view *view, bool last)
{
	output_text(view->session->output, "%s%s", view->prefix, last ? "└─" : "├─");
	view->lines++;
}

static size_t indent(struct view *view, bool last)
{
	size_t length = strlen(view->prefix);

	if (length + 5 < sizeof(view->prefix))
		strcat(view->prefix, last ? "  " : "│ ");
	view->level++;
	return length;
}

static void unindent(struct view *view, size_t length)
{
	view->prefix[length] = '\0';
	view->level--;
}

static const char *field_of(const struct view *view, const struct holder *holder)
{
	return field_brief(view->session,
			   node_field(view->session, holder->object, holder->quality.edge));
}

// " and 3 more fields": of a holder that holds an object several times.
static const char *more_fields(const struct view *view, uint32_t fields)
{
	if (fields == 1)
		return "";
	return session_format(view->session, " and %" PRIu32 " more field%s", fields - 1,
			      format_plural(fields - 1));
}

static void show_root(struct view *view, const struct holder *holder, bool last)
{
	struct session *session = view->session;
	const struct heap_root_edge *edge =
		&view->tree.graph->snapshot->root_edges[holder->root_edge];
	const char *field = field_brief(session, field_of_root(session, edge->root, edge->offset));

	print_branch(view, last);
	output_text(session->output, "%s%s%s%s%s\n", field, more_fields(view, holder->fields),
		    *field ? " of " : "", describe_root(session, edge->root),
		    node_interior(session, edge->target, edge->interior));
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", edge->flags & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", edge->interior);
	if (holder->fields > 1)
		output_number(session->output, "fields", holder->fields);
	describe_root_json(session, "root", edge->root);
	output_close(session->output);
}

// --- runs ---------------------------------------------------------------------

// Objects of one type, or of a few that take turns, that hold each other: a list, a tree.
struct run {
	uint64_t hidden;         // objects behind the first
	const struct held *last; // of these
	const char *fields;      // ".next", or ".left, .right"
};

// Blocks without a type are alike if they have one size.
static bool is_alike(const struct view *view, const struct held *a, const struct held *b)
{
	const struct heap_snapshot *snapshot = view->tree.graph->snapshot;

	if (snapshot->type[a->object] != snapshot->type[b->object])
		return false;
	return snapshot->type[a->object] != HEAP_NO_TYPE ||
	       snapshot->size[a->object] == snapshot->size[b->object];
}

static const struct held *ahead(const struct view *view, const struct held *held, unsigned steps)
{
	while (held && steps-- > 0)
		held = holder_tree_next(&view->tree, held);
	return held;
}

// How many objects behind this one are as those that many steps before them.
static uint64_t count_alike(const struct view *view, const struct held *first, unsigned period,
			    const struct held **last)
{
	const struct held *behind = first, *front = ahead(view, first, period);
	uint64_t count = 0;

	*last = first;
	while (front && count < view->tree.known_count && is_alike(view, behind, front) &&
	       front->shown == SHOWN_NOT) {
		behind = holder_tree_next(&view->tree, behind);
		*last = front;
		front = holder_tree_next(&view->tree, front);
		count++;
	}
	return count;
}

// Adds ".slots[]" for ".slots[3]" unless it is there. @return false if there are too many
static bool add_field(struct view *view, const char **fields, unsigned *count, const char *field)
{
	char text[256];
	size_t length = 0;
	bool within = false;

	for (; *field && length + 1 < sizeof(text); field++) {
		within = within && *field != ']';
		if (!within)
			text[length++] = *field;
		within = within || *field == '[';
	}
	text[length] = '\0';
	for (unsigned i = 0; i < *count; i++) {
		if (strcmp(fields[i], text) == 0)
			return true;
	}
	if (*count == MAX_FIELDS)
		return false;
	fields[(*count)++] = session_format(view->session, "%s", text);
	return true;
}

// The fields through which the objects of a run hold each other.
static const char *name_fields(struct view *view, const struct held *first, uint64_t steps)
{
	const char *fields[MAX_FIELDS] = { "", "", "" };
	const char *text = "";
	unsigned count = 0;
	bool complete = true;

	for (; complete && steps > 0; steps--) {
		complete = add_field(view, fields, &count, field_of(view, &first->holders[0]));
		first = holder_tree_next(&view->tree, first);
	}
	for (unsigned i = 0; i < count; i++)
		text = session_format(view->session, "%s%s%s", text, i > 0 ? ", " : "", fields[i]);
	return complete ? text : session_format(view->session, "%s and others", text);
}

// The run that begins with an object, if it hides enough.
static struct run find_run(struct view *view, const struct held *first)
{
	struct run run = { 0 };

	for (unsigned period = 1; !view->all && period <= MAX_PERIOD && run.hidden == 0; period++) {
		const struct held *last;
		uint64_t alike = count_alike(view, first, period, &last);

		// A period is a run only if it comes back.
		if (alike >= MIN_HIDDEN && alike >= period)
			run = (struct run){ alike + period - 1, last, NULL };
	}
	if (run.hidden > 0)
		run.fields = name_fields(view, first, run.hidden);
	return run;
}

// --- branches -----------------------------------------------------------------

static void show_holders(struct view *view, struct held *held);

// Says why a holder's own holders are not shown below it; NULL: they are.
static const char *why_not(const struct view *view, const struct held *holder)
{
	if (!holder)
		return ", which was not followed";
	if (holder->shown == SHOWN_NOW)
		return ", itself (a cycle)";
	if (holder->shown == SHOWN_DONE)
		return ", already shown";
	if (holder->count == 0)
		return ", which nothing holds (leaked)";
	return view->level >= view->depth ? ", which is held further up" : NULL;
}

// "3 steps below the global variable queue (job.c:12, server)": a whole branch in a line.
static const char *summarize(struct view *view, const struct held *holder)
{
	struct session *session = view->session;
	const struct held *end;
	size_t steps = holder_tree_walk(&view->tree, holder, &end);

	if (end->count == 0)
		return session_format(session, ", %zu steps below %s, which nothing holds (leaked)",
				      steps, node_describe(session, end->object));
	if (end->holders[0].object != HEAP_NO_NODE)
		return ", in a cycle that no root reaches";

	uint32_t root = session->snapshot->root_edges[end->holders[0].root_edge].root;

	return steps == 0 ? session_format(session, ", held by %s", describe_root(session, root))
			  : session_format(session, ", %zu step%s below %s", steps,
					   format_plural(steps), describe_root(session, root));
}

// An object, or a part, by one name: readers of a run need not tell them apart.
static void json_of(struct session *session, const char *key, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	if (part)
		part_json(session, key, part);
	else
		describe_object_json(session, key, node);
}

// The last object of a run, with its holders.
static void show_run(struct view *view, const struct run *run)
{
	struct session *session = view->session;
	struct held *last = holder_tree_get(&view->tree, run->last->object);
	const char *end = why_not(view, last);

	print_branch(view, true);
	output_text(session->output, "… %" PRIu64 " more by %s, the last of them %s%s\n",
		    run->hidden, run->fields, node_describe(session, last->object),
		    end ? end : ", which is:");
	node_remember(session, last->object);
	output_open_object(session->output, "run");
	output_number(session->output, "objects", run->hidden);
	output_string(session->output, "fields", run->fields);
	json_of(session, "last", last->object);
	output_close(session->output);
	if (end) {
		output_string(session->output, "end", end + 2);
		return;
	}

	size_t length = indent(view, true);

	show_holders(view, last);
	unindent(view, length);
}

// Shows what holds a holder: a run first, if one begins there.
static void show_further(struct view *view, struct held *holder, bool last)
{
	struct run run = find_run(view, holder);
	size_t length = indent(view, last);

	if (run.hidden > 0) {
		const struct held *held = holder;

		for (uint64_t i = 0; i < run.hidden; i++) {
			holder_tree_get(&view->tree, held->object)->shown = SHOWN_DONE;
			held = holder_tree_next(&view->tree, held);
		}
		show_run(view, &run);
	} else {
		show_holders(view, holder);
	}
	unindent(view, length);
}

// Prints one holder's line, and opens it in JSON.
static void open_object(struct view *view, const struct held *held, const struct holder *holder,
			const char *end, bool last)
{
	struct session *session = view->session;
	bool is_pointer = holder->quality.edge != HEAP_NO_INDEX;
	const char *field = is_pointer ? field_of(view, holder) : "";

	print_branch(view, last);
	output_text(session->output, "%s%s %s%s%s\n",
		    is_pointer ? field : "nothing points to it alone: as a part",
		    is_pointer ? session_format(session, "%s of", more_fields(view, holder->fields))
			       : " of",
		    node_describe(session, holder->object),
		    node_interior(session, held->object, holder->quality.interior),
		    end ? end : ", which is:");
	node_remember(session, holder->object);
	output_open_object(session->output, NULL);
	output_string(session->output, "field", field);
	output_boolean(session->output, "typed", holder->quality.flags & HEAP_EDGE_TYPED);
	output_number(session->output, "interior", holder->quality.interior);
	if (holder->fields > 1)
		output_number(session->output, "fields", holder->fields);
	node_json(session, "", holder->object);
	if (end)
		output_string(session->output, "end", end + 2);
}

// True if a branch may take no more than its line.
static bool is_full(const struct view *view)
{
	if (view->all)
		return view->level >= (output_is_json(view->session->output)
					       ? (uint64_t)MAX_JSON_LEVELS
					       : (uint64_t)MAX_ALL_LEVELS);
	return view->lines >= SCREEN || view->level >= MAX_LEVELS;
}

static void show_object(struct view *view, const struct held *held, const struct holder *holder,
			bool last)
{
	struct held *above = holder_tree_get(&view->tree, holder->object);
	const char *end = why_not(view, above);

	if (!end && is_full(view))
		end = summarize(view, above);
	open_object(view, held, holder, end, last);
	if (!end)
		show_further(view, above, last);
	output_close(view->session->output);
}

// --- what does not lead to a root -----------------------------------------------

// True if a holder is reached through what it holds: the next element of a list, a child.
static bool leads_back(const struct view *view, const struct held *held,
		       const struct holder *holder)
{
	const uint32_t *distance = view->tree.graph->distance;
	const struct held *above = holder_tree_get(&view->tree, holder->object);

	if (!above || distance[above->object] == UINT32_MAX)
		return false;
	// Each step leads nearer to a root.
	while (above && distance[above->object] > distance[held->object])
		above = holder_tree_next(&view->tree, above);
	return above == held;
}

static void show_back(struct view *view, const struct held *held, const struct holder *holder,
		      bool last)
{
	const char *end = holder->object == held->object ? ", itself (a cycle)"
							 : ", which it holds itself (a cycle)";

	open_object(view, held, holder, end, last);
	output_close(view->session->output);
}

// --- the holders of an object -----------------------------------------------------

// The holders of an object that are shown, and the number of the others.
struct choice {
	uint32_t *holders; // [count] by number
	uint32_t count;
	const struct holder *back; // the first that leads back to the object
	uint32_t more;             // that are not shown, and may lead elsewhere
};

static uint64_t width_at(const struct view *view, uint64_t step)
{
	return step < view->widths.levels ? view->widths.width[step] : 1;
}

// True of an object of the same type that is no nearer to a root: another element of a list says
// nothing new, and has neighbours of its own.
static bool is_sibling(const struct view *view, const struct held *held,
		       const struct holder *holder)
{
	const struct heap_snapshot *snapshot = view->tree.graph->snapshot;
	const uint32_t *distance = view->tree.graph->distance;

	return holder->object != HEAP_NO_NODE && distance[held->object] != UINT32_MAX &&
	       distance[holder->object] >= distance[held->object] &&
	       holder_tree_get(&view->tree, holder->object) &&
	       snapshot->type[holder->object] == snapshot->type[held->object];
}

// Further up only ways to roots are told, and every root that has a name.
static bool is_shown(const struct view *view, const struct holder *holder, uint64_t width,
		     uint32_t chosen)
{
	const struct heap_snapshot *snapshot = view->session->snapshot;

	if (chosen < width)
		return true;
	return holder->object == HEAP_NO_NODE && chosen < default_widths[1] &&
	       heap_root_is_named(&snapshot->roots[snapshot->root_edges[holder->root_edge].root]);
}

static struct choice choose(const struct view *view, const struct held *held)
{
	uint64_t width = width_at(view, view->level);
	struct choice choice = { .holders = session_allocate(view->session,
							     held->count * sizeof(uint32_t)) };

	for (uint32_t i = 0; choice.holders && i < held->count; i++) {
		const struct holder *holder = &held->holders[i];

		if (!view->all && view->level > 0 && is_sibling(view, held, holder))
			continue;
		if (!is_shown(view, holder, width, choice.count))
			choice.more++;
		else if (holder->object == HEAP_NO_NODE || !leads_back(view, held, holder))
			choice.holders[choice.count++] = i;
		else if (!choice.back)
			choice.back = holder;
	}
	return choice;
}

static void show_more(struct view *view, uint32_t more)
{
	if (more == 0)
		return;
	print_branch(view, true);
	output_text(view->session->output, "and %" PRIu32 " more (--width shows them)\n", more);
}

void show_holders(struct view *view, struct held *held)
{
	struct choice choice = choose(view, held);
	bool is_first = view->level == 0;
	bool has_rest = is_first && (choice.back || choice.more > 0);

	held->shown = SHOWN_NOW;
	output_open_array(view->session->output, "held_by");
	for (uint32_t i = 0; i < choice.count && !session_must_stop(view->session); i++) {
		const struct holder *holder = &held->holders[choice.holders[i]];
		bool last = i + 1 == choice.count && !has_rest;

		if (holder->object == HEAP_NO_NODE)
			show_root(view, holder, last);
		else
			show_object(view, held, holder, last);
	}
	if (is_first && choice.back)
		show_back(view, held, choice.back, choice.more == 0);
	output_close(view->session->output);
	if (choice.more > 0)
		output_number(view->session->output, "more", choice.more);
	if (is_first)
		show_more(view, choice.more);
	held->shown = SHOWN_DONE;
}

// --- the command --------------------------------------------------------------------

static void show_tree(struct view *view, heap_node_id node)
{
	struct session *session = view->session;
	const struct heap_part *part = heap_divided_part(session->divided, node);
	heap_object_id object = heap_divided_block(session->divided, node);
	bool leaked = view->tree.graph->distance[node] == UINT32_MAX;

	output_open_object(session->output, NULL);
	describe_object_json(session, "object", object);
	if (part) {
		part_json(session, "part", part);
		output_text(session->output, "%s, part of the ", part_describe(session, part));
	}
	output_text(session->output, "%s is:\n", describe_object(session, object));
	show_holders(view, holder_tree_get(&view->tree, node));
	if (leaked)
		output_text(session->output, "no root reaches it: leaked\n");
	output_boolean(session->output, "leaked", leaked);
}

// Sets how many holders are followed. @return false: there is no memory
static bool set_widths(struct view *view, uint64_t width, bool is_wide)
{
	enum {
		LEVELS = 12, // with --width
	};
	uint64_t *widths;

	if (!is_wide) {
		view->widths = (struct holder_widths){ default_widths, 3 };
		return true;
	}
	widths = session_allocate(view->session, LEVELS * sizeof(*widths));
	for (int i = 0; widths && i < LEVELS; i++)
		widths[i] = view->all ? UINT64_MAX : width;
	view->widths = (struct holder_widths){ widths, LEVELS };
	return widths != NULL;
}

// Lists what a variable points to, each object once.
static void list_pointees(struct session *session, const struct operand *operand, uint64_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t first, count = operand_pointers(session, operand, &first), rest = 0;

	output_open_array(session->output, "points_to");
	for (uint64_t i = first; i < first + count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (i > first && edge->target == edge[-1].target)
			continue;
		if (i - first >= limit) {
			rest++;
			continue;
		}
		const char *field = field_of_root(session, edge->root, edge->offset);

		output_text(session->output, "  %s%s%s%s\n", field, *field ? " = " : "",
			    describe_object(session, edge->target),
			    path_edge_remark(session, edge->interior, edge->flags));
		describe_object_json(session, NULL, edge->target);
		session_remember(session, edge->target);
	}
	output_close(session->output);
	if (rest > 0)
		command_tell_rest(session, rest);
}

// A variable is where the search ends.
static enum command_status identify_root(struct session *session, const struct operand *operand,
					 bool all)
{
	struct heap_error *error = describe_load(session);
	bool holds = operand_holds_object(session, operand);

	if (error)
		return command_fail(session, error);
	output_open_object(session->output, NULL);
	describe_root_json(session, "root", operand->root);
	output_text(session->output, "%s is a root: nothing has to hold it%s\n",
		    describe_root(session, operand->root), holds ? ". It points to:" : "");
	output_open_array(session->output, "held_by");
	output_close(session->output);
	list_pointees(session, operand, all ? UINT64_MAX : POINTEES_SHOWN);
	return COMMAND_OK;
}

static enum command_status identify_run(struct session *session, int argc, char **argv)
{
	struct view view = { .session = session, .depth = UINT64_MAX };
	heap_node_id node = HEAP_NO_NODE;
	uint64_t width = 0;
	struct operand operand;

	view.all = command_option(&argc, argv, "--all", NULL) == 1;
	if (!command_number(&argc, argv, "--depth", &view.depth) ||
	    !command_number(&argc, argv, "--width", &width) || argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = operand_locate(session, argv[1], &operand);

	if (!error && !set_widths(&view, width, view.all || width > 0))
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	if (operand.object == HEAP_NO_OBJECT &&
	    (argv[1][0] == '&' || operand_holds_object(session, &operand)))
		return identify_root(session, &operand, view.all);
	if (operand.object == HEAP_NO_OBJECT)
		return command_fail(session, operand_no_object(session, argv[1], &operand));
	error = session_divided(session);
	if (!error) {
		node = operand_node(session, &operand);
		error = holder_tree_find(&view.tree, session, node, &view.widths);
	}
	if (!error) {
		show_tree(&view, node);
		describe_sample(session, operand.object);
	}
	holder_tree_deinit(&view.tree);
	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command identify_command = {
	.name = "identify",
	.synopsis = "[--all] [--depth N] [--width N] OBJ",
	.summary = "who holds an object, up to the roots",
	.details =
		"A tree: an object's holders are below it, named by their fields. Each branch\n"
		"ends at a root, at an object shown before, or at one that nothing holds.\n"
		"Variables come first, then objects by their distance from one; words of stacks\n"
		"and registers come last. Parts of pools are objects of their own. A run of one "
		"type, such as a list or a tree, takes one\n"
		"line. When a screen is full, a line stands for a branch, and names its root.\n"
		"\n"
		"--all shows every holder and every step, up to 500 levels, --width N shows N "
		"holders\n"
		"of each object, --depth N ends each branch after N levels.\n\n"
		"  identify 0x5ed26d8\n"
		"  identify --all $1",
	.run = identify_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
