// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * suspects: leaks, growth, and the few places where most of the heap gathers.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/query/absent.h"
#include "lib/series/identity.h"
#include "shell/base/format.h"
#include "shell/command.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"
#include "shell/print/memory_use.h"
#include "shell/print/node.h"
#include "shell/print/part.h"
#include "shell/print/path.h"
#include "shell/series/series.h"
#include "shell/tables/suspects.h"

#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_SHARE = 10, // per cent of the heap
};

HEAP_MUST_CHECK
static struct heap_error *print_path_to(struct session *session, const struct heap_suspect *suspect)
{
	struct heap_path path;
	size_t count = 0;

	if (suspect->kind == HEAP_SUSPECT_LEAKED)
		return NULL;
	HEAP_TRY(heap_paths_find(session->graph, session->divided, suspect->example, NULL, 1, &path,
				 &count));
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
	error = print_path_to(session, suspect);
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
	memory_use_advise(session);
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
