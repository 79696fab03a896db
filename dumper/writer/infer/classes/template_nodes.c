// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/template_nodes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/argument_index.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/classes/node_links.h"
#include "dumper/writer/infer/classes/type_copies.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_ARGUMENTS = ARGUMENT_INDEX_ARGUMENTS,
	MAX_DEPTH = ARGUMENT_INDEX_DEPTH,
	MAX_HOOKS = 64,      // members visited in search of links
	MAX_PAIRS = 1 << 12, // of containers and one node
};

// How well a node goes with a container, best last.
enum affinity {
	AFFINITY_NONE,
	AFFINITY_MENTIONED, // its arguments are among those of the container's arguments
	AFFINITY_INNER,     // it is itself among these
	AFFINITY_AMONG,     // its arguments are among the container's
	AFFINITY_BEGIN,     // they begin these
	AFFINITY_EQUAL,     // they are these
	AFFINITY_NAMED,     // it is itself an argument of the container's
	AFFINITY_INSIDE,    // it is declared inside
};

struct node {
	heap_type_id id;
	heap_type_id link;   // the struct that it begins with
	heap_type_id holder; // it is declared inside; HEAP_NO_TYPE: in none
	bool is_derived;     // from the link
	bool may_be_named;   // by a container's arguments: it has one such link
	bool may_be_matched; // to a container by its own arguments, or inside of it
	bool has_value;      // of one of its arguments
};

// A container and a node that may be its own.
struct match {
	heap_type_id holder, link, node;
	enum affinity affinity;
};

struct search {
	struct heap_types *types;
	const struct class_names *names;
	struct node_links links;
	struct argument_index index;          // of instances of templates
	uint8_t *is_holder;                   // [count] nonzero: containers with nodes
	uint8_t *is_link;                     // [count] nonzero: links of nodes
	heap_type_id count;                   // of types before the first copy
	struct HEAP_ARRAY(uint64_t) asked;    // pairs of a link and a container, ...
	struct heap_hash_table by_pair;       // ... which of them
	struct HEAP_ARRAY(bool) concern;      // ... and if the container has pointers to the link
	struct HEAP_ARRAY(struct node) nodes; // by id
	struct HEAP_ARRAY(struct match) matches;
};

static void deinit(struct search *search)
{
	node_links_deinit(&search->links);
	argument_index_deinit(&search->index);
	free(search->is_link);
	free(search->is_holder);
	heap_hash_table_deinit(&search->by_pair);
	heap_array_deinit(&search->asked);
	heap_array_deinit(&search->concern);
	heap_array_deinit(&search->nodes);
	heap_array_deinit(&search->matches);
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

// True for a class of which a container names objects as its nodes: there is one way into them.
static bool has_one_link(const struct heap_types *types, const struct node *node)
{
	return node->link != HEAP_NO_TYPE && node->is_derived &&
	       node_links_lead_to_own(types, node->link) &&
	       node_links_count(types, node->id, node->link) == 1;
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
	const char *name = heap_types_name(search->types, id);
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
		const char *name = heap_types_name(types, id);
		struct node node = { .id = id };

		if (!node_links_is_class(type) || (type->flags & HEAP_TYPE_POLYMORPHIC) ||
		    strncmp(name, "std::", 5) == 0)
			continue;
		node.link = node_links_find_base(types, id);
		if (node.link != HEAP_NO_TYPE && type->size <= types->types[node.link].size)
			continue; // a head
		node.is_derived = node.link != HEAP_NO_TYPE;
		node.may_be_named = has_one_link(types, &node);
		if (strchr(name, '<')) {
			node.holder = find_holder(search, name);
			if (node.link == HEAP_NO_TYPE)
				node.link = node_links_find_repeated(&search->links, id);
			node.may_be_matched =
				node.link != HEAP_NO_TYPE && (node.holder != HEAP_NO_TYPE ||
							      (heap_template_is_instance(name) &&
							       !search->links.is_open[node.link]));
		}
		if (!node.may_be_named && !node.may_be_matched)
			continue;
		node.has_value = has_value(search, id);
		HEAP_TRY(heap_array_append(&search->nodes, node));
	}
	return NULL;
}

// --- the containers that have an argument ----------------------------------------------------

// True if a type has a link in it.
static bool has_link(const struct search *search, heap_type_id id, unsigned *visits)
{
	const struct heap_types *types = search->types;
	heap_type_id stripped = heap_types_strip(types, id);
	const struct heap_type *type = &types->types[stripped];

	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		if (++*visits > MAX_HOOKS)
			break;
		if (has_link(search, types->members[type->first_member + i].type, visits))
			return true;
	}
	return search->is_link[stripped];
}

// Lists the names by which containers are looked for: those of nodes, of their arguments, and of what has a link in it.
HEAP_MUST_CHECK
static struct heap_error *list_wanted(struct search *search)
{
	const struct heap_types *types = search->types;

	for (size_t i = 0; i < search->nodes.count; i++) {
		const char *name = heap_types_name(types, search->nodes.items[i].id);

		search->is_link[search->nodes.items[i].link] = 1;
		HEAP_TRY(argument_index_want_all(&search->index, name));
		HEAP_TRY(argument_index_want(&search->index, name, strlen(name)));
	}
	for (heap_type_id id = 1; id < search->count; id++) {
		const char *name = heap_types_name(types, id);
		unsigned visits = 0;

		if (node_links_is_class(&types->types[id]) && heap_template_is_instance(name) &&
		    has_link(search, id, &visits))
			HEAP_TRY(argument_index_want(&search->index, name, strlen(name)));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *index_arguments(struct search *search)
{
	const struct heap_types *types = search->types;

	HEAP_TRY(list_wanted(search));
	for (heap_type_id id = 1; id < search->count; id++) {
		const char *name = heap_types_name(types, id);

		if (node_links_is_class(&types->types[id]) && heap_template_is_instance(name))
			HEAP_TRY(argument_index_add(&search->index, name, id));
	}
	return NULL;
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

// True if a name has an argument, at any depth.
static bool mentions(const char *name, size_t name_length, const char *argument, size_t length,
		     int depth)
{
	size_t own;

	if (depth == MAX_DEPTH || name_length < length || !memchr(name, '<', name_length))
		return false;
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *other = heap_template_argument(name, i, &own);

		if (!other)
			break;
		if ((own == length && memcmp(other, argument, length) == 0) ||
		    mentions(other, own, argument, length, depth + 1))
			return true;
	}
	return false;
}

// True if a container's arguments mention all those of a node.
static bool mentions_all(const char *holder, const char *node)
{
	size_t length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(node, i, &length);

		if (!argument)
			break;
		if (!mentions(holder, strlen(holder), argument, length, 0))
			return false;
	}
	return true;
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
			return mentions_all(holder, node) ? AFFINITY_MENTIONED : AFFINITY_NONE;
		if (place != i)
			affinity = AFFINITY_AMONG;
	}
	if (affinity == AFFINITY_EQUAL && heap_template_argument(holder, i, &length))
		affinity = AFFINITY_BEGIN;
	return affinity;
}

// True if a container has pointers to a link. Many nodes ask the same.
HEAP_MUST_CHECK
static struct heap_error *ask(struct search *search, const struct node *node, heap_type_id holder,
			      bool *result)
{
	struct type_copies copies = {
		.types = search->types,
		.base = node->link,
		.node = node->id,
		.left = search->is_holder,
		.left_count = search->count,
	};
	uint64_t pair = (uint64_t)node->link << 32 | holder;
	uint32_t found = heap_hash_find(&search->by_pair, heap_hash_u64(pair), i,
					search->asked.items[i] == pair);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)search->asked.count;
		HEAP_TRY(heap_hash_add(&search->by_pair, heap_hash_u64(pair), found));
		HEAP_TRY(heap_array_append(&search->asked, pair));
		HEAP_TRY(heap_array_append(&search->concern, type_copies_concern(&copies, holder)));
	}
	*result = search->concern.items[found];
	return NULL;
}

// True if a name has an argument, at any depth, that has a link in it: that is what the container's pointers lead to, and
// not to its start.
static bool names_link(const struct search *search, const char *name, size_t name_length,
		       heap_type_id link, int depth)
{
	size_t length;

	if (depth == MAX_DEPTH || !memchr(name, '<', name_length))
		return false;
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);
		heap_type_id type;

		if (!argument)
			break;
		type = class_names_find(search->names, argument, length);
		if (type != HEAP_NO_TYPE && node_links_count(search->types, type, link) > 0)
			return true;
		if (names_link(search, argument, length, link, depth + 1))
			return true;
	}
	return false;
}

static bool has_inside(const struct search *search, heap_type_id outer, heap_type_id inner)
{
	return node_links_count(search->types, outer, inner) > 0;
}

// True if a type with a link in it is a node of another container, which has it among its arguments but not in it.
static bool is_node(const struct search *search, heap_type_id id, heap_type_id link)
{
	const char *name = heap_types_name(search->types, id);
	uint32_t hash = argument_index_hash(name, strlen(name)), at = hash, holder;

	if (!has_inside(search, id, link))
		return false;
	for (int i = 0;
	     i < MAX_HOOKS && heap_hash_next(&search->index.by_argument, hash, &at, &holder); i++) {
		if (has_inside(search, holder, link) && !has_inside(search, holder, id))
			return true;
	}
	return false;
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

HEAP_MUST_CHECK
static struct heap_error *note_match(struct search *search, const struct node *node,
				     heap_type_id holder, enum affinity affinity)
{
	const char *holder_name = heap_types_name(search->types, holder);
	bool is_concerned;

	// A node inside of the container itself is its end.
	if (affinity == AFFINITY_NONE || has_inside(search, holder, node->id) ||
	    (affinity != AFFINITY_INSIDE &&
	     (is_node(search, holder, node->link) || !may_hold(search, holder, node))))
		return NULL;
	HEAP_TRY(ask(search, node, holder, &is_concerned));
	if (!is_concerned || (affinity == AFFINITY_MENTIONED &&
			      names_link(search, holder_name, strlen(holder_name), node->link, 0)))
		return NULL;
	return heap_array_append(&search->matches,
				 (struct match){ holder, node->link, node->id, affinity });
}

// Finds the containers that have the node's arguments, too, at any depth.
HEAP_MUST_CHECK
static struct heap_error *match_arguments(struct search *search, const struct node *node)
{
	const char *name = heap_types_name(search->types, node->id);
	uint32_t hash, at, holder;

	if (!argument_index_find_rarest(&search->index, name, &hash))
		return NULL;
	at = hash;
	for (int i = 0;
	     i < MAX_PAIRS && heap_hash_next(&search->index.by_argument, hash, &at, &holder); i++) {
		progress_step();
		HEAP_TRY(note_match(
			search, node, holder,
			compare_arguments(heap_types_name(search->types, holder), name)));
	}
	return NULL;
}

// Finds the containers that have the node itself among their arguments, at any depth.
HEAP_MUST_CHECK
static struct heap_error *match_name(struct search *search, const struct node *node)
{
	const char *name = heap_types_name(search->types, node->id);
	size_t length = strlen(name);
	uint32_t hash = argument_index_hash(name, length), at = hash, holder;

	for (int i = 0;
	     i < MAX_PAIRS && heap_hash_next(&search->index.by_argument, hash, &at, &holder); i++)
		HEAP_TRY(note_match(search, node, holder,
				    find_argument(heap_types_name(search->types, holder), name,
						  length) < MAX_ARGUMENTS
					    ? AFFINITY_NAMED
					    : AFFINITY_INNER));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_matches(struct search *search)
{
	for (size_t i = 0; i < search->nodes.count && !progress_is_late(); i++) {
		const struct node *node = &search->nodes.items[i];

		if (node->may_be_named)
			HEAP_TRY(match_name(search, node));
		if (node->may_be_matched && node->holder != HEAP_NO_TYPE)
			HEAP_TRY(note_match(search, node, node->holder, AFFINITY_INSIDE));
		else if (node->may_be_matched)
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
	// The node's own value leads to things that the container does not know.
	copies.left = NULL;
	copies.left_count = 0;
	return type_copies_change(&copies, match->node);
}

struct heap_error *template_nodes_complete(struct heap_types *types)
{
	CLEANUP(class_names_cleanup) struct class_names *names = NULL;
	CLEANUP(deinit) struct search search = { .types = types, .count = types->count };

	search.is_holder = calloc((size_t)types->count + 1, sizeof(*search.is_holder));
	search.is_link = calloc((size_t)types->count + 1, sizeof(*search.is_link));
	if (!search.is_link || !search.is_holder)
		return heap_error_out_of_memory();
	HEAP_TRY(class_names_create(types, &names));
	search.names = names;
	HEAP_TRY(node_links_init(&search.links, types));
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
