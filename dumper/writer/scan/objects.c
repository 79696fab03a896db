// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/objects.h"

#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/search.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	// Ranges with fewer blocks per byte than this are searched, not indexed.
	SPARSE_BYTES = 65536,
};

struct heap_error *objects_too_many(void)
{
	return heap_error_create(
		HEAP_ERROR_ARGUMENT,
		"more than %" PRIu32 " blocks are live, and a capture takes no more", OBJECTS_MOST);
}

// Not heap_reserve(): the columns grow together, by doubling.
HEAP_MUST_CHECK
static struct heap_error *grow(struct objects *objects)
{
	uint32_t capacity = objects->capacity ? objects->capacity * 2 : 65536;

	if (objects->capacity >= OBJECTS_MOST)
		return objects_too_many();

#define GROW(column) heap_column_resize(capacity * sizeof(*objects->column), &objects->column)

	HEAP_TRY(heap_column_resize(capacity / OBJECT_GROUP * sizeof(*objects->groups),
				    &objects->groups));
	HEAP_TRY(GROW(offset));
	if (objects->wide_kind)
		HEAP_TRY(GROW(wide_kind));
	else
		HEAP_TRY(GROW(kind));
	HEAP_TRY(GROW(flags));
#undef GROW
	objects->capacity = capacity;
	return NULL;
}

struct heap_error *objects_add(struct objects *objects, uint64_t block, uint64_t extent,
			       uint64_t site)
{
	uint16_t birth = (uint16_t)heapsnap_extent_birth(extent);
	uint8_t flags = (uint8_t)heapsnap_extent_flags(extent);
	uint32_t kind;

	if (objects->count == objects->capacity)
		HEAP_TRY(grow(objects));
	HEAP_TRY(objects_set_address(objects, objects->count, block));
	HEAP_TRY(births_add(&objects->births, objects->count, birth));
	// This column is zeros, whose pages take no memory until they are written to.
	if (flags != 0)
		objects->flags[objects->count] = flags;
	objects->all_flags |= flags;
	HEAP_TRY(object_kinds_find(&objects->kinds, site, heapsnap_extent_size(extent), &kind));
	return objects_set_kind(objects, objects->count++, kind);
}

// Makes the column of kinds one of 32 bits each.
HEAP_MUST_CHECK
static struct heap_error *widen_kinds(struct objects *objects)
{
	HEAP_TRY(heap_column_create(objects->capacity, sizeof(*objects->wide_kind),
				    &objects->wide_kind));
	for (heap_object_id i = 0; i < objects->count; i++)
		objects->wide_kind[i] = objects->kind[i];
	heap_column_destroy(objects->kind);
	objects->kind = NULL;
	return NULL;
}

struct heap_error *objects_set_wide_kind(struct objects *objects, heap_object_id object,
					 uint32_t kind)
{
	if (objects->kind)
		HEAP_TRY(widen_kinds(objects));
	objects->wide_kind[object] = kind;
	return NULL;
}

// From now on a group has 4 bytes for the address of each of its blocks.
HEAP_MUST_CHECK
static struct heap_error *widen_group(struct objects *objects, heap_object_id object)
{
	struct object_group *group = &objects->groups[object / OBJECT_GROUP];
	heap_object_id first = object - object % OBJECT_GROUP;

	HEAP_TRY(heap_array_reserve(&objects->wide, OBJECT_GROUP));
	for (heap_object_id i = 0; i < OBJECT_GROUP; i++)
		objects->wide.items[objects->wide.count++] =
			first + i < object ? (uint32_t)objects->offset[first + i] * OBJECT_UNIT : 0;
	group->wide = (uint32_t)(objects->wide.count / OBJECT_GROUP);
	return NULL;
}

// The offset of a block in a wide group; UINT32_MAX: it is in the list of those that are far.
static uint32_t *wide_offset(const struct objects *objects, heap_object_id object)
{
	const struct object_group *group = &objects->groups[object / OBJECT_GROUP];

	return &objects->wide
			.items[(group->wide - 1) * (size_t)OBJECT_GROUP + object % OBJECT_GROUP];
}

struct heap_error *objects_set_address(struct objects *objects, heap_object_id object,
				       uint64_t address)
{
	struct object_group *group = &objects->groups[object / OBJECT_GROUP];
	uint64_t offset;

	if (object % OBJECT_GROUP == 0)
		group->base = address;
	offset = address - group->base;
	if (!group->wide) {
		if (offset % OBJECT_UNIT == 0 && offset / OBJECT_UNIT <= UINT16_MAX) {
			objects->offset[object] = (uint16_t)(offset / OBJECT_UNIT);
			return NULL;
		}
		HEAP_TRY(widen_group(objects, object));
	}
	*wide_offset(objects, object) = offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX;
	return offset < UINT32_MAX
		       ? NULL
		       : heap_array_append(&objects->far, (struct far_object){ object, address });
}

uint64_t objects_wide_address(const struct objects *objects, heap_object_id object)
{
	const struct far_object *far = objects->far.items;
	uint32_t offset = *wide_offset(objects, object);

	if (offset != UINT32_MAX)
		return objects->groups[object / OBJECT_GROUP].base + offset;
	return far[heap_partition_point(i, 0, objects->far.count, far[i].object < object)].address;
}

void objects_remove_last(struct objects *objects)
{
	objects->count--;
	if (objects->far.count > 0 &&
	    objects->far.items[objects->far.count - 1].object == objects->count)
		objects->far.count--;
	objects->flags[objects->count] = 0;
}

struct heap_error *objects_init(struct objects *objects)
{
	*objects = (struct objects){ 0 };
	return grow(objects);
}

struct heap_error *objects_take(struct objects *objects, uint16_t *offset, uint32_t count)
{
	objects_deinit(objects);
	*objects = (struct objects){ .offset = offset, .count = count, .capacity = count };
	HEAP_TRY(heap_column_create(count / OBJECT_GROUP + 1, sizeof(*objects->groups),
				    &objects->groups));
	HEAP_TRY(heap_column_create(count, sizeof(*objects->kind), &objects->kind));
	return heap_column_create(count, sizeof(*objects->flags), &objects->flags);
}

HEAP_MUST_CHECK
static struct heap_error *index_range(struct objects *objects, struct object_range *range)
{
	if (range->count == 0 || (range->end - range->start) / range->count > SPARSE_BYTES)
		return NULL;

	size_t words = (range->end - range->start) / (GRANULE * GRANULES_PER_WORD) + 1;
	uint32_t before = 0;

	range->starts = calloc(words, sizeof(*range->starts));
	range->is_aligned = true;
	if (!range->starts)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < range->count; i++) {
		uint64_t offset = objects_address(objects, range->first + i) - range->start;
		uint64_t granule = offset / GRANULE;
		uint64_t bit = UINT64_C(1) << granule % GRANULES_PER_WORD;
		uint64_t *bits = &range->starts[granule / GRANULES_PER_WORD].bits;

		if (*bits & bit) {
			// Pieces of 8 bytes: they have to be searched for.
			free(range->starts);
			range->starts = NULL;
			return NULL;
		}
		*bits |= bit;
		range->is_aligned &= offset % GRANULE == 0;
	}
	for (size_t i = 0; i < words; i++) {
		range->starts[i].before = before;
		before += heap_bits_count(range->starts[i].bits);
	}
	return NULL;
}

struct heap_error *objects_add_range(struct objects *objects, const struct object_range *range)
{
	const int rest = 48 - OBJECTS_UPPER_BITS;

	for (uint64_t upper = objects_untag(range->start) >> rest;
	     upper <= objects_untag(range->end - 1) >> rest; upper++)
		objects->has_blocks[upper] = true;
	HEAP_TRY(heap_reserve(objects->ranges, objects->range_capacity, objects->range_count + 1));
	objects->ranges[objects->range_count] = *range;
	return index_range(objects, &objects->ranges[objects->range_count++]);
}

uint32_t objects_first_after(const struct objects *objects, const struct object_range *range,
			     uint64_t address)
{
	return heap_partition_point(i, range->first, range->first + range->count,
				    objects_address(objects, i) <= address);
}

void objects_deinit(struct objects *objects)
{
	for (size_t i = 0; i < objects->range_count; i++)
		free(objects->ranges[i].starts);
	free(objects->ranges);
	free(objects->damages);
	object_kinds_deinit(&objects->kinds);
	heap_array_deinit(&objects->far);
	heap_array_deinit(&objects->wide);
	heap_column_destroy(objects->groups);
	heap_column_destroy(objects->offset);
	heap_column_destroy(objects->kind);
	heap_column_destroy(objects->wide_kind);
	births_deinit(&objects->births);
	heap_column_destroy(objects->flags);
}

heap_object_id objects_search(const struct objects *objects, const struct object_range *range,
			      uint64_t address)
{
	uint32_t after = objects_first_after(objects, range, address);

	if (after == range->first)
		return HEAP_NO_OBJECT;

	uint64_t offset = address - objects_address(objects, after - 1);

	return offset < objects_size(objects, after - 1) || offset == 0 ? after - 1
									: HEAP_NO_OBJECT;
}
