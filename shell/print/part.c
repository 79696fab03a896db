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
