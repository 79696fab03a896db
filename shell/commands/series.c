// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * snapshots, go, next, previous, compare, history: commands about a series of snapshots.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/series/difference.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"
#include "shell/series/series.h"
#include "lib/series/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(struct session *session, size_t number)
{
	return describe_name(session, session->series->paths[number]);
}

// --- snapshots -----------------------------------------------------------------------

static enum command_status snapshots_run(struct session *session, int argc, char **argv)
{
	const struct session_series *series = session->series;

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;
	output_open_array(session->output, NULL);
	for (size_t i = 0; i < series->count; i++) {
		output_text(session->output, "%c[%zu] %s\n", i == series->current ? '*' : ' ', i,
			    name_of(session, i));
		output_open_object(session->output, NULL);
		output_number(session->output, "number", i);
		output_string(session->output, "file", series->paths[i]);
		output_boolean(session->output, "current", i == series->current);
		output_close(session->output);
	}
	output_close(session->output);
	return COMMAND_OK;
}

const struct command snapshots_command = {
	.name = "snapshots",
	.synopsis = "",
	.summary = "the snapshots that were opened together, and the current one",
	.details = "Commands apply to the current snapshot. Every command takes --each, and then\n"
		   "runs on each of them in turn. While more are being written, `heapsh --follow\n"
		   "PATTERN` shows what grows.\n"
		   "\n"
		   "  snapshots",
	.run = snapshots_run,
};

static enum command_status go_to(struct session *session, size_t number)
{
	struct heap_error *error = series_go(session, number);

	if (error)
		return command_fail(session, error);
	output_text(session->output, "[%zu] %s: %" PRIu32 " object%s\n", number,
		    name_of(session, number), session->snapshot->object_count,
		    format_plural(session->snapshot->object_count));
	output_open_object(session->output, NULL);
	output_number(session->output, "number", number);
	output_string(session->output, "file", session->series->paths[number]);
	output_number(session->output, "objects", session->snapshot->object_count);
	output_close(session->output);
	return COMMAND_OK;
}

static enum command_status no_such(struct session *session, const char *what)
{
	heap_print(session->errors, "heapsh: there is no %s snapshot\n", what);
	return COMMAND_FAILED;
}

static bool parse_number(const struct session_series *series, const char *word, size_t *result)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || number >= series->count)
		return false;
	*result = number;
	return true;
}

static enum command_status go_run(struct session *session, int argc, char **argv)
{
	size_t number;

	if (argc != 2)
		return COMMAND_USAGE;
	if (!parse_number(session->series, argv[1], &number))
		return command_fail(
			session, heap_error_create(HEAP_ERROR_ABSENT,
						   "%s: no such snapshot; there are [0] to [%zu]",
						   argv[1], session->series->count - 1));
	return go_to(session, number);
}

const struct command go_command = {
	.name = "go",
	.synopsis = "N",
	.summary = "go to another of the opened snapshots, by its number",
	.details = "Snapshots are numbered from 0; `snapshots` lists them.\n"
		   "\n"
		   "  go 0",
	.run = go_run,
	.words = WORDS_SNAPSHOT,
};

static enum command_status next_run(struct session *session, int argc, char **argv)
{
	size_t next = session->series->current + 1;

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;
	return next < session->series->count ? go_to(session, next) : no_such(session, "later");
}

const struct command next_command = {
	.name = "next",
	.synopsis = "",
	.summary = "go to the next of the snapshots that were opened",
	.details = "\n  next",
	.run = next_run,
};

static enum command_status previous_run(struct session *session, int argc, char **argv)
{
	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;
	return session->series->current > 0 ? go_to(session, session->series->current - 1)
					    : no_such(session, "earlier");
}

const struct command previous_command = {
	.name = "previous",
	.synopsis = "",
	.summary = "go to the snapshot before",
	.details = "\n  previous",
	.run = previous_run,
};

// --- compare -------------------------------------------------------------------------

static enum command_status show_compared(struct session *session)
{
	const struct heap_snapshot *other = session->series->other.snapshot;

	if (!other) {
		output_text(session->output, "Nothing is compared with\n");
		output_null(session->output, NULL);
		return COMMAND_NOTHING;
	}
	output_text(session->output, "Compared with %s: %" PRIu32 " object%s\n",
		    describe_name(session, other->path), other->object_count,
		    format_plural(other->object_count));
	output_open_object(session->output, NULL);
	output_string(session->output, "file", other->path);
	output_number(session->output, "objects", other->object_count);
	output_close(session->output);
	return COMMAND_OK;
}

// Objects are told apart by address and birth, which mean nothing in another process.
static void warn_of_other_process(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	const struct heap_info *other = &session->series->other.snapshot->info;

	if (heap_is_one_process(info, other))
		return;
	heap_print(session->errors,
		   "heapsh: %s is of another process (%s, pid %" PRIu64 ", not %s, pid %" PRIu64
		   "): all objects count as new or gone; count --delta still compares numbers\n",
		   session->series->other.snapshot->path, other->program, other->pid, info->program,
		   info->pid);
}

static enum command_status compare_run(struct session *session, int argc, char **argv)
{
	size_t number;
	struct heap_error *error;

	if (argc > 2)
		return COMMAND_USAGE;
	if (argc == 2) {
		error = series_compare(session, parse_number(session->series, argv[1], &number)
							? session->series->paths[number]
							: argv[1]);
		if (error)
			return command_fail(session, error);
		warn_of_other_process(session);
	}
	return show_compared(session);
}

const struct command compare_command = {
	.name = "compare",
	.synopsis = "[FILE|N]",
	.summary = "compare with another snapshot: find new, find gone, count --delta",
	.details =
		"FILE may also be one of the opened snapshots, by its number. Afterwards the\n"
		"filter `new` matches objects that FILE lacks, `gone` those that only FILE has,\n"
		"and `count --delta` shows how many more or fewer there are. Without an\n"
		"argument, prints the snapshot that is compared with.\n"
		"\n"
		"  compare app-00.snap\n"
		"  compare 0",
	.run = compare_run,
	.words = WORDS_SNAPSHOT | WORDS_FILE,
};

enum command_status command_count_delta(struct session *session, const char *by, uint64_t limit)
{
	enum tally_by way = tally_parse(by);
	struct heap_comparison comparison;
	struct difference difference;
	struct session *other = &session->series->other;
	struct heap_error *error = series_need_new(session);

	if (error)
		return command_fail(session, error);
	if (way == TALLY_WAYS)
		return command_fail(
			session,
			heap_error_create(HEAP_ERROR_ARGUMENT,
					  "--delta --by %s: not type, site, kind or module", by));
	error = heap_comparison_init(&comparison, other->snapshot, session->snapshot);
	if (error)
		return command_fail(session, error);
	error = difference_init(&difference, &comparison, other, session, way);
	heap_comparison_deinit(&comparison);
	session_end_command(other);
	if (error)
		return command_fail(session, error);
	output_open_object(session->output, NULL);
	difference_print(&difference, session, way, limit, false);
	difference_deinit(&difference);
	return COMMAND_OK;
}

// --- history -------------------------------------------------------------------------

enum {
	HOLDERS_NAMED = 3,
};

// An object as one snapshot has it; texts are the session's.
struct moment {
	bool is_there;
	uint64_t size;
	const char *type;
	uint64_t holders;
	const char *names; // of the first of them
};

struct identity {
	uint64_t address;
	uint64_t birth_ns;
	struct heap_info info; // its process
	bool knows_births;
};

static void add_holder(struct session *session, struct moment *moment, const char *name)
{
	if (moment->holders++ < HOLDERS_NAMED)
		moment->names = session_format(session, "%s%s%s", moment->names,
					       *moment->names ? ", " : "", name);
}

// One pass over all edges: for a single object this is cheaper than reversing them.
HEAP_MUST_CHECK
static struct heap_error *find_holders(struct session *session, heap_object_id object,
				       struct moment *moment)
{
	struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error = heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES);

	if (error)
		return error;
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (edge->target == object)
			add_holder(session, moment, describe_root(session, edge->root));
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (snapshot->edge_target[j] == object && i != object)
				add_holder(session, moment, describe_object(session, i));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *look_at(struct session *session, const struct identity *identity,
				  struct moment *moment)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object;

	*moment = (struct moment){ .type = "", .names = "" };
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_BIRTH));
	if (!heap_is_one_process(&snapshot->info, &identity->info))
		return NULL;
	object = heap_snapshot_find(snapshot, identity->address);
	if (object == HEAP_NO_OBJECT || snapshot->address[object] != identity->address ||
	    (identity->knows_births && heap_knows_births(snapshot) &&
	     snapshot->epochs[snapshot->birth[object]] != identity->birth_ns))
		return NULL;
	moment->is_there = true;
	moment->size = snapshot->size[object];
	moment->type = describe_type_of(session, object);
	return find_holders(session, object, moment);
}

static bool is_alike(const struct moment *a, const struct moment *b)
{
	return a->is_there == b->is_there && a->size == b->size && strcmp(a->type, b->type) == 0 &&
	       a->holders == b->holders && strcmp(a->names, b->names) == 0;
}

static const char *describe_moment(struct session *session, const struct moment *moment,
				   bool was_there)
{
	const char *held = moment->holders ? session_format(session, "held by %s", moment->names)
					   : "held by nothing";

	if (!moment->is_there)
		return was_there ? "gone" : "not there yet";
	if (moment->holders > HOLDERS_NAMED)
		held = session_format(session, "%s and %" PRIu64 " more", held,
				      moment->holders - HOLDERS_NAMED);
	return session_format(session, "%s, %s; %s", moment->type,
			      describe_bytes(session, moment->size), held);
}

static void print_moment(struct session *session, size_t number, const struct moment *moment,
			 const struct moment *before)
{
	struct output *output = session->output;

	if (!before || !is_alike(moment, before))
		output_text(output, "[%zu] %s: %s\n", number, name_of(session, number),
			    describe_moment(session, moment, before && before->is_there));
	output_open_object(output, NULL);
	output_number(output, "number", number);
	output_string(output, "file", session->series->paths[number]);
	output_boolean(output, "present", moment->is_there);
	if (moment->is_there) {
		output_string(output, "type", moment->type);
		output_number(output, "size", moment->size);
		output_number(output, "holders", moment->holders);
		output_string(output, "held_by", moment->names);
	}
	output_close(output);
}

static void print_birth(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t start = snapshot->info.start_time_ns;
	uint64_t birth = snapshot->epochs[snapshot->birth[object]];

	if (!heap_knows_births(snapshot)) {
		output_text(session->output,
			    "%s; when it was allocated is not known, and another may have been at "
			    "its address\n",
			    describe_object(session, object));
		return;
	}
	output_text(session->output, "%s, born %s after the program's start, or a little later\n",
		    describe_object(session, object),
		    describe_duration(session, birth > start ? birth - start : 0));
}

// Goes through all of them, and comes back.
HEAP_MUST_CHECK
static struct heap_error *visit_all(struct session *session, const struct identity *identity)
{
	struct moment moments[2];
	size_t came_from = session->series->current, answers = session->answer_count;
	bool numbered = session->numbered;
	struct heap_error *error = NULL;

	session->numbered = false; // numbers are of one snapshot's objects

	for (size_t i = 0; !error && i < session->series->count && !session_must_stop(session);
	     i++) {
		if (i != session->series->current)
			error = series_go(session, i);
		if (!error)
			error = look_at(session, identity, &moments[i % 2]);
		if (!error)
			print_moment(session, i, &moments[i % 2], i ? &moments[1 - i % 2] : NULL);
	}
	if (session->series->current != came_from) {
		struct heap_error *back = series_go(session, came_from);

		if (error)
			heap_error_destroy(back);
		else
			error = back;
	}
	session->answer_count = answers; // they are of the one that it came from
	session->numbered = numbered;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *load_history(struct session *session, const char *word,
				       heap_object_id *object)
{
	HEAP_TRY(operand_parse_object(session, word, object));
	HEAP_TRY(describe_load(session));
	return heap_snapshot_load(session->snapshot, HEAP_COLUMN_BIRTH);
}

static enum command_status history_run(struct session *session, int argc, char **argv)
{
	struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error;
	heap_object_id object;

	if (argc != 2)
		return COMMAND_USAGE;
	error = load_history(session, argv[1], &object);
	if (error)
		return command_fail(session, error);

	struct identity identity = {
		.address = snapshot->address[object],
		.birth_ns = snapshot->epochs[snapshot->birth[object]],
		.info = snapshot->info,
		.knows_births = heap_knows_births(snapshot),
	};

	identity.info.host = session_format(session, "%s", snapshot->info.host);
	identity.info.program = session_format(session, "%s", snapshot->info.program);

	print_birth(session, object);
	output_open_array(session->output, NULL);
	error = visit_all(session, &identity);
	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command history_command = {
	.name = "history",
	.synopsis = "OBJ",
	.summary = "an object through all opened snapshots",
	.details =
		"When it was born, in which snapshots it is, and how its size, type and holders\n"
		"changed. Snapshots in which nothing changed are left out.\n"
		"\n"
		"  history popular\n"
		"  history $1",
	.run = history_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
