// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/part_sums.h"

#include "lib/base/bits.h"
#include "shell/base/format.h"
#include "shell/base/output.h"
#include "shell/print/describe.h"

#include <inttypes.h>

void part_sums_add(struct part_sums *sums, const struct heap_snapshot *snapshot,
		   const struct heap_part *part)
{
	uint64_t end = part->offset + heap_snapshot_part_size(snapshot, part);

	if (sums->parts == 0 || part->object != sums->pool) {
		sums->pools++;
		sums->pool_bytes += snapshot->size[part->object];
		sums->pool = part->object;
		sums->end = 0;
	}
	sums->parts++;
	if (end <= sums->end)
		return;
	sums->bytes += end - (part->offset > sums->end ? part->offset : sums->end);
	sums->end = end;
}

struct part_sums part_sums_of_filter(const struct heap_divided *divided, struct heap_filter *filter,
				     uint8_t *set)
{
	const struct heap_snapshot *snapshot = divided->snapshot;
	struct part_sums sums = { 0 };

	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];
		const struct heap_part *own;
		heap_node_id node;

		if (heap_bit_get(set, part->object) || !heap_filter_matches_part(filter, part))
			continue;
		node = heap_divided_node(divided, part->object, part->offset);
		own = heap_divided_part(divided, node);
		if (own && own->offset == part->offset)
			heap_bit_set(set, node);
		part_sums_add(&sums, snapshot, part);
	}
	return sums;
}

void part_sums_print(struct session *session, const struct part_sums *sums)
{
	struct output *output = session->output;

	if (sums->pool_bytes == 0)
		return;
	output_text(output,
		    "Parts of pools: %" PRIu64 ", %s, %.1f %% of their %" PRIu64 " pool%s, %s\n",
		    sums->parts, describe_bytes(session, sums->bytes),
		    format_per_cent(sums->bytes, sums->pool_bytes), sums->pools,
		    format_plural(sums->pools), describe_bytes(session, sums->pool_bytes));
	output_number(output, "parts", sums->parts);
	output_number(output, "part_bytes", sums->bytes);
	output_number(output, "pools", sums->pools);
	output_number(output, "pool_bytes", sums->pool_bytes);
}
