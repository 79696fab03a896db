// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/cast_paths.h"

#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_PATHS = 1 << 20,
};

void cast_paths_deinit(struct cast_paths *paths)
{
	heap_array_deinit(&paths->list);
}

struct heap_error *cast_paths_add(struct cast_paths *paths, const struct cast_end *end,
				  const struct cast_member *member)
{
	if (paths->list.count >= MAX_PATHS)
		return NULL;
	return heap_array_append(&paths->list, ((struct cast_path){ *end, *member, paths->round }));
}

static int compare_ends(const struct cast_end *a, const struct cast_end *b)
{
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->reg > b->reg) - (a->reg < b->reg);
}

static int compare_containers(const struct cast_container *a, const struct cast_container *b)
{
	if (a->holder != b->holder)
		return a->holder < b->holder ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->is_pointer - b->is_pointer;
}

static int compare_paths(const struct cast_path *a, const struct cast_path *b)
{
	int order = compare_ends(&a->end, &b->end);

	if (order != 0)
		return order;
	if (a->member.holder != b->member.holder)
		return a->member.holder < b->member.holder ? -1 : 1;
	if (a->member.offset != b->member.offset)
		return a->member.offset < b->member.offset ? -1 : 1;
	if (a->member.is_element != b->member.is_element)
		return a->member.is_element - b->member.is_element;
	return compare_containers(&a->member.container, &b->member.container);
}

// The one of equal paths that was found first comes first.
static int compare(const void *left, const void *right)
{
	const struct cast_path *a = left, *b = right;
	int order = compare_paths(a, b);

	return order != 0 ? order : (a->round > b->round) - (a->round < b->round);
}

bool cast_paths_end_round(struct cast_paths *paths)
{
	struct cast_path *list = paths->list.items;
	size_t kept = 0, before = paths->known;

	if (paths->list.count)
		qsort(list, paths->list.count, sizeof(*list), compare);
	for (size_t i = 0; i < paths->list.count; i++) {
		if (kept == 0 || compare_paths(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	paths->list.count = paths->known = kept;
	paths->round++;
	return kept > before;
}

bool cast_paths_have(const struct cast_paths *paths, uint64_t function, unsigned kinds)
{
	const struct cast_path *list = paths->list.items;
	size_t at = heap_partition_point(i, 0, paths->known, list[i].end.function < function);

	for (; at < paths->known && list[at].end.function == function; at++) {
		if (list[at].round + 1 == paths->round && (kinds >> list[at].end.kind & 1))
			return true;
	}
	return false;
}

const struct cast_path *cast_paths_find(const struct cast_paths *paths, const struct cast_end *end,
					size_t *count)
{
	const struct cast_path *list = paths->list.items;
	size_t first =
		heap_partition_point(i, 0, paths->known, compare_ends(&list[i].end, end) < 0);
	size_t behind = first;

	while (behind < paths->known && compare_ends(&list[behind].end, end) == 0)
		behind++;
	*count = behind - first;
	return list + first;
}
