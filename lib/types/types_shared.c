// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/templates.h"
#include "lib/types/types.h"

#include <string.h>

enum {
	MAX_DEPTH = 6, // members around the value
};

// True if a name has the template's, behind std:: and the namespace of the library's version.
static bool is_shared_block(const char *name)
{
	static const char *const names[] = { "_Sp_counted_ptr_inplace<", "__shared_ptr_emplace<" };

	if (strncmp(name, "std::", strlen("std::")) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *found = strstr(name, names[i]);

		if (found && memchr(name, '<', (size_t)(found - name)) == NULL)
			return name[strlen(name) - 1] == '>'; // not a class inside it
	}
	return false;
}

// Drops "const" at either end of a name, as gcc, clang and symbols write it: the object's type has none.
static void drop_const(const char **name, size_t *length)
{
	static const char before[] = "const ", behind[] = " const";
	const size_t size = sizeof(before) - 1;

	if (*length > size && memcmp(*name, before, size) == 0) {
		*name += size;
		*length -= size;
	}
	if (*length > size && memcmp(*name + *length - size, behind, size) == 0)
		*length -= size;
}

struct search {
	const struct heap_types *types;
	const char *name; // [length]
	size_t length;
	uint64_t offset; // of what was found
};

// Finds the first member of the type with the wanted name, behind the counts, which are a base class.
static heap_type_id find_value(struct search *search, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	const char *name = heap_types_string(types, type->name);
	heap_type_id found = HEAP_NO_TYPE;

	if (offset > 0 && type->size > 0 && strlen(name) == search->length &&
	    memcmp(name, search->name, search->length) == 0) {
		search->offset = offset;
		return heap_types_strip(types, id);
	}
	if (!heap_types_has_members(type) || depth == MAX_DEPTH)
		return HEAP_NO_TYPE;
	for (uint32_t i = 0; i < type->members && found == HEAP_NO_TYPE; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (depth == 0 && (member->flags & HEAP_MEMBER_BASE))
			continue; // the counts, which are numbers like those of a make_shared<int>()
		found = find_value(search, member->type, offset + member->offset, depth + 1);
	}
	return found;
}

heap_type_id heap_types_shared(const struct heap_types *types, heap_type_id type, uint64_t *offset)
{
	const struct heap_type *block = &types->types[type];
	struct search search = { .types = types };
	heap_type_id found;

	if (!heap_types_has_members(block) || !block->name ||
	    !is_shared_block(heap_types_string(types, block->name)))
		return HEAP_NO_TYPE;
	search.name =
		heap_template_argument(heap_types_string(types, block->name), 0, &search.length);
	if (!search.name)
		return HEAP_NO_TYPE;
	drop_const(&search.name, &search.length);
	found = find_value(&search, type, 0, 0);
	if (found != HEAP_NO_TYPE && offset)
		*offset = search.offset;
	return found;
}
