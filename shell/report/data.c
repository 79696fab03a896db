// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/data.h"

#include "lib/base/cleanup.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/tables/leak_groups.h"
#include "shell/report/details.h"
#include "shell/report/holdings.h"
#include "shell/report/kinds.h"
#include "shell/report/text.h"
#include "shell/tables/root_sizes.h"
#include "shell/tables/suspects.h"

#include <math.h>

enum {
	MAX_ROOTS = 250,
	MAX_SUSPECTS = 30,
	MAX_LEAKS = 100,
	MAX_LARGEST = 50,
	SUSPECT_SHARE = 10, // per cent of the heap, the default of `suspects`
};

struct data {
	struct session *session;
	struct report_series *series;
	const struct candidates *leaks;
	struct report_details details;
	uint64_t total; // bytes
};

// --- summary --------------------------------------------------------------------

static void write_program(const struct data *data)
{
	const struct heap_info *info = &data->session->snapshot->info;
	struct output *output = data->session->output;

	output_string(output, "heapsh", HEAPSH_VERSION);
	output_number(output, "files", data->series->count);
	output_open_object(output, "program");
	output_string(output, "name", info->program);
	output_format(output, "command", "%.1000s", info->command);
	output_string(output, "host", info->host);
	output_string(output, "maker", info->maker);
	output_string(output, "id", info->id);
	output_number(output, "pid", info->pid);
	output_number(output, "time_ms", info->time_ns / 1000000);
	output_number(output, "start_ms", info->start_time_ns / 1000000);
	output_number(output, "stop_us", info->stop_ns / 1000);
	output_number(output, "threads", data->session->snapshot->thread_count);
	output_number(output, "damages", data->session->snapshot->damage_count);
	output_close(output);
}

static void write_totals(const struct data *data)
{
	const struct heap_snapshot *snapshot = data->session->snapshot;
	struct output *output = data->session->output;
	uint64_t typed = 0, typed_bytes = 0, unreachable = 0, unreachable_bytes = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		bool leaked = !data->session->graph->reach[i];
		bool has_type = snapshot->type[i] != HEAP_NO_TYPE;

		typed += has_type;
		typed_bytes += has_type ? snapshot->size[i] : 0;
		unreachable += leaked;
		unreachable_bytes += leaked ? snapshot->size[i] : 0;
	}
	output_open_object(output, "totals");
	output_number(output, "objects", snapshot->object_count);
	output_number(output, "bytes", data->total);
	output_number(output, "typed_objects", typed);
	output_number(output, "typed_bytes", typed_bytes);
	output_number(output, "unreachable_objects", unreachable);
	output_number(output, "unreachable_bytes", unreachable_bytes);
	output_number(output, "pointers", snapshot->edge_count);
	output_number(output, "roots", snapshot->root_count);
	output_close(output);
}

static void write_snapshots(const struct data *data)
{
	struct output *output = data->session->output;

	output_open_array(output, "snapshots");
	for (size_t i = 0; i < report_series_points(data->series); i++) {
		const struct report_snapshot *snapshot =
			&data->series->snapshots[report_series_snapshot(data->series, i)];

		output_open_object(output, NULL);
		output_string(output, "file", snapshot->file);
		output_number(output, "time_ms", snapshot->time_ns / 1000000);
		output_number(output, "objects", snapshot->objects);
		output_number(output, "bytes", snapshot->bytes);
		output_close(output);
	}
	output_close(output);
}

// --- suspects, leaks, roots --------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *write_suspect(struct data *data, const struct heap_suspect *suspect)
{
	struct session *session = data->session;
	struct output *output = session->output;
	const char *text;

	HEAP_TRY(suspects_describe(session, suspect, &text));
	output_open_object(output, NULL);
	output_string(output, "text", text);
	output_string(output, "advice", suspects_advice(session, suspect));
	output_string(output, "site",
		      describe_site(session, session->snapshot->site[heap_divided_block(
						     session->divided, suspect->example)]));
	output_string(output, "kind", suspects_kind(suspect->kind));
	output_string(output, "type", suspects_type(session, suspect->example));
	output_number(output, "members", suspect->members);
	output_number(output, "bytes", suspect->bytes);
	output_real(output, "per_cent", format_per_cent(suspect->bytes, data->total));
	report_details_refer(&data->details, session, "example",
			     heap_divided_block(session->divided, suspect->example));
	if (suspect->kind != HEAP_SUSPECT_ONE && suspect->place < session->snapshot->object_count)
		report_details_refer(&data->details, session, "place", suspect->place);
	output_close(output);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_suspects(struct data *data)
{
	struct session *session = data->session;
	CLEANUP_FREE struct heap_suspect *suspects = NULL;
	size_t count = 0;

	HEAP_TRY(suspects_find(session, data->total / 100 * SUSPECT_SHARE, data->total / 100,
			       &suspects, &count));
	output_open_array(session->output, "suspects");
	for (size_t i = 0; i < count && i < MAX_SUSPECTS; i++)
		HEAP_TRY(write_suspect(data, &suspects[i]));
	output_close(session->output);
	return NULL;
}

static struct heap_amount amount_at(const struct data *data, heap_kind_id kind, size_t point)
{
	return heap_census_amount(data->series->by_kind, kind,
				  report_series_snapshot(data->series, point));
}

static void write_history(const struct data *data, heap_kind_id kind)
{
	struct output *output = data->session->output;

	output_open_array(output, "objects_then");
	for (size_t i = 0; i < report_series_points(data->series); i++)
		output_number(output, NULL, amount_at(data, kind, i).objects);
	output_close(output);
	output_open_array(output, "bytes_then");
	for (size_t i = 0; i < report_series_points(data->series); i++)
		output_number(output, NULL, amount_at(data, kind, i).bytes);
	output_close(output);
}

static void write_leak(struct data *data, const struct candidate_group *group)
{
	struct session *session = data->session;
	struct output *output = session->output;

	output_open_object(output, NULL);
	output_string(output, "name", report_name(session, group->name));
	output_string(output, "trend", heap_trend_name(candidates_trend(group)));
	output_string(output, "judgement", candidates_judgement(group));
	output_string(output, "verdict", candidates_verdict(session, data->series->by_kind, group));
	output_number(output, "objects", group->objects);
	output_number(output, "bytes", group->bytes);
	output_real(output, "objects_per_hour", round(group->count_trend.rate * 1000) / 1000);
	output_real(output, "bytes_per_hour", round(group->bytes_trend.rate * 1000) / 1000);
	write_history(data, group->kind);
	report_details_refer(&data->details, session, "example", group->example);
	output_close(output);
}

static void write_leaks(struct data *data)
{
	struct output *output = data->session->output;

	if (!data->leaks)
		return;
	output_open_object(output, "leaks");
	output_number(output, "objects", data->leaks->count);
	output_number(output, "groups_count", data->leaks->group_count);
	output_open_array(output, "groups");
	for (size_t i = 0; i < data->leaks->group_count && i < MAX_LEAKS; i++)
		write_leak(data, &data->leaks->groups[i]);
	output_close(output);
	output_close(output);
}

// Writes the objects that no root reaches: leaks for certain, if all roots are known.
static void write_unreachable_group(struct data *data, const struct leak_groups *groups,
				    const struct leak_group *group)
{
	struct session *session = data->session;
	struct output *output = session->output;

	output_open_object(output, NULL);
	output_string(output, "name", report_name(session, leak_groups_name(groups, group)));
	output_number(output, "direct_objects", group->objects);
	output_number(output, "direct_bytes", group->bytes);
	output_number(output, "indirect_objects", group->indirect_objects);
	output_number(output, "indirect_bytes", group->indirect_bytes);
	output_number(output, "circles", group->cycles);
	report_details_refer(&data->details, session, "example", group->example);
	output_close(output);
}

// Sums up the unreachable objects that are in no group.
static void write_perhaps(const struct data *data, const struct heap_leaks *leaks)
{
	struct output *output = data->session->output;

	output_open_object(output, "perhaps_held");
	output_number(output, "objects", leaks->sums[HEAP_LEAK_PERHAPS].objects);
	output_number(output, "bytes", leaks->sums[HEAP_LEAK_PERHAPS].bytes);
	output_number(output, "threads", heap_leaks_unknown_threads(data->session->snapshot, NULL));
	output_boolean(output, "by_memory", heap_leaks_lack_memory(data->session->snapshot));
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *write_unreachable(struct data *data)
{
	struct session *session = data->session;
	CLEANUP(leak_groups_deinit)
	struct leak_groups groups = { .session = session, .grouping = LEAKS_BY_KIND };

	HEAP_TRY(heap_leaks_find(session->graph, NULL, NULL, &groups.leaks));
	HEAP_TRY(leak_groups_make(&groups));
	output_open_array(session->output, "unreachable");
	for (size_t i = 0; i < groups.count && i < MAX_LEAKS; i++)
		write_unreachable_group(data, &groups, &groups.all[i]);
	output_close(session->output);
	write_perhaps(data, &groups.leaks);
	return NULL;
}

static void write_root(const struct data *data, const struct root_groups *groups,
		       const struct root_row *row)
{
	struct session *session = data->session;
	struct output *output = session->output;

	output_open_object(output, NULL);
	output_string(output, "name", report_name(session, root_row_name(session, groups, row)));
	output_number(output, "retained", row->size.retained);
	if (row->kind == ROOT_ROW_GROUP || row->kind == ROOT_ROW_WORDS) {
		output_number(output, "reachable", row->size.reachable);
		output_number(output, "reachable_objects", row->size.reachable_objects);
		output_number(output, "exclusive", row->size.exclusive);
	}
	output_real(output, "per_cent", format_per_cent(row->size.retained, data->total));
	if (root_row_word(row->kind))
		output_string(output, "rest", root_row_word(row->kind));
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *write_roots(const struct data *data)
{
	struct root_groups groups;
	struct root_row *rows;
	size_t count = 0;

	HEAP_TRY(root_groups_by_root(data->session, &groups));
	HEAP_TRY(root_rows_make(data->session, &groups, 0, MAX_ROOTS, &rows, &count));
	output_open_array(data->session->output, "roots");
	for (size_t i = 0; i < count; i++)
		write_root(data, &groups, &rows[i]);
	output_close(data->session->output);
	return NULL;
}

// --- the largest objects -------------------------------------------------------------

// Finds the objects that retain most, by insertion into a short list. @return their number
static int find_largest(const struct data *data, heap_object_id *largest)
{
	const struct session *session = data->session;
	int count = 0;

	for (heap_object_id i = 0; i < session->snapshot->object_count; i++) {
		uint64_t retained = session_retained(session, i);
		int at = count;

		if (count == MAX_LARGEST &&
		    retained <= session_retained(session, largest[count - 1]))
			continue;
		if (count < MAX_LARGEST)
			count++;
		else
			at--;
		for (; at > 0 && session_retained(session, largest[at - 1]) < retained; at--)
			largest[at] = largest[at - 1];
		largest[at] = i;
	}
	return count;
}

static void write_largest(struct data *data)
{
	heap_object_id largest[MAX_LARGEST];
	int count = find_largest(data, largest);
	struct output *output = data->session->output;

	output_open_array(output, "largest");
	for (int i = 0; i < count; i++) {
		int number = report_details_add(&data->details, largest[i]);

		if (number != REPORT_NO_DETAIL)
			output_number(output, NULL, (uint64_t)number);
	}
	output_close(output);
}

// --- together --------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *prepare(struct data *data)
{
	struct session *session = data->session;

	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE));
	HEAP_TRY(session_graph(session));
	HEAP_TRY(heap_graph_need_reach(session->graph));
	HEAP_TRY(session_dominator_tree(session));
	data->total = heap_snapshot_bytes(session->snapshot);
	return NULL;
}

// The most important parts come first, since details have a limited budget.
HEAP_MUST_CHECK
static struct heap_error *write_all(struct data *data)
{
	write_program(data);
	write_totals(data);
	write_snapshots(data);
	HEAP_TRY(write_suspects(data));
	write_leaks(data);
	HEAP_TRY(write_unreachable(data));
	HEAP_TRY(write_roots(data));
	write_largest(data);
	HEAP_TRY(report_kinds_write(data->session, data->series, &data->details));
	HEAP_TRY(report_holdings_write(data->session, &data->details));
	return report_details_write(&data->details, data->session);
}

struct heap_error *report_data_write(struct session *session, struct report_series *series,
				     const struct candidates *leaks)
{
	struct data data = { .session = session, .series = series, .leaks = leaks };

	HEAP_TRY(prepare(&data));
	output_open_object(session->output, NULL);
	HEAP_TRY(write_all(&data));
	output_close(session->output);
	return NULL;
}
