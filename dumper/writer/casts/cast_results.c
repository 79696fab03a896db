// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_results.h"

#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_RESULTS = 1 << 20,
};

void cast_results_deinit(struct cast_results *results)
{
	heap_array_deinit(&results->functions);
	heap_array_deinit(&results->list);
}

struct heap_error *cast_results_add_function(struct cast_results *results, uint64_t entry,
					     uint64_t place)
{
	if (results->functions.count >= MAX_RESULTS)
		return NULL;
	return heap_array_append(&results->functions, ((struct cast_function){ entry, place }));
}

struct heap_error *cast_results_add(struct cast_results *results, const struct cast_result *result)
{
	if (results->list.count >= MAX_RESULTS)
		return NULL;
	return heap_array_append(&results->list, *result);
}

static int compare_functions(const void *left, const void *right)
{
	const struct cast_function *a = left, *b = right;

	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static int compare_results(const void *left, const void *right)
{
	const struct cast_result *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

void cast_results_sort(struct cast_results *results)
{
	struct cast_result *list = results->list.items;
	size_t kept = 0;

	if (results->functions.count)
		qsort(results->functions.items, results->functions.count,
		      sizeof(*results->functions.items), compare_functions);
	if (results->list.count)
		qsort(list, results->list.count, sizeof(*list), compare_results);
	for (size_t i = 0; i < results->list.count; i++) {
		if (kept == 0 || compare_results(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	results->list.count = kept;
}

uint64_t cast_results_place(const struct cast_results *results, uint64_t function)
{
	const struct cast_function *list = results->functions.items;
	size_t at = heap_partition_point(i, 0, results->functions.count, list[i].entry < function);

	return at < results->functions.count && list[at].entry == function ? list[at].place : 0;
}

const struct cast_result *cast_results_find(const struct cast_results *results, uint64_t function,
					    size_t *count)
{
	const struct cast_result *list = results->list.items;
	size_t first = heap_partition_point(i, 0, results->list.count, list[i].function < function);
	size_t behind = first;

	while (behind < results->list.count && behind - first < CAST_RESULTS_OF_ONE &&
	       list[behind].function == function)
		behind++;
	*count = behind - first;
	return list + first;
}
