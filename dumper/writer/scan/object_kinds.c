// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/object_kinds.h"

#include "lib/base/array.h"

#include <stdlib.h>

static bool is_of(const struct object_kind *kind, uint64_t site, uint64_t size)
{
	return kind->site == site && kind->size == size;
}

struct heap_error *object_kinds_find(struct object_kinds *kinds, uint64_t site, uint64_t size,
				     uint32_t *result)
{
	uint64_t hash;
	uint32_t found;

	*result = kinds->last;
	// Blocks in a row are often of one kind.
	if (kinds->last < kinds->count && is_of(&kinds->list[kinds->last], site, size))
		return NULL;
	hash = heap_hash_pair(site, size);
	found = heap_hash_find(&kinds->by_site, hash, i, is_of(&kinds->list[i], site, size));
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(heap_reserve(kinds->list, kinds->capacity, (size_t)kinds->count + 1));
		HEAP_TRY(heap_hash_add(&kinds->by_site, hash, kinds->count));
		found = kinds->count++;
		kinds->list[found] = (struct object_kind){ site, size };
	}
	*result = kinds->last = found;
	return NULL;
}

void object_kinds_deinit(struct object_kinds *kinds)
{
	free(kinds->list);
	heap_hash_table_deinit(&kinds->by_site);
}
