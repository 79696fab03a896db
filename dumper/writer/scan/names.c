// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/names.h"

#include "lib/base/array.h"
#include "lib/base/column.h"

#include <stdlib.h>

static bool is_same(const struct name *one, const struct name *other)
{
	return one->type == other->type && one->elements == other->elements &&
	       one->evidence == other->evidence && one->is_sure == other->is_sure;
}

struct heap_error *names_init(struct names *names, heap_object_id objects)
{
	uint32_t none;

	*names = (struct names){ 0 };
	HEAP_TRY(heap_column_create((size_t)objects + 1, sizeof(*names->of), &names->of));
	return names_find(names, &(struct name){ 0 }, &none);
}

void names_deinit(struct names *names)
{
	free(names->list);
	heap_hash_table_deinit(&names->by_name);
	heap_column_destroy(names->of);
}

struct heap_error *names_find(struct names *names, const struct name *name, uint32_t *result)
{
	uint64_t hash, key;
	uint32_t found;

	*result = names->last;
	// Claims in a row often give the same name.
	if (names->last < names->count && is_same(&names->list[names->last], name))
		return NULL;
	key = (uint64_t)name->elements << 9 | name->evidence << 1 | name->is_sure;
	hash = heap_hash_pair(key, name->type);
	found = heap_hash_find(&names->by_name, hash, i, is_same(&names->list[i], name));
	if (found == HEAP_HASH_NONE) {
		found = names->count;
		if (found > UINT32_MAX >> 1)
			return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 names");
		HEAP_TRY(heap_reserve(names->list, names->capacity, (size_t)found + 1));
		HEAP_TRY(heap_hash_add(&names->by_name, hash, found));
		names->list[names->count++] = *name;
	}
	*result = names->last = found;
	return NULL;
}

struct heap_error *names_set(struct names *names, heap_object_id object, heap_type_id type,
			     uint64_t elements, enum heap_evidence evidence)
{
	uint32_t number;

	HEAP_TRY(names_find(names,
			    &(struct name){ .elements = elements,
					    .evidence = evidence,
					    .is_sure = names_is_sure(names, object),
					    .type = type },
			    &number));
	names_give(names, object, number);
	return NULL;
}
