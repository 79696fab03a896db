// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/part.h"

#include "lib/base/search.h"
#include "shell/base/table.h"
#include "shell/print/describe.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	SHORT_PARTS = 16, // listed without --all
};

// The first part of an object at or after an offset, or else the first part of a later object.
static uint32_t first_part(const struct heap_snapshot *snapshot, heap_object_id object,
			   uint64_t offset)
{
	uint32_t count = snapshot->parts ? snapshot->part_count : 0;
	const struct heap_part *parts = snapshot->parts;

	return heap_partition_point(i, 0, count,
				    parts[i].object < object || (parts[i].object == object &&
								 parts[i].offset < offset));
}

static uint32_t end_of_parts(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return first_part(snapshot, object + 1, 0);
}

uint32_t part_count(const struct session *session, heap_object_id object)
{
	return end_of_parts(session->snapshot, object) - first_part(session->snapshot, object, 0);
}

const struct heap_part *part_at(const struct session *session, heap_object_id object,
				uint64_t offset)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t at = offset < UINT64_MAX ? first_part(snapshot, object, offset + 1) : 0;

	// Parts may lie in each other; the last that begins before is the innermost.
	for (uint32_t tries = 0; at > 0 && tries < SHORT_PARTS; tries++) {
		const struct heap_part *part = &snapshot->parts[--at];

		if (part->object != object)
			return NULL;
		if (offset - part->offset < heap_snapshot_part_size(snapshot, part))
			return part;
	}
	return NULL;
}

static const char *describe_part_type(struct session *session, const struct heap_part *part)
{
	return describe_elements(session, part->type, part->elements,
				 heap_snapshot_part_size(session->snapshot, part));
}

static uint64_t address_of(const struct session *session, const struct heap_part *part)
{
	return session->snapshot->address[part->object] + part->offset;
}

const char *part_describe(struct session *session, const struct heap_part *part)
{
	return session_format(
		session, "%s%s%s at %s%#" PRIx64 "%s", output_colour(session->output, COLOUR_TYPE),
		describe_part_type(session, part), output_colour(session->output, COLOUR_PLAIN),
		output_colour(session->output, COLOUR_ADDRESS), address_of(session, part),
		output_colour(session->output, COLOUR_PLAIN));
}

void part_json(struct session *session, const char *key, const struct heap_part *part)
{
	struct output *output = session->output;

	if (!output_is_json(output))
		return;
	output_open_object(output, key);
	output_address(output, "address", address_of(session, part));
	output_string(output, "type", describe_part_type(session, part));
	output_number(output, "size", heap_snapshot_part_size(session->snapshot, part));
	output_number(output, "elements", part->elements);
	output_string(output, "evidence", heap_evidence_name(part->evidence));
	output_address(output, "pool", session->snapshot->address[part->object]);
	output_close(output);
}

void part_print(struct session *session, const struct heap_part *part, const struct value *value,
		enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;

	if (part->elements > 1 && !heap_types_flexible(types, part->type, NULL, NULL)) {
		output_open_array(session->output, "elements");
		value_print_elements(session, value, part->type, part->offset, part->elements, 2,
				     limit);
		output_close(session->output);
	} else {
		value_print_members_at(session, value, part->type, part->offset, 2, limit);
	}
}

// --- what a pool is made of --------------------------------------------------

struct part_sum {
	heap_type_id type;
	uint64_t parts;
	uint64_t bytes;
};

static int compare_types(const void *left, const void *right)
{
	const struct part_sum *a = left, *b = right;

	return a->type < b->type ? -1 : a->type > b->type;
}

static int compare_sums(const void *left, const void *right)
{
	const struct part_sum *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return compare_types(left, right);
}

// Parts by type, those with the most bytes first. @return how many types
static uint32_t sum_up(const struct heap_snapshot *snapshot, uint32_t first, uint32_t count,
		       struct part_sum *sums)
{
	uint32_t types = 0;

	for (uint32_t i = 0; i < count; i++)
		sums[i] = (struct part_sum){ snapshot->parts[first + i].type, 1,
					     heap_snapshot_part_size(snapshot,
								     &snapshot->parts[first + i]) };
	qsort(sums, count, sizeof(*sums), compare_types);
	for (uint32_t i = 0; i < count; i++) {
		if (types > 0 && sums[types - 1].type == sums[i].type) {
			sums[types - 1].parts++;
			sums[types - 1].bytes += sums[i].bytes;
		} else {
			sums[types++] = sums[i];
		}
	}
	qsort(sums, types, sizeof(*sums), compare_sums);
	return types;
}

static void print_sums(struct session *session, uint32_t first, uint32_t count)
{
	struct output *output = session->output;
	struct part_sum *sums = session_allocate(session, count * sizeof(*sums));
	uint32_t types = sums ? sum_up(session->snapshot, first, count, sums) : 0;

	output_open_array(output, "types");
	for (uint32_t i = 0; i < types && session_take_line(session); i++) {
		table_row(output, "%10" PRIu64 "\t%12s\t%s", sums[i].parts,
			  describe_bytes(session, sums[i].bytes),
			  describe_type(session, sums[i].type));
		output_open_object(output, NULL);
		output_string(output, "type", describe_type(session, sums[i].type));
		output_number(output, "parts", sums[i].parts);
		output_number(output, "bytes", sums[i].bytes);
		output_close(output);
	}
	output_close(output);
}

void part_list(struct session *session, heap_object_id object, enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint32_t first = first_part(snapshot, object, 0);
	uint32_t count = end_of_parts(snapshot, object) - first;
	uint32_t shown = limit == VALUE_SHORT && count > SHORT_PARTS ? SHORT_PARTS : count;

	if (count == 0)
		return;
	output_text(output, "  parts:\n");
	print_sums(session, first, count);
	output_open_array(output, "parts");
	for (uint32_t i = first; i < first + shown && session_take_line(session); i++) {
		const struct heap_part *part = &snapshot->parts[i];

		output_text(output, "  +%#-6" PRIx64 " %s\n", part->offset,
			    part_describe(session, part));
		part_json(session, NULL, part);
	}
	output_close(output);
	if (shown < count)
		output_text(output, "  … %" PRIu32 " more parts (--all shows them)\n",
			    count - shown);
}
