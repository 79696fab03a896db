// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/member_path.h"

#include "lib/types/virtual_bases.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 24,   // classes and unnamed members inside each other
	MAX_VISITS = 512, // classes visited for one name
};

static const struct heap_type *stripped(const struct heap_types *types, heap_type_id type)
{
	return &types->types[heap_types_strip(types, type)];
}

// --- names -------------------------------------------------------------------

// What becomes of the virtual bases of a class that has no place for them.
enum virtual_bases {
	VIRTUAL_BASES_LEFT_OUT,
	VIRTUAL_BASES_OF_OBJECT, // they are where an object has them that is no base itself
	VIRTUAL_BASES_ANYWHERE,  // searched, without an offset
};

struct search {
	const struct heap_types *types;
	const char *name;
	size_t length;
	enum virtual_bases virtual_bases;
	unsigned visits;
};

static bool is_named(const struct search *search, const struct heap_member *member)
{
	const char *name = heap_types_string(search->types, member->name);

	return !(member->flags & HEAP_MEMBER_BASE) &&
	       strncmp(name, search->name, search->length) == 0 && name[search->length] == '\0';
}

static bool is_transparent(const struct search *search, const struct heap_member *member)
{
	return (search->virtual_bases == VIRTUAL_BASES_ANYWHERE ||
		!(member->flags & HEAP_MEMBER_VIRTUAL_BASE)) &&
	       ((member->flags & HEAP_MEMBER_BASE) || member->name == 0);
}

// Moves @p place to the member. A class's own members hide those of its bases.
static bool find_member(struct search *search, int depth, struct heap_member_place *place)
{
	const struct heap_type *type = stripped(search->types, place->type);
	const struct heap_member *members = search->types->members + type->first_member;

	if (!heap_types_has_members(type) || depth > MAX_DEPTH || search->visits++ > MAX_VISITS)
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		if (!is_named(search, &members[i]))
			continue;

		bool is_bits = members[i].flags & HEAP_MEMBER_BIT_FIELD;

		place->type = members[i].type;
		place->offset += members[i].offset;
		place->bit_offset = is_bits ? members[i].bit_offset : 0;
		place->bit_size = is_bits ? members[i].bit_size : 0;
		return true;
	}
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_member_place inside = { members[i].type,
						    place->offset + members[i].offset, 0, 0 };

		if (is_transparent(search, &members[i]) &&
		    find_member(search, depth + 1, &inside)) {
			*place = inside;
			return true;
		}
	}
	return false;
}

// --- indices -----------------------------------------------------------------

// Parses "[12]". @return the rest of the text, or NULL
static const char *parse_index(const char *text, uint64_t *result)
{
	char *end;

	if (*text != '[' || !isdigit((unsigned char)text[1]))
		return NULL;
	errno = 0;
	*result = strtoull(text + 1, &end, 10);
	return errno == 0 && *end == ']' ? end + 1 : NULL;
}

// Moves @p place to an element of an array. @param in_a_row  without an array type, values follow each
// other there, too
static bool find_element(const struct heap_types *types, uint64_t index, bool in_a_row,
			 struct heap_member_place *place)
{
	const struct heap_type *type = stripped(types, place->type);
	bool is_array = type->kind == HEAP_TYPE_ARRAY;
	heap_type_id element = is_array ? type->target : place->type;
	uint64_t size = heap_types_size(types, element), offset;

	if (!is_array && !in_a_row)
		return false;
	if (is_array && !(type->flags & HEAP_TYPE_FLEXIBLE) && index >= type->count)
		return false;
	if (size == 0 || __builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(place->offset, offset, &place->offset))
		return false;
	place->type = element;
	place->bit_size = 0;
	return true;
}

// The same in a virtual base of an object of its own.
static bool find_in_virtual_base(struct search *search, struct heap_member_place *place)
{
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];
	size_t count = search->virtual_bases == VIRTUAL_BASES_OF_OBJECT
			       ? heap_virtual_bases_find(search->types, place->type, bases)
			       : 0;

	for (size_t i = 0; i < count; i++) {
		struct heap_member_place inside = { bases[i].type, place->offset + bases[i].offset,
						    0, 0 };

		search->visits = 0;
		if (find_member(search, 0, &inside)) {
			*place = inside;
			return true;
		}
	}
	return false;
}

// Moves @p place to the member that `at` begins with. The name may contain dots, as that of a pointer
// to a vtable does; the shortest one counts. @return the rest of the path, or NULL
static const char *follow_name(struct search *search, const char *at,
			       struct heap_member_place *place)
{
	search->name = at;
	search->length = strcspn(at, ".[");
	while (search->length > 0) {
		const char *end = at + search->length;

		search->visits = 0;
		if (find_member(search, 0, place) || find_in_virtual_base(search, place))
			return end;
		if (*end != '.')
			break;
		search->length += 1 + strcspn(end + 1, ".[");
	}
	return NULL;
}

static bool find_path(const struct heap_types *types, heap_type_id type, const char *path,
		      enum virtual_bases virtual_bases, struct heap_member_place *result)
{
	struct heap_member_place place = { .type = type };
	struct search search = { .types = types, .virtual_bases = virtual_bases };

	if (type == HEAP_NO_TYPE || type >= types->count)
		return false;
	for (const char *at = path; at && *at;) {
		uint64_t index;
		const char *rest = parse_index(at, &index);

		if (rest && !find_element(types, index, at == path, &place))
			return false;
		if (!rest)
			rest = follow_name(&search, at + (*at == '.'), &place);
		if (!rest)
			return false;
		at = rest;
	}
	*result = place;
	return true;
}

bool heap_member_find(const struct heap_types *types, heap_type_id type, const char *path,
		      struct heap_member_place *result)
{
	uint64_t before;

	if (find_path(types, type, path, VIRTUAL_BASES_OF_OBJECT, result))
		return true;
	if (type == HEAP_NO_TYPE || type >= types->count)
		return false;
	type = heap_types_shared(types, heap_types_strip(types, type), &before);
	if (type == HEAP_NO_TYPE || !find_path(types, type, path, VIRTUAL_BASES_OF_OBJECT, result))
		return false;
	result->offset += before;
	return true;
}

bool heap_member_is_virtual(const struct heap_types *types, heap_type_id type, const char *path)
{
	struct heap_member_place place;

	return !find_path(types, type, path, VIRTUAL_BASES_LEFT_OUT, &place) &&
	       find_path(types, type, path, VIRTUAL_BASES_ANYWHERE, &place);
}
