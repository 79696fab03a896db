// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/object_kinds.h"

#include "lib/base/hash.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

static size_t slot_of(const struct object_kinds *kinds, uint64_t site, uint64_t size)
{
	size_t at =
		(heap_hash_scatter(heap_hash_scatter(site) ^ size) >> 20) & (kinds->slot_count - 1);

	for (; kinds->slots[at]; at = (at + 1) & (kinds->slot_count - 1)) {
		const struct object_kind *kind = &kinds->list[kinds->slots[at] - 1];

		if (kind->site == site && kind->size == size)
			break;
	}
	return at;
}

// The list has room for half as many kinds as the table has slots, so one check serves for both.
HEAP_MUST_CHECK
static struct heap_error *grow(struct object_kinds *kinds)
{
	size_t slot_count = kinds->slot_count ? kinds->slot_count * 2 : 1024;
	struct object_kind *list = realloc(kinds->list, slot_count / 2 * sizeof(*list));

	if (!list)
		return heap_error_out_of_memory();
	kinds->list = list;

	uint32_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return heap_error_out_of_memory();
	free(kinds->slots);
	kinds->slots = slots;
	kinds->slot_count = slot_count;
	for (uint32_t i = 0; i < kinds->count; i++)
		slots[slot_of(kinds, list[i].site, list[i].size)] = i + 1;
	return NULL;
}

struct heap_error *object_kinds_find(struct object_kinds *kinds, uint64_t site, uint64_t size,
				     uint32_t *result)
{
	if ((size_t)kinds->count * 2 >= kinds->slot_count)
		HEAP_TRY(grow(kinds));

	size_t at = slot_of(kinds, site, size);

	if (!kinds->slots[at]) {
		kinds->list[kinds->count] = (struct object_kind){ site, size };
		kinds->slots[at] = ++kinds->count;
	}
	*result = kinds->slots[at] - 1;
	return NULL;
}

void object_kinds_deinit(struct object_kinds *kinds)
{
	free(kinds->list);
	free(kinds->slots);
}
