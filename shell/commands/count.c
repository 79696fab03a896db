// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * count: objects and bytes by what they have in common.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/tables/site_rows.h"
#include "shell/series/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- count -------------------------------------------------------------------

enum {
	SIZE_CLASSES = 65,  // see size_class()
	SHORT_CLASSES = 10, // of untyped blocks, in text
};

enum grouping {
	BY_TYPE,
	BY_SITE,
	BY_SIZE,
	BY_MODULE,
	BY_TAG,
	BY_AGE,
};

static const char *const groupings[] = {
	[BY_TYPE] = "type",     [BY_SITE] = "site", [BY_SIZE] = "size",
	[BY_MODULE] = "module", [BY_TAG] = "tag",   [BY_AGE] = "age",
};

// The objects to count, and their groups.
struct counting {
	struct session *session;
	struct heap_filter *filter;
	uint8_t *matches; // bits: the objects that the filter matches; NULL: all
	enum grouping grouping;
	const heap_site_id *site_rows; // those of sites that print alike
	struct group *groups;          // [count]
	uint32_t count;
};

struct group {
	uint64_t objects;
	uint64_t bytes;
	uint32_t key;
	uint32_t evidence[HEAP_EVIDENCE_KINDS];
};

// By powers of two: 1 for one byte, 2 for up to three, 3 for up to seven...
static uint32_t size_class(uint64_t size)
{
	return size ? 64 - (uint32_t)__builtin_clzll(size) : 0;
}

// True for a block that the program cuts up itself, even if no part of it is known.
static bool is_pool(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->type[object] == HEAP_NO_TYPE &&
	       snapshot->evidence[object] == HEAP_EVIDENCE_POOL && snapshot->parts;
}

static uint32_t group_of(const struct counting *counting, heap_object_id object)
{
	const struct heap_snapshot *snapshot = counting->session->snapshot;

	switch (counting->grouping) {
	case BY_TYPE:
		return is_pool(snapshot, object) ? snapshot->types.count : snapshot->type[object];
	case BY_SITE:
		return counting->site_rows[snapshot->site[object]];
	case BY_SIZE:
		return size_class(snapshot->size[object]);
	case BY_MODULE:
		return snapshot->sites[snapshot->site[object]].module + 1;
	case BY_TAG:
		return snapshot->tag[object];
	default:
		return snapshot->birth[object];
	}
}

static bool is_counted(const struct counting *counting, heap_object_id object)
{
	return !counting->matches || heap_bit_get(counting->matches, object);
}

// Parts of pools count by their own types, and their pools with the remaining bytes. Parts may be
// nested: inner ones do not count.
static void count_parts(const struct counting *counting)
{
	const struct heap_snapshot *snapshot = counting->session->snapshot;
	struct group *groups = counting->groups, *rest = &groups[snapshot->types.count];
	heap_object_id pool = HEAP_NO_OBJECT;
	uint64_t end = 0;

	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];
		uint64_t size = heap_snapshot_part_size(snapshot, part);

		if (!is_counted(counting, part->object))
			continue;
		if (part->object != pool && group_of(counting, part->object) == HEAP_NO_TYPE) {
			groups[HEAP_NO_TYPE].objects--;
			groups[HEAP_NO_TYPE].bytes -= snapshot->size[part->object];
			rest->objects++;
			rest->bytes += snapshot->size[part->object];
		}
		if (part->object != pool)
			end = 0;
		pool = part->object;
		if (part->offset < end || snapshot->type[pool] != HEAP_NO_TYPE)
			continue;
		end = part->offset + size;
		rest->bytes -= size;
		groups[part->type].objects++;
		groups[part->type].bytes += size;
		if (part->evidence < HEAP_EVIDENCE_KINDS)
			groups[part->type].evidence[part->evidence]++;
	}
}

static uint32_t group_count(const struct heap_snapshot *snapshot, enum grouping grouping)
{
	switch (grouping) {
	case BY_TYPE:
		return snapshot->types.count + 1; // and what is left of pools
	case BY_SITE:
		return snapshot->site_count;
	case BY_SIZE:
		return SIZE_CLASSES;
	case BY_MODULE:
		return snapshot->module_count + 1;
	case BY_TAG:
		return snapshot->tag_count + 1;
	default:
		return snapshot->epoch_count;
	}
}

static const char *group_name(struct session *session, enum grouping grouping, uint32_t key)
{
	switch (grouping) {
	case BY_TYPE:
		if (key == session->snapshot->types.count)
			return "(the rest of pools)";
		return key == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, key);
	case BY_SITE:
		return describe_site(session, key);
	case BY_SIZE:
		if (key == 0)
			return "0 B";
		return session_format(
			session, "%s to below %s",
			describe_bytes(session, UINT64_C(1) << (key - 1)),
			describe_bytes(session, key < 64 ? UINT64_C(1) << key : UINT64_MAX));
	case BY_MODULE:
		return key == 0 ? describe_no_module(session) : describe_module(session, key - 1);
	case BY_TAG:
		return key == 0 ? "(no tag)" : describe_tag(session, key - 1);
	default:
		return describe_age(session, key);
	}
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

// --- untyped blocks ----------------------------------------------------------

// Blocks of a site whose sizes are of one power of two.
struct block_class {
	uint64_t objects, bytes;
	uint64_t min, max; // sizes
	heap_site_id site;
};

static int compare_classes(const void *left, const void *right)
{
	const struct block_class *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->min < b->min ? -1 : a->min > b->min;
}

static bool is_untyped(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->type[object] == HEAP_NO_TYPE && !is_pool(snapshot, object);
}

static void add_block(struct block_class *class, uint64_t size, heap_site_id site)
{
	if (class->objects == 0 || size < class->min)
		class->min = size;
	if (size > class->max)
		class->max = size;
	class->objects++;
	class->bytes += size;
	class->site = site;
}

// Sorts blocks without a type by origin. @return [*count] until the command ends
static struct block_class *classify_blocks(const struct counting *counting, uint32_t *count)
{
	struct session *session = counting->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t *slots = session_allocate(session, (snapshot->site_count + 1) * sizeof(*slots));
	const heap_site_id *rows = counting->site_rows;
	struct block_class *classes;
	uint32_t sites = 0, used = 0;

	for (heap_object_id i = 0; slots && i < snapshot->object_count; i++) {
		if (is_counted(counting, i) && is_untyped(snapshot, i) &&
		    slots[rows[snapshot->site[i]]] == 0)
			slots[rows[snapshot->site[i]]] = ++sites;
	}
	classes = session_allocate(session, ((size_t)sites + 1) * SIZE_CLASSES * sizeof(*classes));
	if (!slots || !classes)
		return NULL;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t size = snapshot->size[i];

		if (is_counted(counting, i) && is_untyped(snapshot, i))
			add_block(&classes[(size_t)(slots[rows[snapshot->site[i]]] - 1) *
						   SIZE_CLASSES +
					   size_class(size)],
				  size, rows[snapshot->site[i]]);
	}
	for (size_t i = 0; i < (size_t)sites * SIZE_CLASSES; i++) {
		if (classes[i].objects > 0)
			classes[used++] = classes[i];
	}
	qsort(classes, used, sizeof(*classes), compare_classes);
	*count = used;
	return classes;
}

static const char *describe_class(struct session *session, const struct block_class *class)
{
	if (class->min == class->max)
		return session_format(session, "block(%" PRIu64 ")", class->min);
	return session_format(session, "block(%" PRIu64 "..%" PRIu64 ")", class->min, class->max);
}

// Prints the origin of blocks without a type: nothing else is known about them.
static void print_blocks(const struct counting *counting)
{
	struct session *session = counting->session;
	struct output *output = session->output;
	uint32_t count = 0, shown;
	const struct block_class *classes = classify_blocks(counting, &count);

	if (!classes)
		return;
	shown = count > SHORT_CLASSES && !output_is_json(output) ? SHORT_CLASSES : count;
	output_open_array(output, "blocks");
	for (uint32_t i = 0; i < shown && !session_must_stop(session); i++) {
		const char *block = describe_class(session, &classes[i]);
		const char *site = describe_site(session, classes[i].site);

		table_row(output, "%10" PRIu64 "\t%12s\t  %s%s", classes[i].objects,
			  describe_bytes(session, classes[i].bytes), block,
			  describe_with_site(session, " from ", classes[i].site));
		output_open_object(output, NULL);
		output_string(output, "block", block);
		output_string(output, "site", site);
		output_number(output, "objects", classes[i].objects);
		output_number(output, "bytes", classes[i].bytes);
		output_close(output);
	}
	output_close(output);
	if (shown < count)
		table_row(output, "%10s\t%12s\t  … %" PRIu32 " more (find untyped, sites)", "", "",
			  count - shown);
}

// --- all groups --------------------------------------------------------------

// "90 %"; "<1 %" and ">99 %" where rounding would give 0 or 100.
static const char *share_of(struct session *session, uint64_t part, uint64_t whole)
{
	double share = format_per_cent(part, whole);

	return share < 1    ? "<1 %"
	       : share > 99 ? ">99 %"
			    : session_format(session, "%.0f %%", share);
}

// "pointer", or "pointer 90 %, vote 10 %", the most first.
static const char *evidence_summary(struct session *session, const struct group *group)
{
	const char *text = "";
	bool is_told[HEAP_EVIDENCE_KINDS] = { false };

	for (int told = 0; told < HEAP_EVIDENCE_KINDS; told++) {
		int most = -1;

		for (int i = 0; i < HEAP_EVIDENCE_KINDS; i++) {
			if (!is_told[i] && (most < 0 || group->evidence[i] > group->evidence[most]))
				most = i;
		}
		if (group->evidence[most] == group->objects)
			return heap_evidence_name(most);
		if (group->evidence[most] == 0)
			break;
		is_told[most] = true;
		text = session_format(session, "%s%s%s %s", text, *text ? ", " : "",
				      heap_evidence_name(most),
				      share_of(session, group->evidence[most], group->objects));
	}
	return text;
}

static void print_groups(const struct counting *counting, uint64_t limit)
{
	struct session *session = counting->session;
	const struct group *groups = counting->groups;
	enum grouping grouping = counting->grouping;
	struct output *output = session->output;
	bool has_evidence = grouping == BY_TYPE;

	table_header(output, "10", "%10s\t%12s\t%s%s", "objects", "bytes", groupings[grouping],
		     has_evidence ? " (evidence)" : "");
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < counting->count && i < limit && groups[i].objects; i++) {
		const char *name = group_name(session, grouping, groups[i].key);
		bool is_rest = has_evidence && groups[i].key == session->snapshot->types.count;
		const char *evidence = is_rest ? "" : evidence_summary(session, &groups[i]);

		if (has_evidence && *evidence && groups[i].key != HEAP_NO_TYPE)
			table_row(output, "%10" PRIu64 "\t%12s\t%s (%s)", groups[i].objects,
				  describe_bytes(session, groups[i].bytes), name, evidence);
		else
			table_row(output, "%10" PRIu64 "\t%12s\t%s", groups[i].objects,
				  describe_bytes(session, groups[i].bytes), name);
		output_open_object(output, NULL);
		output_string(output, groupings[grouping], name);
		output_number(output, "objects", groups[i].objects);
		output_number(output, "bytes", groups[i].bytes);
		if (has_evidence)
			output_string(output, "evidence", evidence);
		if (has_evidence && groups[i].key == HEAP_NO_TYPE)
			print_blocks(counting);
		output_close(output);
	}
	output_close(output);
}

// Epochs may be too short to be told apart by their names: they become one row.
static void merge_ages(struct session *session, struct group *groups, uint32_t count)
{
	const char *before = "";
	struct group *first = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const char *name = group_name(session, BY_AGE, i);

		if (groups[i].objects == 0)
			continue;
		if (!first || strcmp(name, before) != 0) {
			first = &groups[i];
			before = name;
			continue;
		}
		first->objects += groups[i].objects;
		first->bytes += groups[i].bytes;
		groups[i].objects = groups[i].bytes = 0;
	}
}

static void add_to_group(struct group *group, uint64_t size, uint8_t evidence)
{
	group->objects++;
	group->bytes += size;
	if (evidence < HEAP_EVIDENCE_KINDS)
		group->evidence[evidence]++;
}

// Counts the parts that the filter matches, of pools that it does not match.
static void count_matching_parts(const struct counting *counting)
{
	const struct heap_snapshot *snapshot = counting->session->snapshot;

	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];
		uint64_t size = heap_snapshot_part_size(snapshot, part);
		uint32_t key = counting->grouping == BY_TYPE   ? part->type
			       : counting->grouping == BY_SIZE ? size_class(size)
							       : group_of(counting, part->object);

		if (!is_counted(counting, part->object) &&
		    heap_filter_matches_part(counting->filter, part))
			add_to_group(&counting->groups[key], size, part->evidence);
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_matches(struct counting *counting)
{
	const uint32_t count = counting->session->snapshot->object_count;

	HEAP_TRY(heap_column_create((size_t)count / 8 + 1, 1, &counting->matches));
	for (heap_object_id i = heap_filter_next(counting->filter, 0, count); i < count;
	     i = heap_filter_next(counting->filter, i + 1, count))
		heap_bit_set(counting->matches, i);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_groups(struct counting *counting)
{
	struct session *session = counting->session;
	struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
						      HEAP_COLUMN_SITE | HEAP_COLUMN_EVIDENCE |
						      HEAP_COLUMN_BIRTH | HEAP_COLUMN_TAG));
	HEAP_TRY(site_rows_find(session, &counting->site_rows));
	// Without its parts a pool is a block.
	if (counting->grouping == BY_TYPE || counting->filter)
		heap_error_destroy(heap_snapshot_load(snapshot, HEAP_COLUMN_PARTS));
	counting->count = group_count(snapshot, counting->grouping);
	counting->groups = session_allocate(session, counting->count * sizeof(*counting->groups));
	if (!counting->groups)
		return heap_error_out_of_memory();
	if (counting->filter)
		HEAP_TRY(find_matches(counting));
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (is_counted(counting, i))
			add_to_group(&counting->groups[group_of(counting, i)], snapshot->size[i],
				     snapshot->evidence[i]);
	}
	if (counting->grouping == BY_TYPE)
		count_parts(counting);
	if (counting->filter)
		count_matching_parts(counting);
	return counting->filter ? session_filter_finish(session, counting->filter) : NULL;
}

static enum command_status count_by(struct counting *counting, uint64_t limit)
{
	struct session *session = counting->session;
	struct heap_error *error = count_groups(counting);

	if (error)
		return command_fail(session, error);
	for (uint32_t i = 0; i < counting->count; i++)
		counting->groups[i].key = i;
	if (counting->grouping == BY_AGE)
		merge_ages(session, counting->groups, counting->count);
	qsort(counting->groups, counting->count, sizeof(*counting->groups), compare_groups);
	print_groups(counting, limit);
	// An empty heap has no sites, and so no groups.
	return counting->count > 0 && counting->groups[0].objects ? COMMAND_OK : COMMAND_NOTHING;
}

// @param words  [count] of a filter
static enum command_status count_matching(struct session *session, enum grouping grouping,
					  int count, char **words, uint64_t limit)
{
	CLEANUP(heap_filter_cleanup) struct heap_filter *filter = NULL;
	struct counting counting = { .session = session, .grouping = grouping };
	struct heap_error *error = NULL;
	enum command_status status;

	if (count > 0)
		error = session_filter(session, count, words, &filter);
	if (error)
		return command_fail(session, error);
	counting.filter = filter;
	status = count_by(&counting, limit);
	heap_column_destroy(counting.matches);
	return status;
}

static enum command_status count_run(struct session *session, int argc, char **argv)
{
	const char *by = "type";
	uint64_t limit = UINT64_MAX;
	bool delta = command_option(&argc, argv, "--delta", NULL);

	if (command_option(&argc, argv, "--by", &by) < 0 || !command_limit(&argc, argv, &limit))
		return COMMAND_USAGE;
	if (delta && argc > 1)
		return command_fail(session,
				    heap_error_create(HEAP_ERROR_ARGUMENT,
						      "%s: --delta takes no filter", argv[1]));
	if (delta)
		return command_count_delta(session, by, limit);
	for (int i = BY_TYPE; i <= BY_AGE; i++) {
		if (strcmp(groupings[i], by) == 0)
			return count_matching(session, i, argc - 1, argv + 1, limit);
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT,
					      "--by %s: not type, site, size, module, tag or age",
					      by));
}

const struct command count_command = {
	.name = "count",
	.synopsis =
		"[--delta] [--by type|site|size|module|tag|age] [--all | --limit N] [FILTER...]",
	.summary = "objects and bytes per type, site, size, module, tag or age",
	.details =
		"The largest first. A type is followed by the evidence for it; below (untyped)\n"
		"are the origins of objects without a type. Parts of pools count by their own\n"
		"types, the pools with the remaining bytes. --delta shows how many more or fewer\n"
		"there are than in the snapshot that `compare` has named. With filters only\n"
		"what matches counts, as `find` finds it.\n\n"
		"  count | head\n"
		"  count --by site --limit 20\n"
		"  count --by site type 'struct date'",
	.run = count_run,
	.nothing = "There are no objects.",
};
