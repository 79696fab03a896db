// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/dead_words.h"

#include "dumper/writer/scan/page_cache.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 24, // of members in members
	PAGES = 64,
	WORD = 8,
	STRING_SIZE = 32,
	STRING_BUFFER = 16, // offset
};

enum answer {
	NOT_ASKED,
	HAS_STRING,
	HAS_NONE,
};

struct removal {
	const struct capture *capture;
	const struct heap_types *types;
	struct pages *pages;
	uint8_t *has_string; // [types->count] enum answer
};

static bool is_string(const struct heap_types *types, const struct heap_type *type)
{
	static const char name[] = "std::__cxx11::basic_string<char,";

	return type->size == STRING_SIZE && heap_types_has_members(type) &&
	       strncmp(heap_types_string(types, type->name), name, strlen(name)) == 0;
}

// True if there may be a string in a value of a type.
static bool has_string(struct removal *removal, heap_type_id id, int depth)
{
	const struct heap_types *types = removal->types;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];
	bool found = is_string(types, type);

	if (removal->has_string[id] != NOT_ASKED || depth == MAX_DEPTH)
		return removal->has_string[id] == HAS_STRING;
	if (type->kind == HEAP_TYPE_ARRAY)
		found = has_string(removal, type->target, depth + 1);
	for (uint32_t i = 0; !found && heap_types_has_members(type) && i < type->members; i++)
		found = has_string(removal, types->members[type->first_member + i].type, depth + 1);
	removal->has_string[id] = found ? HAS_STRING : HAS_NONE;
	return found;
}

// Where the string begins, in a value of a type, that an offset lies in; UINT64_MAX: in none.
static uint64_t find_string(struct removal *removal, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = removal->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH || !has_string(removal, id, 0))
		return UINT64_MAX;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);
		uint64_t rest = size ? offset % size : offset;
		uint64_t found = find_string(removal, type->target, rest, depth + 1);

		return found == UINT64_MAX ? found : offset - rest + found;
	}
	if (is_string(types, type))
		return offset < STRING_SIZE ? 0 : UINT64_MAX;
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t size = heap_types_size(types, member->type), found;

		if (offset < member->offset || (size > 0 && offset - member->offset >= size))
			continue;
		found = find_string(removal, member->type, offset - member->offset, depth + 1);
		if (found != UINT64_MAX)
			return member->offset + found;
	}
	return UINT64_MAX;
}

// True if there is a string at an address: what its words say agrees.
static bool is_sound(const struct removal *removal, uint64_t address)
{
	const struct objects *objects = &removal->capture->objects;
	uint64_t words[STRING_SIZE / WORD] = { 0 };
	heap_object_id text;

	pages_read(removal->pages, address, words, sizeof(words));
	if (words[0] == address + STRING_BUFFER)
		return words[1] < STRING_SIZE - STRING_BUFFER;
	text = objects_find(objects, words[0]);
	return text != HEAP_NO_OBJECT && objects->address[text] == words[0] &&
	       words[1] <= words[2] && words[2] < objects_size(objects, text);
}

// True if a pointer lies in a string's own buffer, which holds text or nothing.
static bool is_dead(struct removal *removal, heap_type_id type, uint64_t address, uint64_t offset)
{
	uint64_t size = heap_types_size(removal->types, type), found;

	if (address == 0 || type == HEAP_NO_TYPE || !has_string(removal, type, 0))
		return false;
	found = find_string(removal, type, offset, 0);
	// An object may be several of its type.
	if (found == UINT64_MAX && size > 0 && offset >= size) {
		found = find_string(removal, type, offset % size, 0);
		found = found == UINT64_MAX ? found : offset - offset % size + found;
	}
	return found != UINT64_MAX && offset - found >= STRING_BUFFER &&
	       is_sound(removal, address + found);
}

static void remove_from_objects(struct removal *removal, struct heap_snapshot *snapshot)
{
	const struct objects *objects = &removal->capture->objects;
	uint32_t kept = 0, edge = 0;

	for (heap_object_id object = 0; object < objects->count; object++) {
		heap_type_id type = snapshot->type[object];
		uint32_t end = snapshot->edge_first[object + 1];

		snapshot->edge_first[object] = kept;
		for (; edge < end; edge++) {
			if (!(snapshot->edge_flags[edge] & HEAP_EDGE_TYPED) &&
			    is_dead(removal, type, objects->address[object],
				    snapshot->edge_slot[edge] * (uint64_t)WORD))
				continue;
			snapshot->edge_target[kept] = snapshot->edge_target[edge];
			snapshot->edge_slot[kept] = snapshot->edge_slot[edge];
			snapshot->edge_interior[kept] = snapshot->edge_interior[edge];
			snapshot->edge_flags[kept++] = snapshot->edge_flags[edge];
		}
	}
	snapshot->edge_first[objects->count] = kept;
	snapshot->edge_count = kept;
}

static void remove_from_roots(struct removal *removal, struct heap_snapshot *snapshot)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		struct heap_root_edge edge = snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge.root];

		if ((edge.flags & HEAP_EDGE_TYPED) ||
		    !is_dead(removal, root->type, root->address, edge.offset))
			snapshot->root_edges[kept++] = edge;
	}
	snapshot->root_edge_count = kept;
}

struct heap_error *dead_words_remove(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	CLEANUP_FREE uint8_t *answers = calloc((size_t)snapshot->types.count + 1, sizeof(*answers));
	struct removal removal = {
		.capture = capture,
		.types = &snapshot->types,
		.pages = answers ? pages_create(&capture->image, PAGES) : NULL,
		.has_string = answers,
	};

	if (!removal.pages)
		return heap_error_out_of_memory();
	remove_from_objects(&removal, snapshot);
	remove_from_roots(&removal, snapshot);
	pages_destroy(removal.pages);
	return NULL;
}
