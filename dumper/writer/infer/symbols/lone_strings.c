// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/lone_strings.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/base_types.h"
#include "dumper/writer/infer/symbols/library_value_types.h"
#include "dumper/writer/infer/symbols/shape_fields.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

enum {
	LEAST = 4, // blocks
	HALF = 2,
	FEW = 20,
	MAX_WORDS = 8, // of a string and what the allocator adds
	MAX_DEPTH = 16,
	WORD = 8,
};

struct search {
	struct capture *capture;
	struct shape_reader reader;
	heap_type_id string;
	struct HEAP_ARRAY(heap_object_id) found;
	uint64_t followed; // of these, blocks that have something behind the string
};

static void search_deinit(struct search *search)
{
	shape_reader_deinit(&search->reader);
	heap_array_deinit(&search->found);
}

static bool begins_with(const struct heap_types *types, heap_type_id id, heap_type_id part)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type;

		progress_step();
		id = heap_types_strip(types, id);
		type = &types->types[id];
		if (id == part)
			return true;
		if (!heap_types_has_members(type) || type->kind == HEAP_TYPE_UNION ||
		    type->members == 0 || types->members[type->first_member].offset != 0)
			return false;
		id = types->members[type->first_member].type;
	}
	return false;
}

// True if a struct that is larger than a string, and that a block of the same size may be, begins with one.
static bool has_rival(const struct heap_types *types, heap_type_id string, uint64_t size)
{
	uint64_t least = types->types[string].size;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		progress_step();
		if (type->size > least && type->size <= size && heap_types_has_members(type) &&
		    begins_with(types, id, string))
			return true;
	}
	return false;
}

// True for a block without a type that has room for a string alone, and has one.
static bool is_string(const struct search *search, heap_object_id object, uint64_t words[MAX_WORDS])
{
	const struct capture *capture = search->capture;
	uint64_t address = objects_address(&capture->objects, object);
	uint64_t size = objects_size(&capture->objects, object);
	uint64_t least = capture->snapshot.types.types[search->string].size;

	progress_step();
	if (names_of(&capture->names, object)->evidence != HEAP_EVIDENCE_NONE || size < least ||
	    size - least > heap_block_slack(capture->block_sizes, size) || size > MAX_WORDS * WORD)
		return false;
	pages_read(search->reader.pages, address, words, size);
	return library_values_check(&search->reader.values, LIBRARY_STRING, words, address) ==
	       LIBRARY_PROVEN;
}

HEAP_MUST_CHECK
static struct heap_error *find_strings(struct search *search, uint64_t *largest)
{
	const struct objects *objects = &search->capture->objects;
	uint64_t width = search->capture->snapshot.types.types[search->string].size / WORD;

	for (heap_object_id i = 0; i < objects->count && !progress_is_late(); i++) {
		uint64_t words[MAX_WORDS] = { 0 }, size = objects_size(objects, i);

		if (!is_string(search, i, words))
			continue;
		HEAP_TRY(heap_array_append(&search->found, i));
		*largest = size > *largest ? size : *largest;
		search->followed += width < MAX_WORDS && words[width] != 0;
	}
	return NULL;
}

// True if the blocks may be structs that begin with a string: what is behind it is not zero. The allocator leaves old
// data there, too.
static bool are_structs(const struct search *search, uint64_t size)
{
	int share = has_rival(&search->capture->snapshot.types, search->string, size) ? FEW : HALF;

	return search->followed * share > search->found.count;
}

struct heap_error *lone_strings_name(struct capture *capture)
{
	struct cxx_libraries libraries = library_values_libraries(&capture->modules);
	CLEANUP(search_deinit) struct search search = { .capture = capture };
	heap_type_id character, ids[LIBRARY_VALUES];
	uint64_t largest = 0;

	if (capture->block_sizes == HEAP_BLOCK_SIZES_EXACT ||
	    (!libraries.has_stdcxx && !libraries.has_libcxx))
		return NULL;
	HEAP_TRY(base_types_find_char(&capture->snapshot.types, &character));
	HEAP_TRY(shape_reader_init(&search.reader, capture, character));
	HEAP_TRY(library_value_types_find(&search.reader.values, &capture->snapshot.types, ids));
	search.string = ids[LIBRARY_STRING];
	HEAP_TRY(find_strings(&search, &largest));
	if (search.found.count < LEAST || are_structs(&search, largest))
		return NULL;
	for (size_t i = 0; i < search.found.count; i++)
		HEAP_TRY(names_set(&capture->names, search.found.items[i], search.string, 1,
				   HEAP_EVIDENCE_SHAPE));
	return NULL;
}
