// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/sparse_column.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"

#include <stdlib.h>
#include <string.h>

enum {
	STEP = 4, // values that a group makes room for at a time
};

struct heap_error *sparse_column_init(struct sparse_column *column, size_t count)
{
	*column = (struct sparse_column){ 0 };
	return sparse_column_grow(column, count);
}

void sparse_column_deinit(struct sparse_column *column)
{
	for (size_t i = 0; i < column->group_count; i++)
		free(column->groups[i].values);
	heap_column_destroy(column->groups);
	*column = (struct sparse_column){ 0 };
}

struct heap_error *sparse_column_grow(struct sparse_column *column, size_t count)
{
	size_t groups = count / SPARSE_GROUP + 1;

	if (groups <= column->group_count)
		return NULL;
	if (!column->groups)
		HEAP_TRY(heap_column_create(groups, sizeof(*column->groups), &column->groups));
	else
		HEAP_TRY(heap_column_resize(groups * sizeof(*column->groups), &column->groups));
	column->group_count = groups;
	return NULL;
}

static uint32_t count_values(const struct sparse_group *group)
{
	return heap_bits_count(group->bits);
}

HEAP_MUST_CHECK
static struct heap_error *insert(struct sparse_group *group, size_t at, uint32_t value)
{
	uint32_t rank = sparse_group_rank(group, at), count = count_values(group);

	if (count % STEP == 0) {
		uint32_t *values = realloc(group->values, (count + STEP) * sizeof(*group->values));

		if (!values)
			return heap_error_out_of_memory();
		group->values = values;
	}
	memmove(&group->values[rank + 1], &group->values[rank],
		(count - rank) * sizeof(*group->values));
	group->values[rank] = value;
	group->bits |= UINT64_C(1) << at % SPARSE_GROUP;
	return NULL;
}

// The memory stays, as if there were the values that there were: others may come.
static void erase(struct sparse_group *group, size_t at)
{
	uint32_t rank = sparse_group_rank(group, at), count = count_values(group);

	memmove(&group->values[rank], &group->values[rank + 1],
		(count - rank - 1) * sizeof(*group->values));
	group->bits &= ~(UINT64_C(1) << at % SPARSE_GROUP);
}

struct heap_error *sparse_column_set(struct sparse_column *column, size_t at, uint32_t value)
{
	struct sparse_group *group = &column->groups[at / SPARSE_GROUP];

	if (!sparse_column_has(column, at))
		return value == 0 ? NULL : insert(group, at, value);
	if (value == 0)
		erase(group, at);
	else
		group->values[sparse_group_rank(group, at)] = value;
	return NULL;
}
