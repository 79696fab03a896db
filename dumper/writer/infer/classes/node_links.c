// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/node_links.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_BASES = 8,   // one behind the other
	MAX_MEMBERS = 8, // of a struct whose members nodes repeat
	MAX_HOOKS = 64,  // types visited in search of links
};

// --- links that nodes are derived from ------------------------------------------------

// True for a class without data: one that forbids copies may be derived from one that forbids assignments.
static bool is_empty(const struct heap_types *types, heap_type_id id)
{
	for (int i = 0; i < MAX_BASES && types->types[id].members == 1; i++) {
		const struct heap_member *member = &types->members[types->types[id].first_member];

		if (!(member->flags & HEAP_MEMBER_BASE))
			return false;
		id = heap_types_strip(types, member->type);
	}
	return types->types[id].members == 0;
}

// The base class at the start of a class, but for those without data; HEAP_NO_TYPE: it has none.
static heap_type_id first_base(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id base = heap_types_strip(types, member->type);

		if (!(member->flags & HEAP_MEMBER_BASE) ||
		    (member->flags & HEAP_MEMBER_VIRTUAL_BASE) || member->offset != 0)
			break;
		if (!is_empty(types, base))
			return base;
	}
	return HEAP_NO_TYPE;
}

bool node_links_lead_to_own(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		if (heap_types_leads_to(types, types->members[type->first_member + i].type, id))
			return true;
	}
	return false;
}

// Counts links, and the types that were visited.
static unsigned count_links(const struct heap_types *types, heap_type_id id, heap_type_id link,
			    unsigned *visits)
{
	heap_type_id stripped = heap_types_strip(types, id);
	const struct heap_type *type = &types->types[stripped];
	unsigned count = 0;

	if (++*visits > MAX_HOOKS)
		return 0;
	if (stripped == link)
		return 1;
	if (type->kind == HEAP_TYPE_ARRAY)
		return count_links(types, type->target, link, visits);
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		count += count_links(types, types->members[type->first_member + i].type, link,
				     visits);
	return count;
}

unsigned node_links_count(const struct heap_types *types, heap_type_id type, heap_type_id link)
{
	unsigned visits = 0;

	return count_links(types, type, link, &visits);
}

heap_type_id node_links_find_base(const struct heap_types *types, heap_type_id id)
{
	heap_type_id base = first_base(types, id), next;

	for (int i = 0; i < MAX_BASES && base != HEAP_NO_TYPE; i++) {
		const struct heap_type *type = &types->types[base];

		next = first_base(types, base);
		if (!strchr(heap_types_name(types, base), '<') ||
		    (next == HEAP_NO_TYPE && node_links_lead_to_own(types, base)))
			return node_links_is_class(type) && !(type->flags & HEAP_TYPE_POLYMORPHIC)
				       ? base
				       : HEAP_NO_TYPE;
		base = next;
	}
	return HEAP_NO_TYPE;
}

static void find_open(struct node_links *links)
{
	const struct heap_types *types = links->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		heap_type_id base = node_links_is_class(&types->types[id]) &&
						    !strchr(heap_types_name(types, id), '<')
					    ? first_base(types, id)
					    : HEAP_NO_TYPE;

		if (base != HEAP_NO_TYPE)
			links->is_open[base] = 1;
	}
}

// --- links whose members nodes repeat -----------------------------------------------------

// A member of a struct; the first one of a union without a name, where a value that needs no room lies beside it.
static const struct heap_member *member_at(const struct heap_types *types,
					   const struct heap_type *type, uint32_t number)
{
	const struct heap_member *member = &types->members[type->first_member + number];
	const struct heap_type *inner = &types->types[heap_types_strip(types, member->type)];

	return member->name == 0 && member->offset == 0 && inner->kind == HEAP_TYPE_UNION &&
			       inner->members > 0
		       ? &types->members[inner->first_member]
		       : member;
}

static uint64_t hash_member(uint64_t hash, const struct heap_member *member)
{
	return heap_hash_mix(heap_hash_mix(hash, member->name), member->offset);
}

// True for a struct with a few members, one of them a pointer to its own kind, which others may repeat.
static bool is_link(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];

	if (!node_links_is_class(type) || type->members < 2 || type->members > MAX_MEMBERS ||
	    strchr(heap_types_name(types, id), '<'))
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->name == 0 || member->flags != 0)
			return false;
	}
	return node_links_lead_to_own(types, id);
}

HEAP_MUST_CHECK
static struct heap_error *index_links(struct node_links *links)
{
	const struct heap_types *types = links->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		uint64_t hash = 0;

		if (!is_link(types, id))
			continue;
		for (uint32_t i = 0; i < type->members; i++)
			hash = hash_member(hash, &types->members[type->first_member + i]);
		HEAP_TRY(heap_hash_add(&links->by_members, hash, id));
	}
	return NULL;
}

// True if a struct begins with the members of a link, and leads to its own kind where that does.
static bool repeats(const struct heap_types *types, heap_type_id id, heap_type_id link)
{
	const struct heap_type *type = &types->types[id], *other = &types->types[link];

	if (type->members <= other->members || type->size <= other->size)
		return false;
	for (uint32_t i = 0; i < other->members; i++) {
		const struct heap_member *one = member_at(types, type, i);
		const struct heap_member *same = &types->members[other->first_member + i];

		if (one->name != same->name || one->offset != same->offset || one->flags != 0 ||
		    heap_types_size(types, one->type) != heap_types_size(types, same->type) ||
		    heap_types_leads_to(types, one->type, id) !=
			    heap_types_leads_to(types, same->type, link))
			return false;
	}
	return true;
}

heap_type_id node_links_find_repeated(const struct node_links *links, heap_type_id id)
{
	const struct heap_types *types = links->types;
	const struct heap_type *type = &types->types[id];
	heap_type_id found = HEAP_NO_TYPE;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < type->members && i < MAX_MEMBERS; i++) {
		hash = hash_member(hash, member_at(types, type, i));

		uint32_t link =
			heap_hash_find(&links->by_members, hash, at, repeats(types, id, at));

		if (link != HEAP_HASH_NONE)
			found = link;
	}
	return found;
}

struct heap_error *node_links_init(struct node_links *links, const struct heap_types *types)
{
	links->types = types;
	links->is_open = calloc((size_t)types->count + 1, sizeof(*links->is_open));
	if (!links->is_open)
		return heap_error_out_of_memory();
	find_open(links);
	return index_links(links);
}

void node_links_deinit(struct node_links *links)
{
	free(links->is_open);
	heap_hash_table_deinit(&links->by_members);
}
