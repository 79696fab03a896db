// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include "lib/base/array.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	// Typedefs and qualifiers in a chain; more is damage.
	CHAIN_MAX = 256,
};

// --- growth --------------------------------------------------------------------------------

struct heap_error *heap_types_grow(void *array, uint32_t count, uint32_t more, uint32_t *capacity,
				   size_t size)
{
	size_t room = *capacity, wanted = (size_t)count + more;

	if (wanted <= room)
		return NULL;
	HEAP_TRY(heap_array_grow(array, &room, wanted, size, UINT32_MAX));
	*capacity = (uint32_t)room;
	return NULL;
}

struct heap_error *heap_types_init(struct heap_types *result)
{
	struct heap_types types = { 0 };

	HEAP_TRY(heap_reserve(types.types, types.type_capacity, 1));

	struct heap_error *error = heap_reserve(types.strings, types.string_capacity, 1);

	if (error) {
		free(types.types);
		return error;
	}
	types.types[0] = (struct heap_type){ .kind = HEAP_TYPE_UNKNOWN };
	types.count = 1;
	types.strings[0] = '\0';
	types.string_size = 1;
	*result = types;
	return NULL;
}

void heap_types_deinit(struct heap_types *types)
{
	heap_types_drop_index(types);
	free(types->types);
	free(types->members);
	free(types->enumerators);
	free(types->strings);
	free(types->aliases);
	*types = (struct heap_types){ 0 };
}

struct heap_error *heap_types_add(struct heap_types *types, const struct heap_type *type,
				  heap_type_id *result)
{
	struct heap_type copy = *type; // it may be an element of the array that grows

	HEAP_TRY(heap_reserve(types->types, types->type_capacity, (size_t)types->count + 1));
	types->types[types->count] = copy;
	*result = types->count++;
	return NULL;
}

struct heap_error *heap_types_add_member(struct heap_types *types, const struct heap_member *member)
{
	struct heap_member copy = *member;

	HEAP_TRY(heap_reserve(types->members, types->member_capacity,
			      (size_t)types->member_count + 1));
	types->members[types->member_count++] = copy;
	return NULL;
}

struct heap_error *heap_types_add_enumerator(struct heap_types *types,
					     const struct heap_enumerator *enumerator)
{
	struct heap_enumerator copy = *enumerator;

	HEAP_TRY(heap_reserve(types->enumerators, types->enumerator_capacity,
			      (size_t)types->enumerator_count + 1));
	types->enumerators[types->enumerator_count++] = copy;
	return NULL;
}

// --- index and strings ---------------------------------------------------------------------

struct heap_error *heap_types_make_index(struct heap_types *types)
{
	if (types->index)
		return NULL;
	types->index = calloc(1, sizeof(*types->index));
	if (!types->index)
		return heap_error_out_of_memory();
	types->index->strings_end = types->index->types_end = 1;
	return NULL;
}

void heap_types_drop_index(struct heap_types *types)
{
	struct heap_types_index *index = types->index;

	if (!index)
		return;
	heap_hash_table_deinit(&index->strings);
	heap_hash_table_deinit(&index->layouts);
	heap_hash_table_deinit(&index->names);
	free(index->entries);
	free(index);
	types->index = NULL;
}

static uint32_t find_string(const struct heap_types *types, uint64_t hash, const char *string)
{
	return heap_hash_find(&types->index->strings, hash, offset,
			      strcmp(heap_types_string(types, offset), string) == 0);
}

// Indexes strings that came with the table, such as those of a file.
HEAP_MUST_CHECK
static struct heap_error *index_strings(struct heap_types *types)
{
	HEAP_TRY(heap_types_make_index(types));
	while (types->index->strings_end < types->string_size) {
		uint32_t offset = types->index->strings_end;
		const char *string = heap_types_string(types, offset);
		size_t length = strlen(string);
		uint64_t hash = heap_hash_bytes(HEAP_HASH_START, string, length);

		if (length > 0 && find_string(types, hash, string) == HEAP_HASH_NONE)
			HEAP_TRY(heap_hash_add(&types->index->strings, hash, offset));
		types->index->strings_end += length + 1;
	}
	return NULL;
}

struct heap_error *heap_types_add_string(struct heap_types *types, const char *string,
					 uint32_t *result)
{
	size_t length = strlen(string);
	uint64_t hash = heap_hash_bytes(HEAP_HASH_START, string, length);
	uint32_t found;

	HEAP_TRY(index_strings(types));
	if (length == 0) {
		*result = 0;
		return NULL;
	}
	found = find_string(types, hash, string);
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(heap_reserve(types->strings, types->string_capacity,
				      types->string_size + length + 1));
		found = types->string_size;
		HEAP_TRY(heap_hash_add(&types->index->strings, hash, found));
		memcpy(types->strings + found, string, length + 1);
		types->string_size += length + 1;
		types->index->strings_end = types->string_size;
	}
	*result = found;
	return NULL;
}

// --- typedefs and sizes -----------------------------------------------------------------------

heap_type_id heap_types_strip(const struct heap_types *types, heap_type_id type)
{
	for (int i = 0; i < CHAIN_MAX && type < types->count; i++) {
		switch (types->types[type].kind) {
		case HEAP_TYPE_TYPEDEF:
		case HEAP_TYPE_CONST:
		case HEAP_TYPE_VOLATILE:
		case HEAP_TYPE_ATOMIC:
			type = types->types[type].target;
			break;
		default:
			return type;
		}
	}
	return HEAP_NO_TYPE;
}

bool heap_types_is_pointer(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE;
}

bool heap_types_leads_to(const struct heap_types *types, heap_type_id pointer, heap_type_id target)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, pointer)];

	return type->kind == HEAP_TYPE_POINTER && heap_types_strip(types, type->target) == target;
}

heap_type_id heap_types_pointee(const struct heap_types *types, heap_type_id type)
{
	return heap_types_is_pointer(types, type)
		       ? types->types[heap_types_strip(types, type)].target
		       : HEAP_NO_TYPE;
}

uint64_t heap_types_size(const struct heap_types *types, heap_type_id type)
{
	uint64_t count = 1, size;

	for (int i = 0; i < CHAIN_MAX; i++) {
		const struct heap_type *stripped = &types->types[heap_types_strip(types, type)];

		if (stripped->kind != HEAP_TYPE_ARRAY || stripped->size)
			return __builtin_mul_overflow(count, stripped->size, &size) ? 0 : size;
		if (__builtin_mul_overflow(count, stripped->count, &count))
			return 0;
		type = stripped->target;
	}
	return 0;
}

// --- declarations --------------------------------------------------------------------------

static int kind_for_name(uint8_t kind)
{
	return kind == HEAP_TYPE_CLASS ? HEAP_TYPE_STRUCT : kind;
}

static bool have_same_name(const struct heap_type *left, const struct heap_type *right)
{
	return left->name == right->name && kind_for_name(left->kind) == kind_for_name(right->kind);
}

// Finds the definition of each declaration, by its id; 0 if it has none, or several.
HEAP_MUST_CHECK
static struct heap_error *find_definitions(const struct heap_types *types, heap_type_id *result)
{
	CLEANUP_HASH_TABLE struct heap_hash_table definitions = { 0 };
	CLEANUP_FREE bool *several = calloc(types->count, sizeof(*several));

	if (!several)
		return heap_error_out_of_memory();
	for (int pass = 0; pass < 2; pass++) {
		for (heap_type_id id = 1; id < types->count; id++) {
			const struct heap_type *type = &types->types[id];
			bool declared = type->flags & HEAP_TYPE_DECLARATION;

			if (!heap_types_is_named(type) || declared != (pass == 1))
				continue;

			uint64_t hash = heap_hash_pair(kind_for_name(type->kind), type->name);
			uint32_t first = heap_hash_find(&definitions, hash, i,
							have_same_name(&types->types[i], type));

			if (declared)
				result[id] = first == HEAP_HASH_NONE || several[first] ? 0 : first;
			else if (first != HEAP_HASH_NONE)
				several[first] = true;
			else
				HEAP_TRY(heap_hash_add(&definitions, hash, id));
		}
	}
	return NULL;
}

// Points what refers to a declaration to its definition.
static void replace_references(struct heap_types *types, const heap_type_id *definitions)
{
	for (uint32_t i = 1; i < types->count; i++)
		if (definitions[types->types[i].target])
			types->types[i].target = definitions[types->types[i].target];
	for (uint32_t i = 0; i < types->member_count; i++)
		if (definitions[types->members[i].type])
			types->members[i].type = definitions[types->members[i].type];
	if (!types->index)
		return;
	// Types that are hashed by their target have other hashes now.
	heap_hash_table_deinit(&types->index->layouts);
	heap_hash_table_deinit(&types->index->names);
	types->index->types_end = 1;
}

void heap_types_resolve(struct heap_types *types)
{
	CLEANUP_FREE heap_type_id *definitions = calloc(types->count, sizeof(*definitions));
	struct heap_error *error =
		definitions ? find_definitions(types, definitions) : heap_error_out_of_memory();

	// If memory is short, declarations stay declarations, which is still true.
	if (!error)
		replace_references(types, definitions);
	heap_error_destroy(error);
}
