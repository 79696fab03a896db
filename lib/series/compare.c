// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/compare.h"

#include "lib/base/cleanup.h"
#include "lib/series/identity.h"

#include <stdlib.h>
#include <string.h>

// Merges the objects of both snapshots, which are sorted by address.
HEAP_MUST_CHECK
static struct heap_error *match(struct heap_comparison *comparison)
{
	struct heap_snapshot *before = comparison->before, *after = comparison->after;
	heap_object_id at = 0;

	for (heap_object_id i = 0; i < after->object_count; i++) {
		while (at < before->object_count && before->address[at] < after->address[i])
			at++;
		bool is_same = false;

		if (at < before->object_count && before->address[at] == after->address[i])
			HEAP_TRY(heap_is_one_object(before, at, after, i, &is_same));
		if (is_same) {
			comparison->earlier[i] = at;
			comparison->later[at] = i;
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *make_none(heap_object_id count, heap_object_id **result)
{
	size_t bytes = ((size_t)count + 1) * sizeof(**result);

	*result = malloc(bytes);
	if (!*result)
		return heap_error_out_of_memory();
	memset(*result, 0xff, bytes); // HEAP_NO_OBJECT
	return NULL;
}

struct heap_error *heap_comparison_init(struct heap_comparison *result,
					struct heap_snapshot *before, struct heap_snapshot *after)
{
	static const unsigned columns = HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_BIRTH;
	CLEANUP(heap_comparison_deinit)
	struct heap_comparison comparison = { .before = before, .after = after };

	HEAP_TRY(heap_snapshot_load(before, columns));
	HEAP_TRY(heap_snapshot_load(after, columns));
	HEAP_TRY(make_none(after->object_count, &comparison.earlier));
	HEAP_TRY(make_none(before->object_count, &comparison.later));
	if (heap_is_one_process(&before->info, &after->info))
		HEAP_TRY(match(&comparison));
	*result = comparison;
	comparison = (struct heap_comparison){ 0 };
	return NULL;
}

void heap_comparison_deinit(struct heap_comparison *comparison)
{
	free(comparison->earlier);
	free(comparison->later);
}

enum heap_change heap_comparison_change(const struct heap_comparison *comparison,
					heap_object_id object)
{
	const struct heap_snapshot *before = comparison->before, *after = comparison->after;
	heap_object_id earlier = comparison->earlier[object];

	if (earlier != HEAP_NO_OBJECT)
		return before->size[earlier] == after->size[object] ? HEAP_CHANGE_KEPT
								    : HEAP_CHANGE_RESIZED;
	return heap_knows_births(before) && heap_knows_births(after) &&
			       heap_is_one_process(&before->info, &after->info) &&
			       before->info.time_ns < after->info.time_ns &&
			       heap_snapshot_birth_ns(after, object) < before->info.time_ns
		       ? HEAP_CHANGE_MOVED
		       : HEAP_CHANGE_ADDED;
}
