// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/prefixed_types.h"

#include "lib/base/cleanup.h"

HEAP_MUST_CHECK
static struct heap_error *add_array(struct heap_types *types, heap_type_id element, uint64_t count,
				    heap_type_id *result)
{
	struct heap_type array = {
		.kind = HEAP_TYPE_ARRAY,
		.flags = count > 0 ? 0 : HEAP_TYPE_FLEXIBLE,
		.target = element,
		.count = count,
		.size = count, // of characters
	};

	return heap_types_add(types, &array, result);
}

struct heap_error *prefixed_types_add(struct heap_types *types, heap_type_id body, uint32_t prefix,
				      bool is_array, heap_type_id *result)
{
	struct heap_member bytes = { 0 }, value = { .type = body, .offset = prefix };
	struct heap_type type = {
		.kind = HEAP_TYPE_STRUCT,
		.size = prefix + (is_array ? 0 : heap_types_size(types, body)),
		.members = 2,
	};
	heap_type_id character = heap_types_find(types, "char", 0);

	HEAP_TRY(add_array(types, character, prefix, &bytes.type));
	if (is_array)
		HEAP_TRY(add_array(types, body, 0, &value.type));
	HEAP_TRY(heap_types_add_string(types, HEAP_TYPES_PREFIX_MEMBER, &bytes.name));
	type.first_member = types->member_count;
	HEAP_TRY(heap_types_add_member(types, &bytes));
	HEAP_TRY(heap_types_add_member(types, &value));
	return heap_types_add(types, &type, result);
}
