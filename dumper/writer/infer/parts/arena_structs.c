// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/arena_structs.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

enum {
	LEAST_BYTES = 128, // of an array; a smaller one is no storage
	ALIGNMENT = 16,    // of the first chunk in the array
	MAX_SLACK = 16,    // usable bytes behind the struct, where requested sizes are unknown
};

// A struct with an array of bytes behind other members.
struct storage {
	heap_type_id type;
	uint64_t size;
	uint64_t start, end; // of the array
};

struct storages HEAP_ARRAY(struct storage);

static bool is_bytes(const struct heap_types *types, heap_type_id type)
{
	const struct heap_type *array = &types->types[heap_types_strip(types, type)];
	const struct heap_type *element = &types->types[heap_types_strip(types, array->target)];

	return array->kind == HEAP_TYPE_ARRAY && array->count >= LEAST_BYTES &&
	       element->kind == HEAP_TYPE_BASE && element->size == 1;
}

HEAP_MUST_CHECK
static struct heap_error *list_storages(const struct heap_types *types, struct storages *storages)
{
	for (heap_type_id i = 1; i < types->count; i++) {
		const struct heap_type *type = &types->types[i];

		progress_step();
		if (!heap_types_has_members(type))
			continue;
		for (uint32_t j = 0; j < type->members; j++) {
			const struct heap_member *member = &types->members[type->first_member + j];
			uint64_t end = member->offset + heap_types_size(types, member->type);

			if (member->offset > 0 && is_bytes(types, member->type))
				HEAP_TRY(heap_array_append(
					storages,
					((struct storage){ i, type->size, member->offset, end })));
		}
	}
	return NULL;
}

static bool has_chunks(const struct storage *storage, const struct arena *arena)
{
	return arena->start >= storage->start && arena->start - storage->start < ALIGNMENT &&
	       arena->end <= storage->end;
}

// The only struct that an arena may be, or HEAP_NO_TYPE.
static heap_type_id find_struct(const struct storages *storages, const struct arena *arena,
				uint64_t size, uint64_t slack)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (size_t i = 0; i < storages->count; i++) {
		const struct storage *storage = &storages->items[i];

		if (storage->size > size || size - storage->size > slack ||
		    !has_chunks(storage, arena))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = storage->type;
	}
	progress_steps((uint32_t)storages->count);
	return found;
}

struct heap_error *arena_structs_find(struct arenas *arenas, const struct objects *objects,
				      const struct heap_types *types, bool sizes_are_exact)
{
	CLEANUP_ARRAY struct storages storages = { 0 };

	HEAP_TRY(list_storages(types, &storages));
	for (uint32_t i = 0; i < arenas->count; i++) {
		struct arena *arena = &arenas->list[i];

		arena->type = find_struct(&storages, arena, objects_size(objects, arena->object),
					  sizes_are_exact ? 0 : MAX_SLACK);
	}
	return NULL;
}
