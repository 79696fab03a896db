// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/library_value_types.h"

#include "dumper/writer/infer/base_types.h"
#include "dumper/writer/infer/symbols/library_types.h"
#include "lib/base/cleanup.h"

#include <string.h>

enum {
	WORD = 8,
};

static const char *const names[LIBRARY_VALUES] = {
	[LIBRARY_HASH] = "hash table",    [LIBRARY_TREE] = "tree",
	[LIBRARY_STRING] = "std::string", [LIBRARY_LIST] = "list",
	[LIBRARY_VECTOR] = "vector",      [LIBRARY_SHARED] = "std::shared_ptr",
};

const char *library_value_name(enum library_value value)
{
	return names[value];
}

static void library_deinit(struct library_types **library)
{
	library_types_destroy(*library);
}

HEAP_MUST_CHECK
static struct heap_error *find_string(const struct library_values *values, struct heap_types *types,
				      heap_type_id *result)
{
	const char *name = values->is_libcxx
				   ? "std::__1::basic_string<char, std::__1::char_traits<char>, "
				     "std::__1::allocator<char> >"
				   : "std::__cxx11::basic_string<char, std::char_traits<char>, "
				     "std::allocator<char> >";
	CLEANUP(library_deinit) struct library_types *library = NULL;

	HEAP_TRY(library_types_create(types, &library));
	HEAP_TRY(library_types_find(library, name, strlen(name), result));
	return library_types_complete(library);
}

// Adds a struct of a value's words, whose elements are not known.
HEAP_MUST_CHECK
static struct heap_error *add_struct(const struct library_values *values, struct heap_types *types,
				     enum library_value value, heap_type_id *result)
{
	const char *const *members = library_values_members(values, value);
	uint32_t count = (uint32_t)library_values_words(values, value);
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT,
				  .size = count * (uint64_t)WORD,
				  .members = count };
	heap_type_id number, pointer;

	HEAP_TRY(base_types_find_long(types, &number));
	HEAP_TRY(heap_types_add(
		types, &(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = WORD }, &pointer));
	type.first_member = types->member_count;
	for (uint32_t i = 0; i < count; i++) {
		bool is_pointer = *members[i] == '*';
		struct heap_member member = { .type = is_pointer ? pointer : number,
					      .offset = i * (uint64_t)WORD };

		HEAP_TRY(heap_types_add_string(types, members[i] + is_pointer, &member.name));
		HEAP_TRY(heap_types_add_member(types, &member));
	}
	HEAP_TRY(heap_types_add_string(types, names[value], &type.name));
	return heap_types_add(types, &type, result);
}

// Finds a struct that has been added before. The program may have types of the same name.
static heap_type_id find_struct(const struct library_values *values, const struct heap_types *types,
				enum library_value value)
{
	const char *const *members = library_values_members(values, value);
	uint64_t size = library_values_words(values, value) * WORD;

	for (heap_type_id id = types->count; id-- > 1;) {
		const struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_STRUCT && type->size == size && type->file == 0 &&
		    type->members > 0 &&
		    strcmp(heap_types_string(types, type->name), names[value]) == 0 &&
		    strcmp(heap_types_string(types, types->members[type->first_member].name),
			   members[0] + (*members[0] == '*')) == 0)
			return id;
	}
	return HEAP_NO_TYPE;
}

struct heap_error *library_value_types_find(const struct library_values *values,
					    struct heap_types *types, heap_type_id *ids)
{
	HEAP_TRY(find_string(values, types, &ids[LIBRARY_STRING]));
	for (int value = 0; value < LIBRARY_VALUES; value++) {
		if (value == LIBRARY_STRING)
			continue;
		ids[value] = find_struct(values, types, (enum library_value)value);
		if (ids[value] == HEAP_NO_TYPE)
			HEAP_TRY(add_struct(values, types, (enum library_value)value, &ids[value]));
	}
	return NULL;
}
