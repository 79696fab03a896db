// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libheapgraph: types, fields and their values.
 */
#include "lib/base/cleanup.h"
#include "lib/api/heapgraph_private.h"

#include <string.h>

enum {
	READ_AT_ONCE = 4096, // bytes of an object; most are smaller
};

// --- types -------------------------------------------------------------------

// Ids that do not exist give type 0, which is unknown.
static const struct heap_type *find_type(const struct heapgraph *graph, heapgraph_type_id type)
{
	const struct heap_types *types = &graph->snapshot->types;

	return &types->types[type < types->count ? type : HEAP_NO_TYPE];
}

static heapgraph_type_id valid(const struct heapgraph *graph, heapgraph_type_id type)
{
	return type < graph->snapshot->types.count ? type : HEAP_NO_TYPE;
}

uint32_t heapgraph_type_count(const struct heapgraph *graph)
{
	return graph->snapshot->types.count - 1;
}

enum heapgraph_type_kind heapgraph_type_kind(const struct heapgraph *graph, heapgraph_type_id type)
{
	return (enum heapgraph_type_kind)find_type(graph, type)->kind;
}

size_t heapgraph_type_name(const struct heapgraph *graph, heapgraph_type_id type, char *buffer,
			   size_t size)
{
	return heap_types_format(&graph->snapshot->types, valid(graph, type), buffer, size);
}

uint64_t heapgraph_type_size(const struct heapgraph *graph, heapgraph_type_id type)
{
	return heap_types_size(&graph->snapshot->types, valid(graph, type));
}

heapgraph_type_id heapgraph_type_target(const struct heapgraph *graph, heapgraph_type_id type)
{
	return find_type(graph, type)->target;
}

uint64_t heapgraph_type_elements(const struct heapgraph *graph, heapgraph_type_id type)
{
	return find_type(graph, type)->count;
}

heapgraph_type_id heapgraph_type_strip(const struct heapgraph *graph, heapgraph_type_id type)
{
	return heap_types_strip(&graph->snapshot->types, valid(graph, type));
}

heapgraph_type_id heapgraph_type_find(const struct heapgraph *graph, const char *name,
				      heapgraph_type_id after)
{
	if (after >= graph->snapshot->types.count)
		return HEAPGRAPH_NO_TYPE;
	return heap_types_find(&graph->snapshot->types, name, after + 1);
}

// --- fields ------------------------------------------------------------------

uint32_t heapgraph_field_count(const struct heapgraph *graph, heapgraph_type_id type)
{
	const struct heap_type *bare = find_type(graph, heapgraph_type_strip(graph, type));

	return heap_types_has_members(bare) ? bare->members : 0;
}

bool heapgraph_field(const struct heapgraph *graph, heapgraph_type_id type, uint32_t index,
		     struct heapgraph_field *result)
{
	const struct heap_types *types = &graph->snapshot->types;
	const struct heap_type *bare = find_type(graph, heapgraph_type_strip(graph, type));

	if (index >= heapgraph_field_count(graph, type))
		return false;

	const struct heap_member *member = &types->members[bare->first_member + index];
	bool is_bits = member->flags & HEAP_MEMBER_BIT_FIELD;

	*result = (struct heapgraph_field){
		.name = heap_types_string(types, member->name),
		.type = member->type,
		.bit_size = is_bits ? member->bit_size : 0,
		.bit_offset = is_bits ? member->bit_offset : 0,
		.is_base = (member->flags & HEAP_MEMBER_BASE) != 0,
		.offset = member->offset,
	};
	return true;
}

bool heapgraph_field_find(const struct heapgraph *graph, heapgraph_type_id type, const char *path,
			  struct heapgraph_field *result)
{
	const struct heap_types *types = &graph->snapshot->types;
	struct heap_member_place place;

	if (!heap_member_find(types, valid(graph, type), path, &place))
		return false;
	*result = (struct heapgraph_field){
		.name = "",
		.type = place.type,
		.bit_size = place.bit_size,
		.bit_offset = place.bit_offset,
		.offset = place.offset,
	};
	return true;
}

// --- values ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_place(const struct heapgraph *graph, heapgraph_object_id object,
				     const char *path, struct heap_member_place *result)
{
	if (!heapgraph_has(graph, object, HEAPGRAPH_OBJECTS))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "no such object, or objects were not asked for");
	if (!heap_member_find(&graph->snapshot->types, graph->snapshot->type[object], path, result))
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: its type has no such field", path);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_scalar(struct heapgraph *graph, heapgraph_object_id object,
				      const char *path, struct heap_scalar *result)
{
	const struct heap_types *types = &graph->snapshot->types;
	struct heap_member_place place;

	HEAP_TRY(find_place(graph, object, path, &place));
	if (!heap_scalar_is(types, place.type))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a number", path);

	uint8_t few[READ_AT_ONCE] = { 0 };
	CLEANUP_FREE uint8_t *many = NULL;
	size_t kept, wanted = sizeof(few);

	// The field of a hostile file may be far away, but no more bytes are kept than the object has.
	if (place.offset + 16 > wanted && place.offset < graph->snapshot->size[object]) {
		wanted = graph->snapshot->size[object] < place.offset + 16
				 ? graph->snapshot->size[object]
				 : place.offset + 16;
		if (wanted > graph->snapshot->info.content_limit)
			wanted = graph->snapshot->info.content_limit;
		many = malloc(wanted);
		if (!many)
			return heap_error_out_of_memory();
	}
	HEAP_TRY(heap_snapshot_read_content(graph->snapshot, object, many ? many : few, wanted,
					    &kept));
	if (!heap_scalar_load(types, &place, many ? many : few, kept, result))
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: its bytes were not kept", path);
	return NULL;
}

struct heapgraph_error *heapgraph_field_integer(struct heapgraph *graph, heapgraph_object_id object,
						const char *path, int64_t *result)
{
	struct heap_scalar scalar;

	HEAPGRAPH_TRY(read_scalar(graph, object, path, &scalar));
	if (scalar.kind != HEAP_SCALAR_UNSIGNED && scalar.kind != HEAP_SCALAR_SIGNED)
		return heapgraph_public(
			heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not an integer", path));
	if (scalar.high !=
	    (scalar.kind == HEAP_SCALAR_SIGNED && scalar.number >> 63 ? UINT64_MAX : 0))
		return heapgraph_public(heap_error_create(HEAP_ERROR_ARGUMENT,
							  "%s: it has more than 64 bits", path));
	*result = (int64_t)scalar.number;
	return NULL;
}

struct heapgraph_error *heapgraph_field_real(struct heapgraph *graph, heapgraph_object_id object,
					     const char *path, double *result)
{
	struct heap_scalar scalar;

	HEAPGRAPH_TRY(read_scalar(graph, object, path, &scalar));
	if (scalar.kind >= HEAP_SCALAR_COMPLEX)
		return heapgraph_public(
			heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a number", path));
	*result = (double)scalar.real;
	return NULL;
}

static bool is_pointer(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE;
}

// @param edge  gets the pointer's edge, or UINT32_MAX
HEAP_MUST_CHECK
static struct heap_error *find_pointer(const struct heapgraph *graph, heapgraph_object_id object,
				       const char *path, uint32_t *edge)
{
	struct heap_member_place place;

	HEAP_TRY(find_place(graph, object, path, &place));
	if (!(graph->has & HEAPGRAPH_EDGES))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "edges were not asked for");
	if (!is_pointer(&graph->snapshot->types, place.type))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a pointer", path);
	if (place.offset >= graph->snapshot->size[object])
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: beyond the object's end", path);
	*edge = heap_edge_at(graph->snapshot, object, place.offset);
	return NULL;
}

struct heapgraph_error *heapgraph_field_object(struct heapgraph *graph, heapgraph_object_id object,
					       const char *path, heapgraph_object_id *result)
{
	uint32_t edge;

	HEAPGRAPH_TRY(find_pointer(graph, object, path, &edge));
	*result = edge == UINT32_MAX ? HEAPGRAPH_NO_OBJECT : graph->snapshot->edge_target[edge];
	return NULL;
}

// Reads a string at an offset of an object. @param room  bytes that it may have at most
HEAP_MUST_CHECK
static struct heap_error *read_string(struct heapgraph *graph, heapgraph_object_id object,
				      uint64_t offset, uint64_t room, char *buffer, size_t size,
				      size_t *length)
{
	struct heap_snapshot *snapshot = graph->snapshot;
	uint64_t kept_at_most = snapshot->size[object] < snapshot->info.content_limit
					? snapshot->size[object]
					: snapshot->info.content_limit;
	CLEANUP_FREE char *bytes = malloc(kept_at_most + 1);
	size_t kept;

	if (!bytes)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_read_content(snapshot, object, bytes, kept_at_most, &kept));
	if (offset >= kept)
		return heap_error_create(HEAP_ERROR_ABSENT, "the text was not kept");

	size_t found = strnlen(bytes + offset, kept - offset < room ? kept - offset : room);
	size_t shown = found < size ? found : size - 1;

	memcpy(buffer, bytes + offset, shown);
	buffer[shown] = '\0';
	if (length)
		*length = found;
	return NULL;
}

static bool is_character(const struct heap_types *types, heap_type_id type)
{
	const struct heap_type *bare = &types->types[heap_types_strip(types, type)];

	return (bare->flags & HEAP_TYPE_CHARACTER) && bare->size == 1;
}

HEAP_MUST_CHECK
static struct heap_error *find_string(struct heapgraph *graph, heapgraph_object_id object,
				      const char *path, char *buffer, size_t size, size_t *length)
{
	const struct heap_types *types = &graph->snapshot->types;
	struct heap_member_place place;

	if (size == 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "a buffer without room");
	HEAP_TRY(find_place(graph, object, path, &place));

	const struct heap_type *type = &types->types[heap_types_strip(types, place.type)];
	bool is_array = type->kind == HEAP_TYPE_ARRAY;
	uint32_t edge;

	// The path "" of an object that is a character stands for all its characters.
	if (is_character(types, place.type) && place.offset == 0)
		return read_string(graph, object, 0, UINT64_MAX, buffer, size, length);
	if (!(is_array || is_pointer(types, place.type)) || !is_character(types, type->target))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not characters", path);
	if (is_array)
		return read_string(graph, object, place.offset,
				   type->flags & HEAP_TYPE_FLEXIBLE ? UINT64_MAX : type->count,
				   buffer, size, length);
	HEAP_TRY(find_pointer(graph, object, path, &edge));
	if (edge == UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: no text in the heap", path);
	return read_string(graph, graph->snapshot->edge_target[edge],
			   graph->snapshot->edge_interior[edge], UINT64_MAX, buffer, size, length);
}

struct heapgraph_error *heapgraph_field_text(struct heapgraph *graph, heapgraph_object_id object,
					     const char *path, char *buffer, size_t size,
					     size_t *length)
{
	return heapgraph_public(find_string(graph, object, path, buffer, size, length));
}
