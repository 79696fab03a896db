// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/value.h"

#include <string.h>

enum {
	SHORT_ELEMENTS = 16,
};

uint64_t value_load_integer(const struct value *value, uint64_t offset, uint64_t size)
{
	uint64_t result = 0;

	memcpy(&result, value->bytes + offset, size < 8 ? size : 8);
	return result;
}

bool value_load_number(const struct value *value, uint64_t offset, uint64_t size, uint64_t *result)
{
	if (size == 0 || size > 8 || !value_is_kept(value, offset, size))
		return false;
	*result = value_load_integer(value, offset, size);
	return true;
}

// Deeper levels tell less, and containers of containers multiply: each level shows half as many.
uint64_t value_shown(const struct value *value, uint64_t count, enum value_limit limit)
{
	uint64_t most = value->depth < 4 ? SHORT_ELEMENTS >> value->depth : 1;

	return limit == VALUE_SHORT && count > most ? most : count;
}

uint32_t value_next_edge(const struct session *session, const struct value *value, uint64_t offset)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t edge;

	if (value->object == HEAP_NO_OBJECT || !snapshot->edge_slot)
		return UINT32_MAX;
	edge = heap_edge_from(snapshot, value->object, offset);
	return edge < snapshot->edge_first[value->object + 1] ? edge : UINT32_MAX;
}

bool value_load_pointer(const struct session *session, const struct value *value, uint64_t offset,
			uint64_t *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (value_is_kept(value, offset, 8)) {
		*result = value_load_integer(value, offset, 8);
		return true;
	}

	uint32_t edge = value_next_edge(session, value, offset);

	if (edge == UINT32_MAX || (uint64_t)snapshot->edge_slot[edge] * 8 != offset)
		return false;
	*result = snapshot->address[snapshot->edge_target[edge]] + snapshot->edge_interior[edge];
	return true;
}
