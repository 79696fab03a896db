// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/template_nodes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/type_copies.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_BASES = 8,       // one behind the other
	LINK_MEMBERS = 8,    // of a struct whose members nodes repeat, at most
	MAX_ARGUMENTS = 8,   // of a template
	MAX_PAIRS = 1 << 22, // of nodes and containers, that are compared
};

// How well a node goes with a container, best last.
enum affinity {
	AFFINITY_NONE,
	AFFINITY_AMONG,  // its arguments are among the container's
	AFFINITY_BEGIN,  // they begin these
	AFFINITY_EQUAL,  // they are these
	AFFINITY_INSIDE, // it is declared inside
};

struct node {
	heap_type_id id;
	heap_type_id link;   // the struct that it begins with
	heap_type_id holder; // it is declared inside; HEAP_NO_TYPE: in none
	bool has_value;      // of one of its arguments
};

// A container and a node that may be its own.
struct match {
	heap_type_id holder, link, node;
	enum affinity affinity;
};

// An argument of an instance of a template.
struct argument {
	uint64_t hash;
	heap_type_id instance;
};

struct search {
	struct heap_types *types;
	const struct class_names *names;
	uint8_t *
		is_open; // [count] nonzero: structs that others than instances of templates are derived from
	uint8_t *is_holder;           // [count] nonzero: containers with nodes
	heap_type_id count;           // of types before the first copy
	struct heap_hash_table links; // structs that lead to their own kind, by their members
	struct HEAP_ARRAY(struct argument) arguments; // sorted
	struct HEAP_ARRAY(struct node) nodes;         // by id
	struct HEAP_ARRAY(struct match) matches;
	uint32_t pairs; // that were compared
};

static void deinit(struct search *search)
{
	free(search->is_open);
	free(search->is_holder);
	heap_hash_table_deinit(&search->links);
	heap_array_deinit(&search->arguments);
	heap_array_deinit(&search->nodes);
	heap_array_deinit(&search->matches);
}

static const char *name_of(const struct heap_types *types, heap_type_id id)
{
	return heap_types_string(types, types->types[id].name);
}

static bool is_complete(const struct heap_type *type)
{
	return (type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS) &&
	       type->size > 0 && type->name != 0;
}

static bool is_instance(const char *name)
{
	return strchr(name, '<') && heap_template_length(name) == strlen(name);
}

// --- nodes that are derived from a link ---------------------------------------------

// The base class at the start of a class; HEAP_NO_TYPE: it has none.
static heap_type_id first_base(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	const struct heap_member *first = &types->members[type->first_member];

	return type->members > 0 && (first->flags & HEAP_MEMBER_BASE) &&
			       !(first->flags & HEAP_MEMBER_VIRTUAL_BASE) && first->offset == 0
		       ? heap_types_strip(types, first->type)
		       : HEAP_NO_TYPE;
}

// The first base that is no instance of a template. Objects with a vtable tell their classes themselves.
static heap_type_id find_base(const struct heap_types *types, heap_type_id id)
{
	heap_type_id base = first_base(types, id);

	for (int i = 0; i < MAX_BASES && base != HEAP_NO_TYPE; i++) {
		const struct heap_type *type = &types->types[base];

		if (!strchr(name_of(types, base), '<'))
			return is_complete(type) && !(type->flags & HEAP_TYPE_POLYMORPHIC)
				       ? base
				       : HEAP_NO_TYPE;
		base = first_base(types, base);
	}
	return HEAP_NO_TYPE;
}

static void find_open(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < search->count; id++) {
		heap_type_id base =
			is_complete(&types->types[id]) && !strchr(name_of(types, id), '<')
				? first_base(types, id)
				: HEAP_NO_TYPE;

		if (base != HEAP_NO_TYPE)
			search->is_open[base] = 1;
	}
}

// --- nodes that repeat the members of a link -----------------------------------------

static bool leads_to(const struct heap_types *types, heap_type_id pointer, heap_type_id target)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, pointer)];

	return type->kind == HEAP_TYPE_POINTER && heap_types_strip(types, type->target) == target;
}

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
	bool has_own = false;

	if (!is_complete(type) || type->members < 2 || type->members > LINK_MEMBERS ||
	    strchr(name_of(types, id), '<'))
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->name == 0 || member->flags != 0)
			return false;
		has_own |= leads_to(types, member->type, id);
	}
	return has_own;
}

HEAP_MUST_CHECK
static struct heap_error *index_links(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < search->count; id++) {
		const struct heap_type *type = &types->types[id];
		uint64_t hash = 0;

		if (!is_link(types, id))
			continue;
		for (uint32_t i = 0; i < type->members; i++)
			hash = hash_member(hash, &types->members[type->first_member + i]);
		HEAP_TRY(heap_hash_add(&search->links, hash, id));
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
		    leads_to(types, one->type, id) != leads_to(types, same->type, link))
			return false;
	}
	return true;
}

// The link with most members that a struct begins with.
static heap_type_id find_repeated(const struct search *search, heap_type_id id)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[id];
	heap_type_id found = HEAP_NO_TYPE;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < type->members && i < LINK_MEMBERS; i++) {
		hash = hash_member(hash, member_at(types, type, i));

		uint32_t link = heap_hash_find(&search->links, hash, at, repeats(types, id, at));

		if (link != HEAP_HASH_NONE)
			found = link;
	}
	return found;
}

// --- which node is whose -----------------------------------------------------------------

// The class inside of which one is declared, if it is an instance of a template: of Queue<job>::Node.
static heap_type_id find_holder(const struct search *search, const char *name)
{
	size_t length = heap_template_length(name);

	if (length == 0 || strncmp(name + length, "::", 2) != 0 || strpbrk(name + length + 2, "<:"))
		return HEAP_NO_TYPE;
	return class_names_find(search->names, name, length);
}

static bool has_member(const struct heap_types *types, heap_type_id id, heap_type_id member)
{
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		if (heap_types_strip(types, types->members[type->first_member + i].type) == member)
			return true;
	}
	return false;
}

// True if one of the members is what an argument names.
static bool has_value(const struct search *search, heap_type_id id)
{
	const char *name = name_of(search->types, id);
	size_t length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);
		heap_type_id value =
			argument ? class_names_find(search->names, argument, length) : HEAP_NO_TYPE;

		if (!argument)
			break;
		if (value != HEAP_NO_TYPE && has_member(search->types, id, value))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *find_nodes(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < search->count; id++) {
		const struct heap_type *type = &types->types[id];
		const char *name = name_of(types, id);
		struct node node = { .id = id };

		if (!is_complete(type) || (type->flags & HEAP_TYPE_POLYMORPHIC) ||
		    !strchr(name, '<') || strncmp(name, "std::", 5) == 0)
			continue;
		node.holder = find_holder(search, name);
		if (node.holder == HEAP_NO_TYPE && !is_instance(name))
			continue;
		node.link = find_base(types, id);
		if (node.link == HEAP_NO_TYPE)
			node.link = find_repeated(search, id);
		if (node.link != HEAP_NO_TYPE &&
		    (node.holder != HEAP_NO_TYPE || !search->is_open[node.link])) {
			node.has_value = has_value(search, id);
			HEAP_TRY(heap_array_append(&search->nodes, node));
		}
	}
	return NULL;
}

static int compare_hashes(const void *a, const void *b)
{
	const struct argument *one = a, *other = b;

	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return (one->instance > other->instance) - (one->instance < other->instance);
}

static uint64_t hash_argument(const char *argument, size_t length)
{
	return heap_hash_bytes(HEAP_HASH_START, argument, length);
}

HEAP_MUST_CHECK
static struct heap_error *index_arguments(struct search *search)
{
	const struct heap_types *types = search->types;
	size_t length;

	for (heap_type_id id = 1; id < search->count; id++) {
		const char *name = name_of(types, id), *argument;

		if (!is_complete(&types->types[id]) || !is_instance(name))
			continue;
		for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
			argument = heap_template_argument(name, i, &length);
			if (!argument)
				break;
			HEAP_TRY(heap_array_append(
				&search->arguments,
				((struct argument){ hash_argument(argument, length), id })));
		}
	}
	if (search->arguments.count > 1)
		qsort(search->arguments.items, search->arguments.count,
		      sizeof(*search->arguments.items), compare_hashes);
	return NULL;
}

// A part of the sorted arguments.
struct span {
	size_t first, end;
};

static struct span find_equal(const struct search *search, uint64_t hash)
{
	const struct argument *list = search->arguments.items;
	size_t count = search->arguments.count;
	size_t first = heap_partition_point(i, 0, count, list[i].hash < hash);
	size_t end = heap_partition_point(i, first, count, list[i].hash == hash);

	return (struct span){ first, end };
}

// The instances that have the rarest argument of a node. All of a node's arguments are its container's, and thousands of
// instances may have the others, as int.
static struct span find_rarest(const struct search *search, const char *name)
{
	struct span rarest = { 0, 0 };
	size_t length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);

		if (!argument)
			break;

		struct span span = find_equal(search, hash_argument(argument, length));

		if (i == 0 || span.end - span.first < rarest.end - rarest.first)
			rarest = span;
	}
	return rarest;
}

// The place of an argument among those of a name; MAX_ARGUMENTS: it is none.
static unsigned find_argument(const char *name, const char *argument, size_t length)
{
	size_t other_length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *other = heap_template_argument(name, i, &other_length);

		if (!other)
			break;
		if (other_length == length && memcmp(other, argument, length) == 0)
			return i;
	}
	return MAX_ARGUMENTS;
}

static enum affinity compare_arguments(const char *holder, const char *node)
{
	enum affinity affinity = AFFINITY_EQUAL;
	size_t length;
	unsigned i;

	for (i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(node, i, &length);
		unsigned place;

		if (!argument)
			break;
		place = find_argument(holder, argument, length);
		if (place == MAX_ARGUMENTS)
			return AFFINITY_NONE;
		if (place != i)
			affinity = AFFINITY_AMONG;
	}
	if (affinity == AFFINITY_EQUAL && heap_template_argument(holder, i, &length))
		affinity = AFFINITY_BEGIN;
	return affinity;
}

HEAP_MUST_CHECK
static struct heap_error *note_match(struct search *search, const struct node *node,
				     heap_type_id holder, enum affinity affinity)
{
	struct type_copies copies = {
		.types = search->types,
		.base = node->link,
		.node = node->id,
		.left = search->is_holder,
		.left_count = search->count,
	};

	if (affinity == AFFINITY_NONE || !type_copies_concern(&copies, holder))
		return NULL;
	return heap_array_append(&search->matches,
				 (struct match){ holder, node->link, node->id, affinity });
}

// True unless what would be the container begins with the node's link itself, as both heads of lists and nodes do. Nodes
// have a value of an argument, and heads have none.
static bool may_hold(const struct search *search, heap_type_id holder, const struct node *node)
{
	const struct node *list = search->nodes.items;
	size_t count = search->nodes.count;
	size_t at = heap_partition_point(i, 0, count, list[i].id < holder);

	if (at == count || list[at].id != holder || list[at].link != node->link)
		return true;
	return node->has_value && !list[at].has_value;
}

// Finds the containers that have the node's arguments, too.
HEAP_MUST_CHECK
static struct heap_error *match_arguments(struct search *search, const struct node *node)
{
	const char *name = name_of(search->types, node->id);
	const struct span span = find_rarest(search, name);

	for (size_t i = span.first; i < span.end && search->pairs < MAX_PAIRS; i++) {
		heap_type_id holder = search->arguments.items[i].instance;

		search->pairs++;
		progress_step();
		if (may_hold(search, holder, node))
			HEAP_TRY(note_match(
				search, node, holder,
				compare_arguments(name_of(search->types, holder), name)));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_matches(struct search *search)
{
	for (size_t i = 0; i < search->nodes.count && !progress_is_late(); i++) {
		const struct node *node = &search->nodes.items[i];

		if (node->holder != HEAP_NO_TYPE)
			HEAP_TRY(note_match(search, node, node->holder, AFFINITY_INSIDE));
		else
			HEAP_TRY(match_arguments(search, node));
	}
	return NULL;
}

// --- changes ----------------------------------------------------------------------------------

// By container and link, the best first.
static int compare_matches(const void *a, const void *b)
{
	const struct match *one = a, *other = b;

	if (one->holder != other->holder)
		return one->holder < other->holder ? -1 : 1;
	if (one->link != other->link)
		return one->link < other->link ? -1 : 1;
	if (one->affinity != other->affinity)
		return one->affinity > other->affinity ? -1 : 1;
	return (one->node > other->node) - (one->node < other->node);
}

// Keeps the best node of each container and link, if there is one.
static void keep_best(struct search *search)
{
	struct match *list = search->matches.items;
	size_t count = search->matches.count, kept = 0, end;

	if (count > 1)
		qsort(list, count, sizeof(*list), compare_matches);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && list[end].holder == list[i].holder &&
				  list[end].link == list[i].link;)
			end++;

		size_t next = i + 1;

		while (next < end && list[next].node == list[i].node)
			next++;
		if (next < end && list[next].affinity == list[i].affinity)
			continue;
		list[kept++] = list[i];
		search->is_holder[list[i].holder] = 1;
	}
	search->matches.count = kept;
}

HEAP_MUST_CHECK
static struct heap_error *change(struct search *search, const struct match *match)
{
	struct type_copies copies = {
		.types = search->types,
		.base = match->link,
		.node = match->node,
		.left = search->is_holder,
		.left_count = search->count,
	};

	HEAP_TRY(type_copies_change(&copies, match->holder));
	// What the node holds is its own.
	copies.left = NULL;
	copies.left_count = 0;
	return type_copies_change(&copies, match->node);
}

struct heap_error *template_nodes_complete(struct heap_types *types)
{
	CLEANUP(class_names_cleanup) struct class_names *names = NULL;
	CLEANUP(deinit) struct search search = { .types = types, .count = types->count };

	search.is_open = calloc((size_t)types->count + 1, sizeof(*search.is_open));
	search.is_holder = calloc((size_t)types->count + 1, sizeof(*search.is_holder));
	if (!search.is_open || !search.is_holder)
		return heap_error_out_of_memory();
	HEAP_TRY(class_names_create(types, &names));
	search.names = names;
	find_open(&search);
	HEAP_TRY(index_links(&search));
	HEAP_TRY(find_nodes(&search));
	if (search.nodes.count == 0)
		return NULL;
	HEAP_TRY(index_arguments(&search));
	HEAP_TRY(find_matches(&search));
	keep_best(&search);
	for (size_t i = 0; i < search.matches.count; i++)
		HEAP_TRY(change(&search, &search.matches.items[i]));
	return NULL;
}
