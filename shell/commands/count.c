// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * count: objects and bytes by what they have in common.
 */
#include "lib/base/cleanup.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"

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

static uint32_t group_of(const struct heap_snapshot *snapshot, heap_object_id object,
			 enum grouping grouping)
{
	switch (grouping) {
	case BY_TYPE:
		return snapshot->type[object];
	case BY_SITE:
		return snapshot->site[object];
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

// Parts of pools count by their own types, and their pools with the remaining bytes. Parts may be
// nested: inner ones do not count.
static void count_parts(const struct heap_snapshot *snapshot, struct group *groups)
{
	struct group *rest = &groups[snapshot->types.count];
	heap_object_id pool = HEAP_NO_OBJECT;
	uint64_t end = 0;

	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];
		uint64_t size = heap_snapshot_part_size(snapshot, part);

		if (part->object != pool && snapshot->type[part->object] == HEAP_NO_TYPE) {
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
	return snapshot->type[object] == HEAP_NO_TYPE &&
	       (snapshot->evidence[object] != HEAP_EVIDENCE_POOL || !snapshot->parts);
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
static struct block_class *classify_blocks(struct session *session, uint32_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t *slots = session_allocate(session, (snapshot->site_count + 1) * sizeof(*slots));
	struct block_class *classes;
	uint32_t sites = 0, used = 0;

	for (heap_object_id i = 0; slots && i < snapshot->object_count; i++) {
		if (is_untyped(snapshot, i) && slots[snapshot->site[i]] == 0)
			slots[snapshot->site[i]] = ++sites;
	}
	classes = session_allocate(session, ((size_t)sites + 1) * SIZE_CLASSES * sizeof(*classes));
	if (!slots || !classes)
		return NULL;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t size = snapshot->size[i];

		if (is_untyped(snapshot, i))
			add_block(&classes[(size_t)(slots[snapshot->site[i]] - 1) * SIZE_CLASSES +
					   size_class(size)],
				  size, snapshot->site[i]);
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
static void print_blocks(struct session *session)
{
	struct output *output = session->output;
	uint32_t count = 0, shown;
	const struct block_class *classes = classify_blocks(session, &count);

	if (!classes)
		return;
	shown = count > SHORT_CLASSES && !output_is_json(output) ? SHORT_CLASSES : count;
	output_open_array(output, "blocks");
	for (uint32_t i = 0; i < shown && !session_must_stop(session); i++) {
		const char *block = describe_class(session, &classes[i]);
		const char *site = describe_site(session, classes[i].site);

		table_row(output, "%10" PRIu64 "\t%12s\t  %s from %s", classes[i].objects,
			  describe_bytes(session, classes[i].bytes), block, site);
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
	double share = 100.0 * (double)part / (double)whole;

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

static void print_groups(struct session *session, const struct group *groups, uint32_t count,
			 enum grouping grouping, uint64_t limit)
{
	struct output *output = session->output;
	bool has_evidence = grouping == BY_TYPE;

	table_header(output, "10", "%10s\t%12s\t%s%s", "objects", "bytes", groupings[grouping],
		     has_evidence ? " (evidence)" : "");
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < count && i < limit && groups[i].objects; i++) {
		const char *name = group_name(session, grouping, groups[i].key);
		const char *evidence = evidence_summary(session, &groups[i]);

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
			print_blocks(session);
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

HEAP_MUST_CHECK
static struct heap_error *make_groups(struct session *session, enum grouping grouping,
				      struct group **groups, uint32_t *count)
{
	HEAP_TRY(heap_snapshot_load(session->snapshot,
				    HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE | HEAP_COLUMN_SITE |
					    HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_BIRTH |
					    HEAP_COLUMN_TAG));
	// Without its parts a pool is a block.
	if (grouping == BY_TYPE)
		heap_error_destroy(heap_snapshot_load(session->snapshot, HEAP_COLUMN_PARTS));
	*count = group_count(session->snapshot, grouping);
	*groups = session_allocate(session, *count * sizeof(**groups));
	return *groups ? NULL : heap_error_out_of_memory();
}

static enum command_status count_by(struct session *session, enum grouping grouping, uint64_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct group *groups;
	uint32_t count;
	struct heap_error *error = make_groups(session, grouping, &groups, &count);

	if (error)
		return command_fail(session, error);
	for (uint32_t i = 0; i < count; i++)
		groups[i].key = i;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		struct group *group = &groups[group_of(snapshot, i, grouping)];
		uint8_t evidence = snapshot->evidence[i];

		group->objects++;
		group->bytes += snapshot->size[i];
		if (evidence < HEAP_EVIDENCE_KINDS)
			group->evidence[evidence]++;
	}
	if (grouping == BY_TYPE)
		count_parts(snapshot, groups);
	if (grouping == BY_AGE)
		merge_ages(session, groups, count);
	qsort(groups, count, sizeof(*groups), compare_groups);
	print_groups(session, groups, count, grouping, limit);
	return snapshot->object_count ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status count_run(struct session *session, int argc, char **argv)
{
	const char *by = "type";
	uint64_t limit = UINT64_MAX;
	bool delta = command_option(&argc, argv, "--delta", NULL);

	if (command_option(&argc, argv, "--by", &by) < 0 || !command_limit(&argc, argv, &limit) ||
	    argc != 1)
		return COMMAND_USAGE;
	if (delta)
		return command_count_delta(session, by, limit);
	for (int i = BY_TYPE; i <= BY_AGE; i++) {
		if (strcmp(groupings[i], by) == 0)
			return count_by(session, i, limit);
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT,
					      "--by %s: not type, site, size, module, tag or age",
					      by));
}

const struct command count_command = {
	.name = "count",
	.synopsis = "[--delta] [--by type|site|size|module|tag|age] [--all | --limit N]",
	.summary = "objects and bytes per type, site, size, module, tag or age",
	.details =
		"The largest first. A type is followed by the evidence for it; below (untyped)\n"
		"are the origins of objects without a type. Parts of pools count by their own\n"
		"types, the pools with the remaining bytes. --delta shows how many more or fewer\n"
		"there are than in the snapshot that `compare` has named.\n\n"
		"  count | head\n"
		"  count --by site --limit 20",
	.run = count_run,
	.nothing = "There are no objects.",
};
