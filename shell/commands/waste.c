// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * waste: arrays, and with them lists and hash tables, that are less than half full.
 */
#include "lib/base/cleanup.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/series/filter.h"
#include "shell/tables/array_use.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHORT_LIST = 25, // groups that are shown without --limit
};

// --- groups ------------------------------------------------------------------

// Arrays of one type, in one field of one type or in one variable.
struct group {
	uint64_t arrays, elements, used, wasted;
	const struct array_use *worst;
	uint64_t worst_wasted;
};

// Where arrays of a group are held, as a number; roots are above all types.
static uint64_t place_of(const struct heap_snapshot *snapshot, const struct array_use *array)
{
	if (array->edge == UINT32_MAX)
		return UINT64_MAX;
	if (array->holder == HEAP_NO_OBJECT)
		return (UINT64_C(1) << 62) + snapshot->root_edges[array->edge].root;

	uint64_t offset = (uint64_t)snapshot->edge_slot[array->edge] * 8;
	const struct heap_part *part = heap_snapshot_part_at(snapshot, array->holder, offset);
	heap_type_id type = part ? part->type : snapshot->type[array->holder];
	uint64_t size = heap_types_size(&snapshot->types, type);

	offset -= part ? part->offset : 0;
	return (uint64_t)type << 30 | ((size ? offset % size : offset) & ((1 << 30) - 1));
}

static int compare_places(const void *left, const void *right, void *context)
{
	const struct heap_snapshot *snapshot = context;
	const struct array_use *a = left, *b = right;
	uint64_t first = place_of(snapshot, a), second = place_of(snapshot, b);

	if (first != second)
		return first < second ? -1 : 1;
	if (snapshot->type[a->object] != snapshot->type[b->object])
		return snapshot->type[a->object] < snapshot->type[b->object] ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

static bool is_same_group(const struct heap_snapshot *snapshot, const struct array_use *a,
			  const struct array_use *b)
{
	return place_of(snapshot, a) == place_of(snapshot, b) &&
	       snapshot->type[a->object] == snapshot->type[b->object] && a->by == b->by;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->wasted != b->wasted)
		return a->wasted > b->wasted ? -1 : 1;
	return a->worst->object < b->worst->object ? -1 : a->worst->object > b->worst->object;
}

static bool is_wasteful(const struct heap_snapshot *snapshot, const struct array_use *array,
			bool all)
{
	uint64_t elements = snapshot->elements[array->object];

	return array->by != ARRAY_USE_UNKNOWN && array->used < elements &&
	       (all || array->used < elements - array->used);
}

// Sorts arrays into groups. @return [*count] until the command ends, or NULL
static struct group *make_groups(struct session *session, struct array_uses *arrays, bool all,
				 size_t *count)
{
	struct heap_snapshot *snapshot = session->snapshot;
	struct group *groups = session_allocate(session, (arrays->count + 1) * sizeof(*groups));
	struct group *group = NULL;

	*count = 0;
	if (!groups)
		return NULL;
	if (arrays->count > 0)
		qsort_r(arrays->arrays, arrays->count, sizeof(*arrays->arrays), compare_places,
			snapshot);
	for (size_t i = 0; i < arrays->count; i++) {
		const struct array_use *array = &arrays->arrays[i];
		uint64_t elements = snapshot->elements[array->object];
		uint64_t size = heap_types_size(&snapshot->types, snapshot->type[array->object]);
		uint64_t wasted = (elements - array->used) * size;

		if (!is_wasteful(snapshot, array, all))
			continue;
		if (!group || !is_same_group(snapshot, group->worst, array)) {
			group = &groups[(*count)++];
			*group = (struct group){ .worst = array };
		}
		group->arrays++;
		group->elements += elements;
		group->used += array->used;
		group->wasted += wasted;
		if (wasted > group->worst_wasted) {
			group->worst = array;
			group->worst_wasted = wasted;
		}
	}
	qsort(groups, *count, sizeof(*groups), compare_groups);
	return groups;
}

// --- the answer --------------------------------------------------------------

// ".items of struct list", "the global variable table (app.c:7)".
static const char *describe_holder(struct session *session, const struct array_use *array)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (array->edge == UINT32_MAX)
		return "nobody known";
	if (array->holder == HEAP_NO_OBJECT)
		return describe_root(session, snapshot->root_edges[array->edge].root);

	uint64_t offset = (uint64_t)snapshot->edge_slot[array->edge] * 8, elements;
	heap_type_id type = snapshot->type[array->holder];
	const struct heap_part *part = heap_snapshot_part_at(snapshot, array->holder, offset);
	const char *field = part ? field_of_part(session, part, offset)
				 : field_of_object(session, array->holder, offset);

	elements = part ? part->elements : snapshot->elements[array->holder];
	// The same for each of several structures in a row.
	if (elements > 1 && *field == '[' && strchr(field, ']'))
		field = strchr(field, ']') + 1;
	return session_format(session, "%s of %s", *field ? field : "an element",
			      part                   ? describe_type(session, part->type)
			      : type == HEAP_NO_TYPE ? describe_type_of(session, array->holder)
						     : describe_type(session, type));
}

static void print_group(struct session *session, const struct group *group)
{
	struct output *output = session->output;
	const char *holder = describe_holder(session, group->worst);
	const char *by = array_measure_name(group->worst->by);

	table_row(output, "%12s\t%8" PRIu64 "\t%10" PRIu64 " of %-10" PRIu64 "\t%-5s\t%s: %s",
		  describe_bytes(session, group->wasted), group->arrays, group->used,
		  group->elements, by, holder, describe_object(session, group->worst->object));
	session_remember(session, group->worst->object);
	output_open_object(output, NULL);
	output_string(output, "held_by", holder);
	output_string(output, "measure", by);
	output_number(output, "arrays", group->arrays);
	output_number(output, "elements", group->elements);
	output_number(output, "used", group->used);
	output_number(output, "wasted", group->wasted);
	describe_object_json(session, "worst", group->worst->object);
	output_close(output);
}

static void print_groups(struct session *session, const struct group *groups, size_t count,
			 uint64_t limit)
{
	struct output *output = session->output;
	uint64_t arrays = 0, wasted = 0;

	output_open_object(output, NULL);
	if (count > 0)
		table_header(output, "0213",
			     "%12s\t%8s\t%10s of %-10s\t%-5s\theld by, and the worst", "wasted",
			     "arrays", "used", "elements", "as by");
	output_open_array(output, "groups");
	for (size_t i = 0; i < count && i < limit && !session_must_stop(session); i++)
		print_group(session, &groups[i]);
	output_close(output);
	for (size_t i = 0; i < count; i++) {
		arrays += groups[i].arrays;
		wasted += groups[i].wasted;
	}
	if (!session->quiet && count > 0)
		output_text(output, "Total: %s wasted in %" PRIu64 " array%s\n",
			    describe_bytes(session, wasted), arrays, format_plural(arrays));
	output_number(output, "arrays", arrays);
	output_number(output, "wasted", wasted);
	output_close(output);
}

static enum command_status find_waste(struct session *session, struct heap_filter *filter, bool all,
				      uint64_t limit)
{
	CLEANUP(array_uses_deinit) struct array_uses arrays = { NULL, 0, 0 };
	struct heap_error *error = array_uses_find(session, filter, &arrays);
	const struct group *groups;
	size_t count = 0;

	if (!error)
		error = session_filter_finish(session, filter);
	if (error)
		return command_fail(session, error);
	groups = make_groups(session, &arrays, all, &count);
	if (!groups)
		return command_fail(session, heap_error_out_of_memory());
	print_groups(session, groups, count, limit);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status waste_run(struct session *session, int argc, char **argv)
{
	bool all = command_option(&argc, argv, "--all", NULL);
	uint64_t limit = output_is_json(session->output) ? UINT64_MAX : SHORT_LIST;
	struct heap_filter *filter;

	if (!command_number(&argc, argv, "--limit", &limit))
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_graph(session);
	if (!error)
		error = session_filter(session, argc - 1, argv + 1, &filter);
	if (error)
		return command_fail(session, error);

	enum command_status status = find_waste(session, filter, all, limit);

	heap_filter_destroy(filter);
	return status;
}

const struct command waste_command = {
	.name = "waste",
	.synopsis = "[--all] [--limit N] [FILTER...]",
	.summary = "arrays, lists and hash tables that are less than half full",
	.details =
		"Arrays of 8 elements or more, grouped by what holds them, the most wasted bytes\n"
		"first. The used part is known from slots: elements that are not zero; from a "
		"count\n"
		"beside the pointer, if another number there is the length; or from the end that "
		"a\n"
		"std::vector or std::deque has. --all also shows fuller ones. (For texts: strings\n"
		"--duplicates.)\n"
		"\n"
		"  waste\n"
		"  waste --limit 5 type 'struct slot'",
	.run = waste_run,
	.nothing = "No array, list or hash table of 8 elements and more is less than half full; "
		   "texts are not judged.",
	.words = WORDS_FILTER,
};
