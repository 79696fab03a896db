// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/births.h"

#include <stdlib.h>

void births_deinit(struct births *births)
{
	heap_array_deinit(&births->groups);
	heap_array_deinit(&births->mixed);
}

// From now on each object of a group has an epoch of its own.
HEAP_MUST_CHECK
static struct heap_error *mix(struct births *births, struct birth_group *group)
{
	HEAP_TRY(heap_array_reserve(&births->mixed, BIRTH_GROUP));
	for (uint32_t i = 0; i < BIRTH_GROUP; i++)
		births->mixed.items[births->mixed.count++] = group->epoch;
	group->mixed = (uint32_t)(births->mixed.count / BIRTH_GROUP);
	return NULL;
}

struct heap_error *births_add_to_group(struct births *births, uint32_t object, uint16_t epoch)
{
	size_t number = object / BIRTH_GROUP;
	struct birth_group *group;

	if (number == births->groups.count)
		HEAP_TRY(heap_array_append(&births->groups, (struct birth_group){ 0, epoch }));
	group = &births->groups.items[number];
	if (!group->mixed && object % BIRTH_GROUP == 0)
		group->epoch = epoch;
	if (!group->mixed && group->epoch != epoch)
		HEAP_TRY(mix(births, group));
	if (group->mixed)
		births->mixed
			.items[(group->mixed - 1) * (size_t)BIRTH_GROUP + object % BIRTH_GROUP] =
			epoch;
	return NULL;
}
