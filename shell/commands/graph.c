// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * inrefs, outrefs, path: an object's place in the graph.
 */
#include "lib/base/cleanup.h"
#include "lib/graph/referrers.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/words/operand.h"
#include "shell/print/path.h"

#include <inttypes.h>

// Parses the operand, and makes the graph.
HEAP_MUST_CHECK
static struct heap_error *prepare(struct session *session, const char *word, heap_object_id *object)
{
	HEAP_TRY(operand_locate_object(session, word, object));
	return session_pointers(session);
}

// Loads the columns that describe objects, and the pointers that leave some of them.
HEAP_MUST_CHECK
static struct heap_error *load_around(struct session *session, const heap_object_id *objects,
				      size_t count, const heap_object_id *sources,
				      size_t source_count)
{
	HEAP_TRY(describe_load_around(session, objects, count));
	HEAP_TRY(describe_load_around(session, sources, source_count));
	return heap_snapshot_load_neighbours(
		session->snapshot, HEAP_COLUMN_QUALITY | HEAP_COLUMN_SLOTS, sources, source_count);
}

// --- outrefs -----------------------------------------------------------------

// A list that ends early, if its rows are limited.
struct listing {
	struct session *session;
	uint64_t limit;
	uint64_t rows; // also those that are not shown
};

static bool take_row(struct listing *listing)
{
	return listing->rows++ < listing->limit;
}

static void print_pointee(struct listing *listing, const char *field, heap_object_id target,
			  uint32_t interior, uint8_t flags)
{
	struct session *session = listing->session;
	struct output *output = session->output;

	if (!take_row(listing))
		return;
	output_text(output, "%s%s%s%s\n", field, *field ? " = " : "",
		    describe_object(session, target), path_edge_remark(session, interior, flags));
	session_remember(session, target);
	output_open_object(output, NULL);
	path_edge_json(session, field, interior, flags);
	describe_object_json(session, "object", target);
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *print_object_pointees(struct listing *listing, heap_object_id object)
{
	struct session *session = listing->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(session_pointers(session));

	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	HEAP_TRY(load_around(session, snapshot->edge_target + first, end - first, &object, 1));
	output_open_array(session->output, NULL);
	for (uint32_t i = first; i < end && !session_must_stop(session); i++)
		print_pointee(
			listing,
			field_of_object(session, object, (uint64_t)snapshot->edge_slot[i] * 8),
			snapshot->edge_target[i], snapshot->edge_interior[i],
			snapshot->edge_flags[i]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_root_pointees(struct listing *listing, heap_root_id root)
{
	struct session *session = listing->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(describe_load(session));
	output_open_array(session->output, NULL);
	for (uint64_t i = heap_snapshot_first_root_edge(snapshot, root);
	     i < snapshot->root_edge_count && snapshot->root_edges[i].root == root; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		print_pointee(listing, field_of_root(session, root, edge->offset), edge->target,
			      edge->interior, edge->flags);
	}
	return NULL;
}

// Ends a list. @return the command's status
static enum command_status finish(const struct listing *listing)
{
	struct session *session = listing->session;

	output_close(session->output);
	if (listing->rows > listing->limit)
		command_tell_rest(session, listing->rows - listing->limit);
	return listing->rows ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status outrefs_run(struct session *session, int argc, char **argv)
{
	struct listing listing = { session, UINT64_MAX, 0 };
	struct operand operand;

	if (!command_limit(&argc, argv, &listing.limit) || argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = operand_locate(session, argv[1], &operand);

	if (!error)
		error = operand.object != HEAP_NO_OBJECT
				? print_object_pointees(&listing, operand.object)
				: print_root_pointees(&listing, operand.root);
	return error ? command_fail(session, error) : finish(&listing);
}

const struct command outrefs_command = {
	.name = "outrefs",
	.synopsis = "[--all | --limit N] OBJ",
	.summary = "the objects that an object points to",
	.details = "Field by field, marked as `inrefs` does.\n\n"
		   "  outrefs 0x5ed26d8\n"
		   "  outrefs --limit 10 $1",
	.run = outrefs_run,
	.nothing = "It points to no object.",
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};

// --- inrefs ------------------------------------------------------------------

static void print_root_reference(struct session *session, const struct heap_root_edge *edge)
{
	const char *field = field_of_root(session, edge->root, edge->offset);

	output_text(session->output, "%s%s%s%s\n", field, *field ? " of " : "",
		    describe_root(session, edge->root),
		    path_edge_remark(session, edge->interior, edge->flags));
	output_open_object(session->output, NULL);
	path_edge_json(session, field, edge->interior, edge->flags);
	describe_root_json(session, "root", edge->root);
	output_close(session->output);
}

static void print_reference(struct session *session, uint32_t edge, heap_object_id source)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *field =
		field_of_object(session, source, (uint64_t)snapshot->edge_slot[edge] * 8);

	output_text(session->output, "%s of %s%s\n", field, describe_object(session, source),
		    path_edge_remark(session, snapshot->edge_interior[edge],
				     snapshot->edge_flags[edge]));
	session_remember(session, source);
	output_open_object(session->output, NULL);
	path_edge_json(session, field, snapshot->edge_interior[edge], snapshot->edge_flags[edge]);
	describe_object_json(session, "object", source);
	output_close(session->output);
}

static void print_referrers(struct listing *listing, const struct heap_referrer_list *of)
{
	struct session *session = listing->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	output_open_array(session->output, NULL);
	for (uint32_t i = 0; i < of->root_count; i++) {
		if (take_row(listing))
			print_root_reference(session, &snapshot->root_edges[of->root_edges[i]]);
	}
	for (uint32_t i = 0; i < of->count && !session_must_stop(session); i++) {
		if (take_row(listing))
			print_reference(session, of->edges[i], of->sources[i]);
	}
}

HEAP_MUST_CHECK
static struct heap_error *list_referrers(struct listing *listing, heap_object_id object,
					 struct heap_referrers *referrers)
{
	HEAP_TRY(heap_referrers_need(referrers, &object, 1));

	const struct heap_referrer_list of = heap_referrers_get(referrers, object);

	HEAP_TRY(load_around(listing->session, &object, 1, of.sources, of.count));
	print_referrers(listing, &of);
	return NULL;
}

static void destroy_referrers(struct heap_referrers **referrers)
{
	heap_referrers_destroy(*referrers);
}

HEAP_MUST_CHECK
static struct heap_error *list_referrers_of(struct listing *listing, const char *word)
{
	CLEANUP(destroy_referrers) struct heap_referrers *referrers = NULL;
	heap_object_id object;

	HEAP_TRY(prepare(listing->session, word, &object));
	HEAP_TRY(heap_referrers_create(listing->session->graph, &referrers));
	return list_referrers(listing, object, referrers);
}

static enum command_status inrefs_run(struct session *session, int argc, char **argv)
{
	struct listing listing = { session, UINT64_MAX, 0 };

	if (!command_limit(&argc, argv, &listing.limit) || argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = list_referrers_of(&listing, argv[1]);

	return error ? command_fail(session, error) : finish(&listing);
}

const struct command inrefs_command = {
	.name = "inrefs",
	.synopsis = "[--all | --limit N] OBJ",
	.summary = "the roots and objects that point to an object",
	.details = "+ BYTES marks a pointer into the middle of the object, (untyped pointer)\n"
		   "a word that is no pointer by the type of its holder.\n"
		   "\n"
		   "  inrefs 0x5ed26d8\n"
		   "  inrefs $1",
	.run = inrefs_run,
	.nothing = "Nothing points to it.",
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};

// --- path --------------------------------------------------------------------

enum {
	MAX_WAYS = 1000,
};

// Marks the fields of all --avoid. @param bits  NULL if there is none
HEAP_MUST_CHECK
static struct heap_error *take_avoided(struct session *session, int *argc, char **argv,
				       uint8_t **bits)
{
	const char *field;
	int found;

	while ((found = command_option(argc, argv, "--avoid", &field)) > 0) {
		HEAP_TRY(session_edges(session));
		if (!*bits)
			*bits = session_allocate(session, session->snapshot->edge_count / 8 + 1);
		if (!*bits)
			return heap_error_out_of_memory();
		HEAP_TRY(heap_path_mark_field(session->snapshot, field, *bits));
	}
	return found < 0 ? heap_error_create(HEAP_ERROR_ARGUMENT,
					     "--avoid: TYPE.FIELD must follow it")
			 : NULL;
}

static enum command_status say_none(struct session *session, heap_object_id object, const char *why)
{
	output_text(session->output, "no root reaches %s%s\n", describe_object(session, object),
		    why);
	output_open_array(session->output, NULL);
	return COMMAND_NOTHING;
}

// One path is an array of its steps; several are an array of such arrays.
static void print_paths(struct session *session, struct heap_path *paths, size_t count,
			bool several)
{
	if (several)
		output_open_array(session->output, NULL);
	for (size_t i = 0; i < count; i++) {
		if (!session_must_stop(session)) {
			if (i > 0)
				output_text(session->output, "\n");
			path_print(session, NULL, &paths[i], "");
		}
		heap_path_deinit(&paths[i]);
	}
	if (several)
		output_close(session->output);
}

// A variable's own pointers, each as a path.
HEAP_MUST_CHECK
static struct heap_error *print_root_paths(struct session *session, heap_root_id root)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t first = heap_snapshot_first_root_edge(snapshot, root);

	output_open_array(session->output, NULL);
	for (uint64_t i = first; i < snapshot->root_edge_count &&
				 snapshot->root_edges[i].root == root && session_take_line(session);
	     i++) {
		struct heap_path path = { .root_edge = i };

		HEAP_TRY(path_load(session, &path, 1));
		if (i > first)
			output_text(session->output, "\n");
		path_print(session, NULL, &path, "");
	}
	output_close(session->output);
	return NULL;
}

static enum command_status show_root_paths(struct session *session, const char *word,
					   const struct operand *operand)
{
	struct heap_error *error = operand_is_root(session, operand)
					   ? print_root_paths(session, operand->root)
					   : operand_no_object(session, word, operand);

	return error ? command_fail(session, error) : COMMAND_OK;
}

HEAP_MUST_CHECK
static struct heap_error *locate_target(struct session *session, const char *word,
					struct operand *operand)
{
	HEAP_TRY(operand_locate(session, word, operand));
	return session_pointers(session);
}

// Finds up to @p limit paths to an object, or to the part of a pool that is meant, and loads the columns that describe them.
// @param paths  gets *@p count paths, the caller's; none after an error
HEAP_MUST_CHECK
static struct heap_error *find_paths(struct session *session, const struct operand *operand,
				     const uint8_t *avoided, size_t limit, struct heap_path *paths,
				     size_t *count)
{
	struct heap_error *error;

	HEAP_TRY(session_divided(session));
	HEAP_TRY(heap_paths_find(session->graph, session->divided, operand_node(session, operand),
				 avoided, limit, paths, count));
	error = *count ? path_load(session, paths, *count)
		       : describe_load_around(session, &operand->object, 1);
	for (size_t i = 0; error && i < *count; i++)
		heap_path_deinit(&paths[i]);
	return error;
}

// Takes --all, --all=N or --all N off. A number that is the only other word is the object.
// @param limit  kept if the option is absent
HEAP_MUST_CHECK
static struct heap_error *take_all(int *argc, char **argv, uint64_t *limit)
{
	const char *number;

	if (*argc == 3 && command_option(argc, argv, "--all", NULL) > 0) {
		*limit = MAX_WAYS;
		return NULL;
	}
	if (command_option(argc, argv, "--all", &number) <= 0)
		return NULL;
	if (!grammar_parse_number(number, limit))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--all %s: not a number", number);
	return *limit <= MAX_WAYS
		       ? NULL
		       : heap_error_create(HEAP_ERROR_ARGUMENT, "--all %s: at most %d paths",
					   number, MAX_WAYS);
}

static enum command_status path_run(struct session *session, int argc, char **argv)
{
	uint64_t limit = 0;
	uint8_t *avoided = NULL;
	struct operand operand;
	size_t count;

	struct heap_error *error = take_avoided(session, &argc, argv, &avoided);

	if (!error)
		error = take_all(&argc, argv, &limit);
	if (error)
		return command_fail(session, error);
	if (argc != 2)
		return COMMAND_USAGE;

	bool several = limit > 0;
	struct heap_path *paths = session_allocate(session, (limit + 1) * sizeof(*paths));

	error = paths ? locate_target(session, argv[1], &operand) : heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	if (operand.object == HEAP_NO_OBJECT)
		return show_root_paths(session, argv[1], &operand);
	error = find_paths(session, &operand, avoided, several ? limit : 1, paths, &count);
	if (error)
		return command_fail(session, error);
	if (count == 0)
		return say_none(session, operand.object,
				avoided ? " without what is avoided" : ": leaked");
	print_paths(session, paths, count, several);
	return COMMAND_OK;
}

const struct command path_command = {
	.name = "path",
	.synopsis = "[--all [N]] [--avoid TYPE.FIELD]... OBJ",
	.summary = "a shortest path from a root to an object",
	.details =
		"A path of typed pointers is preferred to others, a shorter one to a longer\n"
		"one, and among paths of one length one from a named variable. A path into a\n"
		"part of a pool, or an element of a slab, leads out of that. --all shows\n"
		"several, each by another holder of the object: N, or up to 1,000; --avoid\n"
		"leaves out pointers in a field. For a variable itself (&name, or a struct) the\n"
		"paths are its own pointers.\n"
		"\n"
		"  path 0x5ed26d8\n"
		"  path --all 5 $1\n"
		"  path --all $1\n"
		"  path --avoid 'struct node.next' $1",
	.run = path_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
