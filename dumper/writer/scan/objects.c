// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/objects.h"

#include "lib/base/array.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	// Ranges with fewer blocks per byte than this are searched, not indexed.
	SPARSE_BYTES = 65536,
};

// Not heap_reserve(): the columns grow together, by doubling.
HEAP_MUST_CHECK
static struct heap_error *grow(struct objects *objects)
{
	uint32_t capacity = objects->capacity ? objects->capacity * 2 : 65536;

	if (capacity <= objects->capacity)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^31 objects");

#define GROW(column) \
	do { \
		void *larger_ = realloc(objects->column, capacity * sizeof(*objects->column)); \
		if (!larger_) \
			return heap_error_out_of_memory(); \
		objects->column = larger_; \
	} while (0)

	GROW(address);
	GROW(kind);
	GROW(birth);
	GROW(flags);
#undef GROW
	objects->capacity = capacity;
	return NULL;
}

struct heap_error *objects_add(struct objects *objects, uint64_t block, uint64_t extent,
			       uint64_t site)
{
	if (objects->count == objects->capacity)
		HEAP_TRY(grow(objects));
	objects->address[objects->count] = block;
	objects->birth[objects->count] = (uint16_t)heapsnap_extent_birth(extent);
	objects->flags[objects->count] = (uint8_t)heapsnap_extent_flags(extent);
	objects->all_flags |= objects->flags[objects->count];
	return object_kinds_find(&objects->kinds, site, heapsnap_extent_size(extent),
				 &objects->kind[objects->count++]);
}

struct heap_error *objects_init(struct objects *objects)
{
	*objects = (struct objects){ 0 };
	return grow(objects);
}

HEAP_MUST_CHECK
static struct heap_error *index_range(struct objects *objects, struct object_range *range)
{
	if (range->count == 0 || (range->end - range->start) / range->count > SPARSE_BYTES)
		return NULL;

	size_t words = (range->end - range->start) / (GRANULE * GRANULES_PER_WORD) + 1;
	uint32_t before = 0;

	range->starts = calloc(words, sizeof(*range->starts));
	if (!range->starts)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < range->count; i++) {
		uint64_t granule = (objects->address[range->first + i] - range->start) / GRANULE;
		uint64_t bit = UINT64_C(1) << granule % GRANULES_PER_WORD;
		uint64_t *bits = &range->starts[granule / GRANULES_PER_WORD].bits;

		if (*bits & bit) {
			// Pieces of 8 bytes: they have to be searched for.
			free(range->starts);
			range->starts = NULL;
			return NULL;
		}
		*bits |= bit;
	}
	for (size_t i = 0; i < words; i++) {
		range->starts[i].before = before;
		before += (uint32_t)__builtin_popcountll(range->starts[i].bits);
	}
	return NULL;
}

struct heap_error *objects_add_range(struct objects *objects, const struct object_range *range)
{
	HEAP_TRY(heap_reserve(objects->ranges, objects->range_capacity, objects->range_count + 1));
	objects->ranges[objects->range_count] = *range;
	return index_range(objects, &objects->ranges[objects->range_count++]);
}

uint32_t objects_first_after(const struct objects *objects, const struct object_range *range,
			     uint64_t address)
{
	return heap_partition_point(i, range->first, range->first + range->count,
				    objects->address[i] <= address);
}

void objects_deinit(struct objects *objects)
{
	for (size_t i = 0; i < objects->range_count; i++)
		free(objects->ranges[i].starts);
	free(objects->ranges);
	free(objects->damages);
	free(objects->address);
	free(objects->kind);
	object_kinds_deinit(&objects->kinds);
	free(objects->birth);
	free(objects->flags);
}

heap_object_id objects_search(const struct objects *objects, const struct object_range *range,
			      uint64_t address)
{
	uint32_t after = objects_first_after(objects, range, address);

	if (after == range->first)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - objects->address[after - 1];

	return offset < objects_size(objects, after - 1) || offset == 0 ? after - 1
									: HEAP_NO_OBJECT;
}
