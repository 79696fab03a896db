// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/union_casts.h"

#include "dumper/writer/base/progress.h"

enum {
	MAX_DEPTH = 8,     // of members in members
	MAX_MEMBERS = 256, // that are looked into for one pointer
};

struct search {
	const struct casts *casts;
	const struct layouts *layouts;
	uint32_t left; // members
	bool is_too_much;
	struct union_casts found;
};

static void add(struct search *search, heap_type_id type)
{
	struct union_casts *found = &search->found;
	uint32_t i = 0;

	while (i < found->count && found->types[i] != type)
		i++;
	if (i == UNION_CASTS)
		search->is_too_much = true;
	else if (i == found->count)
		found->types[found->count++] = type;
}

// Looks at the pointer at an offset of a type, as at that of each member which it is in.
static void search_type(struct search *search, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = search->layouts->types;
	heap_type_id stripped = layouts_strip(search->layouts, id);
	const struct heap_type *type = &types->types[stripped];
	size_t count;
	const struct cast *casts = casts_find(search->casts, stripped, offset, &count);

	// A member is no array of any pointers.
	if (depth == MAX_DEPTH || layouts_is_pointer(search->layouts, stripped))
		return;
	for (size_t i = 0; i < count; i++)
		add(search, casts[i].target);
	if (type->kind == HEAP_TYPE_ARRAY) {
		id = layouts_step_in(search->layouts, stripped, &offset);
		search_type(search, id, offset, depth + 1);
		return;
	}
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		progress_step();
		if (search->is_too_much || member->flags & HEAP_MEMBER_VIRTUAL_BASE ||
		    offset < member->offset ||
		    offset - member->offset >= heap_types_size(types, member->type))
			continue;
		search->is_too_much = search->left == 0;
		search->left -= !search->is_too_much;
		if (!search->is_too_much)
			search_type(search, member->type, offset - member->offset, depth + 1);
	}
}

struct union_casts union_casts_find(const struct casts *casts, const struct layouts *layouts,
				    heap_type_id type, uint64_t offset)
{
	struct search search = { .casts = casts, .layouts = layouts, .left = MAX_MEMBERS };

	search_type(&search, type, offset, 0);
	if (search.is_too_much)
		search.found.count = 0;
	return search.found;
}
