// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/pool.h"

#include "shell/base/table.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"
#include "shell/print/value_print.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	SHORT_PARTS = 16, // listed without --all
};

void pool_print_part(struct session *session, const struct heap_part *part,
		     const struct value *value, enum value_limit limit)
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

// --- sums by type ------------------------------------------------------------

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

void pool_print_parts(struct session *session, heap_object_id object, enum value_limit limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint32_t first, end = heap_snapshot_parts(snapshot, object, &first), count = end - first;
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
