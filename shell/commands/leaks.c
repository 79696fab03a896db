// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * leaks: objects that no root reaches, by kind, type, site or backtrace.
 */
#include "lib/base/cleanup.h"
#include "lib/graph/suppressions.h"
#include "shell/print/backtrace.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/tables/leak_groups.h"
#include "shell/tables/part_sums.h"

#include <inttypes.h>
#include <string.h>

static const char *const groupings[] = {
	[LEAKS_BY_KIND] = "kind",
	[LEAKS_BY_TYPE] = "type",
	[LEAKS_BY_SITE] = "site",
	[LEAKS_BY_BACKTRACE] = "backtrace",
};

struct asked {
	const char *suppressions;
	uint64_t limit;
	bool list;
};

// --- showing -----------------------------------------------------------------

static void print_group(const struct leak_groups *reporting, const struct leak_group *group)
{
	struct session *session = reporting->session;
	struct output *output = session->output;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[group->example];

	table_row(output, "%10" PRIu64 "\t%12s\t%10" PRIu64 "\t%12s\t%s%s", group->objects,
		  describe_bytes(session, group->bytes), group->indirect_objects,
		  describe_bytes(session, group->indirect_bytes),
		  leak_groups_name(reporting, group),
		  group->cycles == 0                ? ""
		  : group->cycles == group->objects ? ", in cycles"
						    : ", some in cycles");
	output_open_object(output, NULL);
	if (reporting->grouping != LEAKS_BY_SITE)
		output_string(output, "type",
			      type == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, type));
	if (reporting->grouping != LEAKS_BY_TYPE)
		output_string(output, "site",
			      describe_site(session, snapshot->site[group->example]));
	output_number(output, "direct_objects", group->objects);
	output_number(output, "direct_bytes", group->bytes);
	output_number(output, "indirect_objects", group->indirect_objects);
	output_number(output, "indirect_bytes", group->indirect_bytes);
	output_number(output, "circles", group->cycles);
	describe_object_json(session, "example", group->example);
	if (reporting->grouping == LEAKS_BY_BACKTRACE)
		backtrace_print(session, group->example);
	output_close(output);
	session_remember(session, group->example);
}

static void print_groups(const struct leak_groups *reporting, const char *name, uint64_t limit)
{
	struct session *session = reporting->session;

	if (reporting->count > 0)
		table_header(session->output, "0021", "%10s\t%12s\t%10s\t%12s\t%s", "direct",
			     "bytes", "indirect", "their bytes",
			     reporting->grouping == LEAKS_BY_TYPE   ? "type"
			     : reporting->grouping == LEAKS_BY_SITE ? "site"
								    : "type, site");
	output_open_array(session->output, name);
	for (size_t i = 0; i < reporting->count && i < limit && !session_must_stop(session); i++)
		print_group(reporting, &reporting->all[i]);
	output_close(session->output);
}

// Counts the blocks that each direct leak takes with it.
HEAP_MUST_CHECK
static struct heap_error *print_list(const struct leak_groups *reporting, uint64_t limit)
{
	struct session *session = reporting->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_leaks *leaks = &reporting->leaks;
	uint64_t *bytes = session_allocate(session, (snapshot->object_count + 1u) * sizeof(*bytes));

	if (!bytes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (leaks->class_of[i] == HEAP_LEAK_INDIRECT ||
		    (leaks->class_of[i] == HEAP_LEAK_PERHAPS && leaks->leader[i] != i))
			bytes[leaks->leader[i]] += snapshot->size[i];
	}
	output_open_array(session->output, "leaks");
	for (heap_object_id i = 0; i < snapshot->object_count && !session_must_stop(session); i++) {
		const void *mark = session_mark(session);

		if (leaks->class_of[i] < HEAP_LEAK_PERHAPS || limit == 0 ||
		    (leaks->class_of[i] == HEAP_LEAK_PERHAPS && leaks->leader[i] != i))
			continue;
		limit--;
		output_text(session->output, "%-8s %s", heap_leak_class_name(leaks->class_of[i]),
			    describe_object(session, i));
		if (bytes[i] > 0)
			output_text(session->output, ", and %s below",
				    describe_bytes(session, bytes[i]));
		output_text(session->output, "\n");
		output_open_object(session->output, NULL);
		output_string(session->output, "class", heap_leak_class_name(leaks->class_of[i]));
		output_number(session->output, "size", snapshot->size[i]);
		output_number(session->output, "indirect_bytes", bytes[i]);
		output_address(session->output, "leader", snapshot->address[leaks->leader[i]]);
		describe_object_json(session, "object", i);
		output_close(session->output);
		session_remember(session, i);
		session_release(session, mark);
	}
	output_close(session->output);
	return NULL;
}

static const char *describe_sum(const struct leak_groups *reporting, enum heap_leak_class class)
{
	uint64_t objects = reporting->leaks.sums[class].objects;

	return session_format(
		reporting->session, "%" PRIu64 " object%s, %s", objects, format_plural(objects),
		describe_bytes(reporting->session, reporting->leaks.sums[class].bytes));
}

// Prints the blocks that unknown registers or memory may hold, in groups if there is no list. These groups
// replace those of the leaks.
HEAP_MUST_CHECK
static struct heap_error *print_perhaps(struct leak_groups *reporting, const struct asked *asked)
{
	struct session *session = reporting->session;
	uint32_t thread = 0;
	uint32_t threads = heap_leaks_unknown_threads(session->snapshot, &thread);

	output_number(session->output, "threads_with_unknown_registers", threads);
	if (reporting->leaks.sums[HEAP_LEAK_PERHAPS].objects == 0)
		; // an empty array in JSON
	else if (heap_leaks_lack_memory(session->snapshot))
		output_text(session->output, "perhaps held by memory that %s: %s\n",
			    session->snapshot->info.core_bytes > 0 ? "the core file lacks"
								   : "is missing (see info)",
			    describe_sum(reporting, HEAP_LEAK_PERHAPS));
	else if (threads == 1)
		output_text(session->output,
			    "perhaps held by a register of thread %" PRIu32 ": %s\n",
			    session->snapshot->threads[thread].tid,
			    describe_sum(reporting, HEAP_LEAK_PERHAPS));
	else
		output_text(session->output,
			    "perhaps held by a register of %" PRIu32 " threads: %s\n", threads,
			    describe_sum(reporting, HEAP_LEAK_PERHAPS));
	if (asked->list)
		return NULL;
	reporting->perhaps = true;
	HEAP_TRY(leak_groups_make(reporting));
	print_groups(reporting, "perhaps", asked->limit);
	return NULL;
}

static void print_sums(const struct leak_groups *reporting)
{
	static const struct {
		enum heap_leak_class class;
		const char *text;
	} lines[] = {
		{ HEAP_LEAK_DIRECT, "leaked directly" },
		{ HEAP_LEAK_CYCLE, "leaked cycles, one object of each" },
		{ HEAP_LEAK_INDIRECT, "leaked indirectly, held by those" },
		{ HEAP_LEAK_SUPPRESSED, "leaked, but suppressed" },
		{ HEAP_LEAK_INTERIOR, "reachable, but only by interior pointers" },
	};
	struct output *output = reporting->session->output;

	output_open_object(output, "classes");
	for (int i = 0; i < HEAP_LEAK_CLASSES; i++) {
		output_open_object(output, heap_leak_class_name(i));
		output_number(output, "objects", reporting->leaks.sums[i].objects);
		output_number(output, "bytes", reporting->leaks.sums[i].bytes);
		output_close(output);
	}
	output_close(output);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (reporting->leaks.sums[lines[i].class].objects)
			output_text(output, "%s: %s\n", lines[i].text,
				    describe_sum(reporting, lines[i].class));
	}
}

// Tells what no known part has of the pools that a root reaches: the program frees it itself, or loses it.
static void print_rest_of_pools(const struct leak_groups *reporting)
{
	struct session *session = reporting->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	struct part_sums sums = { 0 };

	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];

		if (snapshot->type[part->object] == HEAP_NO_TYPE &&
		    reporting->leaks.class_of[part->object] <= HEAP_LEAK_INTERIOR)
			part_sums_add(&sums, snapshot, part);
	}
	output_open_object(session->output, "rest_of_pools");
	output_number(session->output, "pools", sums.pools);
	output_number(session->output, "bytes", sums.pool_bytes - sums.bytes);
	output_close(session->output);
	if (sums.pool_bytes > sums.bytes)
		output_text(session->output,
			    "not judged: %s of %" PRIu64
			    " pool%s, which no known part has: free, or lost\n",
			    describe_bytes(session, sums.pool_bytes - sums.bytes), sums.pools,
			    format_plural(sums.pools));
}

static void print_suppressions(struct session *session,
			       const struct heap_suppressions *suppressions)
{
	struct output *output = session->output;
	size_t count;
	const struct heap_suppression *lines = heap_suppressions_used(suppressions, &count);

	output_open_array(output, "suppressions");
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].objects)
			continue;
		output_text(output, "suppressed by leak:%s: %" PRIu64 " object%s, %s\n",
			    lines[i].pattern, lines[i].objects, format_plural(lines[i].objects),
			    describe_bytes(session, lines[i].bytes));
		output_open_object(output, NULL);
		output_string(output, "pattern", lines[i].pattern);
		output_number(output, "objects", lines[i].objects);
		output_number(output, "bytes", lines[i].bytes);
		output_close(output);
	}
	output_close(output);
}

// Counts all blocks that a line suppresses: those it matches, and those that only these lead to.
static void count_suppressed(const struct leak_groups *reporting,
			     struct heap_suppressions *suppressions)
{
	const struct heap_leaks *leaks = &reporting->leaks;

	for (heap_object_id i = 0; i < reporting->session->snapshot->object_count; i++) {
		if (leaks->class_of[i] == HEAP_LEAK_SUPPRESSED)
			heap_suppressions_count(suppressions, i, leaks->leader[i]);
	}
}

// --- the command -------------------------------------------------------------

// Says who knows more of blocks without a type: nothing leads to a leaked one that would tell it.
static void tell_of_types(const struct leak_groups *reporting)
{
	const struct session *session = reporting->session;

	for (size_t i = 0; i < reporting->count && !session->quiet; i++) {
		if (session->snapshot->type[reporting->all[i].example] != HEAP_NO_TYPE)
			continue;
		output_text(session->output,
			    "`suggest` says which types blocks without one may have, and `find "
			    "leaked untyped` lists them.\n");
		return;
	}
}

static enum command_status print_leaks(struct leak_groups *reporting, const struct asked *asked,
				       const struct heap_suppressions *suppressions)
{
	struct session *session = reporting->session;
	const struct heap_leaks *leaks = &reporting->leaks;
	bool any = leaks->sums[HEAP_LEAK_DIRECT].objects || leaks->sums[HEAP_LEAK_CYCLE].objects;
	struct heap_error *error = asked->list ? NULL : leak_groups_make(reporting);

	if (error)
		return command_fail(session, error);
	output_open_object(session->output, NULL);
	if (asked->list)
		error = print_list(reporting, asked->limit);
	else
		print_groups(reporting, "groups", asked->limit);
	if (error)
		return command_fail(session, error);
	if (!any)
		output_text(session->output, "Nothing is %sleaked.\n",
			    leaks->sums[HEAP_LEAK_PERHAPS].objects ? "certainly " : "");
	print_sums(reporting);
	tell_of_types(reporting);
	print_rest_of_pools(reporting);
	if (suppressions)
		print_suppressions(session, suppressions);
	error = print_perhaps(reporting, asked);
	if (error)
		return command_fail(session, error);
	return any ? COMMAND_OK : COMMAND_NOTHING;
}

// @param suppressions  stays NULL if there are none
HEAP_MUST_CHECK
static struct heap_error *find_leaks(struct leak_groups *reporting, const struct asked *asked,
				     struct heap_suppressions **suppressions)
{
	struct session *session = reporting->session;

	HEAP_TRY(session_edges(session));
	if (asked->suppressions)
		HEAP_TRY(heap_suppressions_read(asked->suppressions, session->snapshot,
						suppressions));
	HEAP_TRY(heap_leaks_find(session->graph, *suppressions ? heap_suppressions_match : NULL,
				 *suppressions, &reporting->leaks));
	if (*suppressions)
		count_suppressed(reporting, *suppressions);
	// Descriptions are loaded last: until here only edges are needed.
	HEAP_TRY(describe_load(session));
	return heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE);
}

static enum command_status report(struct leak_groups *reporting, const struct asked *asked)
{
	struct session *session = reporting->session;
	struct heap_suppressions *suppressions = NULL;
	enum command_status status;
	struct heap_error *error = find_leaks(reporting, asked, &suppressions);

	status = error ? command_fail(session, error) : print_leaks(reporting, asked, suppressions);
	heap_suppressions_destroy(suppressions);
	leak_groups_deinit(reporting);
	return status;
}

static enum command_status leaks_run(struct session *session, int argc, char **argv)
{
	struct leak_groups reporting = { .session = session };
	struct asked asked = { .limit = UINT64_MAX };
	const char *by = groupings[LEAKS_BY_KIND];

	asked.list = command_option(&argc, argv, "--list", NULL);
	if (command_option(&argc, argv, "--by", &by) < 0 ||
	    command_option(&argc, argv, "--suppressions", &asked.suppressions) < 0 ||
	    !command_limit(&argc, argv, &asked.limit) || argc != 1)
		return COMMAND_USAGE;
	for (int i = LEAKS_BY_KIND; i <= LEAKS_BY_BACKTRACE; i++) {
		reporting.grouping = i;
		if (strcmp(groupings[i], by) == 0)
			return report(&reporting, &asked);
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT,
					      "--by %s: not kind, type, site or backtrace", by));
}

const struct command leaks_command = {
	.name = "leaks",
	.synopsis = "[--by kind|type|site|backtrace] [--all | --limit N] [--list] [--suppressions "
		    "FILE]",
	.summary = "blocks that no root reaches, by type and site",
	.details =
		"A block is leaked directly if no other leaked block points to it, otherwise\n"
		"indirectly: a directly leaked block holds it. The largest struct of a cycle\n"
		"stands for the whole cycle. --list shows each block. Blocks that an unknown\n"
		"register of a sleeping thread may hold (see info) are perhaps held, and shown\n"
		"apart; so are all, if a core file lacks memory. A pool is one block: what the\n"
		"program loses in it is not judged. FILE has lines leak:PATTERN as\n"
		"LeakSanitizer's; a pattern is matched against the functions, files and modules\n"
		"of the calls that led to the allocation.\n"
		"\n"
		"  leaks\n"
		"  leaks --by backtrace --limit 3\n"
		"  leaks --list | head",
	.run = leaks_run,
};
