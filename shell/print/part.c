// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/part.h"

#include "shell/print/describe.h"

#include <inttypes.h>

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

bool part_find(const struct session *session, heap_object_id object, uint64_t offset,
	       struct heap_part *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_part *part = heap_snapshot_part_at(snapshot, object, offset);
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[object]);

	if (part)
		*result = *part;
	else if (size > 0 && offset >= size && heap_snapshot_is_slab(snapshot, object))
		*result =
			(struct heap_part){ object, offset - offset % size, snapshot->type[object],
					    1, snapshot->evidence[object] };
	else
		return false;
	return true;
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

heap_type_id part_main_type(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id main = HEAP_NO_TYPE;
	uint32_t first, end;
	uint64_t *bytes;

	if (!snapshot->parts)
		return HEAP_NO_TYPE;
	end = heap_snapshot_parts(snapshot, object, &first);
	bytes = first < end ? session_allocate(session, snapshot->types.count * sizeof(*bytes))
			    : NULL;
	for (uint32_t i = first; bytes && i < end; i++) {
		const struct heap_part *part = &snapshot->parts[i];

		bytes[part->type] += heap_snapshot_part_size(snapshot, part);
		if (main == HEAP_NO_TYPE || bytes[part->type] > bytes[main])
			main = part->type;
	}
	return main;
}
