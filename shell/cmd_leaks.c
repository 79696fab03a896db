// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * leaks: what no root reaches, by what it is and where it comes from.
 */
#include "lib/cleanup.h"
#include "lib/leaks.h"
#include "lib/suppressions.h"
#include "shell/backtrace.h"
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum grouping {
	BY_KIND,
	BY_TYPE,
	BY_SITE,
	BY_BACKTRACE,
};

static const char *const groupings[] = {
	[BY_KIND] = "kind",
	[BY_TYPE] = "type",
	[BY_SITE] = "site",
	[BY_BACKTRACE] = "backtrace",
};

static const char *const class_names[HEAP_LEAK_CLASSES] = {
	[HEAP_LEAK_REACHABLE] = "reachable",   [HEAP_LEAK_INTERIOR] = "interior",
	[HEAP_LEAK_SUPPRESSED] = "suppressed", [HEAP_LEAK_DIRECT] = "direct",
	[HEAP_LEAK_CYCLE] = "cycle",           [HEAP_LEAK_INDIRECT] = "indirect",
};

// Direct leaks that are alike, and what they take with them.
struct group {
	uint64_t key;
	heap_object_id example; // the first by address
	uint64_t objects, bytes;
	uint64_t indirect_objects, indirect_bytes;
	uint64_t circles;
};

struct reporting {
	struct session *session;
	enum grouping grouping;
	struct heap_leaks leaks;
	struct group *groups; // [count]
	size_t count, capacity;
	uint32_t *slots; // [slot_count] index in groups + 1, by hash of the key; a power of two
	size_t slot_count;
};

// --- grouping ----------------------------------------------------------------

static uint64_t key_of(const struct reporting *reporting, heap_object_id object)
{
	const struct heap_snapshot *snapshot = reporting->session->snapshot;
	uint32_t step;

	switch (reporting->grouping) {
	case BY_TYPE:
		return snapshot->type[object];
	case BY_SITE:
		return snapshot->site[object];
	case BY_BACKTRACE:
		step = heap_backtrace_step(snapshot->backtrace[object]);
		return step ? step : UINT64_C(1) << 32 | snapshot->site[object];
	default:
		return (uint64_t)snapshot->type[object] << 32 | snapshot->site[object];
	}
}

static uint32_t *find_slot(const struct reporting *reporting, uint64_t key)
{
	size_t mask = reporting->slot_count - 1;
	size_t at = (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (reporting->slots[at] && reporting->groups[reporting->slots[at] - 1].key != key)
		at = (at + 1) & mask;
	return &reporting->slots[at];
}

HEAP_MUST_CHECK
static struct heap_error *grow(struct reporting *reporting)
{
	size_t capacity = reporting->capacity * 2 + 64;
	void *larger = realloc(reporting->groups, capacity * sizeof(*reporting->groups));
	uint32_t *slots;

	if (!larger)
		return heap_error_out_of_memory();
	reporting->groups = larger;
	reporting->capacity = capacity;
	for (reporting->slot_count = 128; reporting->slot_count < capacity * 2;)
		reporting->slot_count *= 2;
	slots = calloc(reporting->slot_count, sizeof(*slots));
	if (!slots)
		return heap_error_out_of_memory();
	free(reporting->slots);
	reporting->slots = slots;
	for (size_t i = 0; i < reporting->count; i++)
		*find_slot(reporting, reporting->groups[i].key) = (uint32_t)i + 1;
	return NULL;
}

// The group of an object's kind; made if there is none.
HEAP_MUST_CHECK
static struct heap_error *need_group(struct reporting *reporting, heap_object_id object,
				     struct group **result)
{
	uint64_t key = key_of(reporting, object);
	struct heap_error *error = reporting->count == reporting->capacity ? grow(reporting) : NULL;
	uint32_t *slot;

	if (error)
		return error;
	slot = find_slot(reporting, key);
	if (!*slot) {
		reporting->groups[reporting->count++] =
			(struct group){ .key = key, .example = object };
		*slot = (uint32_t)reporting->count;
	}
	*result = &reporting->groups[*slot - 1];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_leak(struct reporting *reporting, heap_object_id object)
{
	uint64_t bytes = reporting->session->snapshot->size[object];
	enum heap_leak_class class = reporting->leaks.class_of[object];
	struct group *group;
	struct heap_error *error = need_group(reporting, reporting->leaks.leader[object], &group);

	if (error)
		return error;
	if (class == HEAP_LEAK_INDIRECT) {
		group->indirect_objects++;
		group->indirect_bytes += bytes;
		return NULL;
	}
	group->objects++;
	group->bytes += bytes;
	group->circles += class == HEAP_LEAK_CYCLE;
	return NULL;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	uint64_t a_bytes = a->bytes + a->indirect_bytes, b_bytes = b->bytes + b->indirect_bytes;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

HEAP_MUST_CHECK
static struct heap_error *make_groups(struct reporting *reporting)
{
	uint32_t objects = reporting->session->snapshot->object_count;
	struct heap_error *error = grow(reporting);

	for (heap_object_id i = 0; !error && i < objects; i++) {
		if (reporting->leaks.class_of[i] >= HEAP_LEAK_DIRECT)
			error = add_leak(reporting, i);
	}
	if (!error)
		qsort(reporting->groups, reporting->count, sizeof(*reporting->groups),
		      compare_groups);
	return error;
}

// --- showing -----------------------------------------------------------------

static const char *group_name(const struct reporting *reporting, const struct group *group)
{
	struct session *session = reporting->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[group->example];
	const char *type_name = type == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, type);
	const char *site = describe_site(session, snapshot->site[group->example]);

	switch (reporting->grouping) {
	case BY_TYPE:
		return type_name;
	case BY_SITE:
		return site;
	default:
		return session_format(session, "%s, %s", type_name, site);
	}
}

static void print_group(const struct reporting *reporting, const struct group *group)
{
	struct session *session = reporting->session;
	struct output *output = session->output;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[group->example];

	output_text(output, "%10" PRIu64 " %12s %10" PRIu64 " %12s  %s%s\n", group->objects,
		    describe_bytes(session, group->bytes), group->indirect_objects,
		    describe_bytes(session, group->indirect_bytes), group_name(reporting, group),
		    group->circles == 0                ? ""
		    : group->circles == group->objects ? ", in circles"
						       : ", some in circles");
	output_open_object(output, NULL);
	if (reporting->grouping != BY_SITE)
		output_string(output, "type",
			      type == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, type));
	if (reporting->grouping != BY_TYPE)
		output_string(output, "site",
			      describe_site(session, snapshot->site[group->example]));
	output_number(output, "direct_objects", group->objects);
	output_number(output, "direct_bytes", group->bytes);
	output_number(output, "indirect_objects", group->indirect_objects);
	output_number(output, "indirect_bytes", group->indirect_bytes);
	output_number(output, "circles", group->circles);
	describe_object_json(session, "example", group->example);
	if (reporting->grouping == BY_BACKTRACE)
		backtrace_print(session, group->example);
	output_close(output);
	session_remember(session, group->example);
}

static void print_groups(const struct reporting *reporting, uint64_t limit)
{
	struct session *session = reporting->session;

	if (reporting->count > 0)
		output_text(session->output, "%10s %12s %10s %12s  %s\n", "direct", "bytes",
			    "indirect", "bytes",
			    reporting->grouping == BY_TYPE   ? "type"
			    : reporting->grouping == BY_SITE ? "site"
							     : "type, site");
	output_open_array(session->output, "groups");
	for (size_t i = 0; i < reporting->count && i < limit && !session_must_stop(session); i++)
		print_group(reporting, &reporting->groups[i]);
	output_close(session->output);
}

// What each direct leak takes with it.
HEAP_MUST_CHECK
static struct heap_error *print_list(const struct reporting *reporting, uint64_t limit)
{
	struct session *session = reporting->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_leaks *leaks = &reporting->leaks;
	uint64_t *bytes = session_allocate(session, (snapshot->object_count + 1u) * sizeof(*bytes));

	if (!bytes)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (leaks->class_of[i] == HEAP_LEAK_INDIRECT)
			bytes[leaks->leader[i]] += snapshot->size[i];
	}
	output_open_array(session->output, "leaks");
	for (heap_object_id i = 0; i < snapshot->object_count && !session_must_stop(session); i++) {
		const void *mark = session_mark(session);

		if (leaks->class_of[i] < HEAP_LEAK_DIRECT || limit == 0)
			continue;
		limit--;
		output_text(session->output, "%-8s %s", class_names[leaks->class_of[i]],
			    describe_object(session, i));
		if (bytes[i] > 0)
			output_text(session->output, ", and %s below",
				    describe_bytes(session, bytes[i]));
		output_text(session->output, "\n");
		output_open_object(session->output, NULL);
		output_string(session->output, "class", class_names[leaks->class_of[i]]);
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

static const char *describe_sum(const struct reporting *reporting, enum heap_leak_class class)
{
	uint64_t objects = reporting->leaks.sums[class].objects;

	return session_format(
		reporting->session, "%" PRIu64 " object%s, %s", objects, format_plural(objects),
		describe_bytes(reporting->session, reporting->leaks.sums[class].bytes));
}

static void print_sums(const struct reporting *reporting)
{
	static const struct {
		enum heap_leak_class class;
		const char *text;
	} lines[] = {
		{ HEAP_LEAK_DIRECT, "leaked directly" },
		{ HEAP_LEAK_CYCLE, "leaked circles, the first of each" },
		{ HEAP_LEAK_INDIRECT, "leaked indirectly, held by those" },
		{ HEAP_LEAK_SUPPRESSED, "leaked, but suppressed" },
		{ HEAP_LEAK_INTERIOR, "reachable, but only by pointers into a middle" },
	};
	struct output *output = reporting->session->output;

	output_open_object(output, "classes");
	for (int i = 0; i < HEAP_LEAK_CLASSES; i++) {
		output_open_object(output, class_names[i]);
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

// --- the command -------------------------------------------------------------

struct asked {
	const char *suppressions;
	uint64_t limit;
	bool list;
};

static enum command_status print_leaks(struct reporting *reporting, const struct asked *asked,
				       const struct heap_suppressions *suppressions)
{
	struct session *session = reporting->session;
	const struct heap_leaks *leaks = &reporting->leaks;
	bool any = leaks->sums[HEAP_LEAK_DIRECT].objects || leaks->sums[HEAP_LEAK_CYCLE].objects;
	struct heap_error *error = asked->list ? NULL : make_groups(reporting);

	if (error)
		return command_fail(session, error);
	output_open_object(session->output, NULL);
	if (asked->list)
		error = print_list(reporting, asked->limit);
	else
		print_groups(reporting, asked->limit);
	if (error)
		return command_fail(session, error);
	if (!any)
		output_text(session->output, "Nothing is leaked.\n");
	print_sums(reporting);
	if (suppressions)
		print_suppressions(session, suppressions);
	return any ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status report(struct reporting *reporting, const struct asked *asked)
{
	struct session *session = reporting->session;
	struct heap_suppressions *suppressions = NULL;
	enum command_status status;
	struct heap_error *error = describe_load(session);

	if (!error)
		error = heap_snapshot_load(session->snapshot,
					   HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE);
	if (!error && asked->suppressions)
		error = heap_suppressions_read(asked->suppressions, session->snapshot,
					       &suppressions);
	if (!error)
		error = session_edges(session);
	if (!error)
		error = heap_leaks_find(session->graph,
					suppressions ? heap_suppressions_match : NULL, suppressions,
					&reporting->leaks);
	status = error ? command_fail(session, error) : print_leaks(reporting, asked, suppressions);
	heap_suppressions_destroy(suppressions);
	heap_leaks_deinit(&reporting->leaks);
	free(reporting->groups);
	free(reporting->slots);
	return status;
}

static enum command_status leaks_run(struct session *session, int argc, char **argv)
{
	struct reporting reporting = { .session = session };
	struct asked asked = { .limit = UINT64_MAX };
	const char *by = groupings[BY_KIND];

	asked.list = command_option(&argc, argv, "--list", NULL);
	if (command_option(&argc, argv, "--by", &by) < 0 ||
	    command_option(&argc, argv, "--suppressions", &asked.suppressions) < 0 ||
	    !command_number(&argc, argv, "--limit", &asked.limit) || argc != 1)
		return COMMAND_USAGE;
	for (int i = BY_KIND; i <= BY_BACKTRACE; i++) {
		reporting.grouping = i;
		if (strcmp(groupings[i], by) == 0)
			return report(&reporting, &asked);
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT,
					      "--by %s: not kind, type, site or backtrace", by));
}

static const char *const leaks_options[] = { "--by", "--limit", "--list", "--suppressions", NULL };

const struct command leaks_command = {
	.name = "leaks",
	.synopsis = "[--by kind|type|site|backtrace] [--limit N] [--list] [--suppressions FILE]",
	.summary = "what no root reaches, by type and site",
	.details =
		"A block is leaked directly if no other leaked one points to it, else indirectly: "
		"it\n"
		"goes with one that is direct. Of a circle the first stands for all. --list shows "
		"each\n"
		"block. FILE has lines leak:PATTERN as LeakSanitizer's, which are looked for in\n"
		"functions, files and modules on the way to the allocation.\n\n"
		"  leaks\n"
		"  leaks --by backtrace --limit 3\n"
		"  leaks --list | head",
	.run = leaks_run,
	.options = leaks_options,
	.is_table = true,
};
