// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/base_types.h"

#include "lib/base/cleanup.h"

HEAP_MUST_CHECK
static struct heap_error *find(struct heap_types *types, const char *name, uint8_t flags,
			       uint64_t size, heap_type_id *result)
{
	struct heap_type type = { .kind = HEAP_TYPE_BASE, .flags = flags, .size = size };

	*result = heap_types_find(types, name, 0);
	if (*result != HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	return heap_types_add(types, &type, result);
}

struct heap_error *base_types_find_char(struct heap_types *types, heap_type_id *result)
{
	return find(types, "char", HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER, 1, result);
}

struct heap_error *base_types_find_long(struct heap_types *types, heap_type_id *result)
{
	return find(types, "long", HEAP_TYPE_SIGNED, 8, result);
}
