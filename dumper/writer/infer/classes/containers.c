// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/containers.h"

#include "dumper/writer/infer/classes/argument_types.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/classes/type_copies.h"
#include "lib/base/cleanup.h"
#include "lib/types/templates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 4096,
};

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// --- types by name -----------------------------------------------------------

// The type that the first argument of a template's instance names; HEAP_NO_TYPE if it is unknown.
HEAP_MUST_CHECK
static struct heap_error *find_argument(struct heap_types *types, const struct class_names *names,
					heap_type_id id, heap_type_id *result)
{
	size_t length;
	const char *argument = heap_template_argument(heap_types_name(types, id), 0, &length);

	*result = HEAP_NO_TYPE;
	return argument ? argument_types_find(types, names, argument, length, result) : NULL;
}

// --- buffers -----------------------------------------------------------------

// The index of a member of the type itself; UINT32_MAX if none has that name.
static uint32_t find_member(const struct heap_types *types, heap_type_id id, const char *name)
{
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (strcmp(heap_types_string(types, member->name), name) == 0)
			return type->first_member + i;
	}
	return UINT32_MAX;
}

HEAP_MUST_CHECK
static struct heap_error *fill_buffer(struct heap_types *types, const struct class_names *names,
				      heap_type_id id)
{
	size_t length;
	const char *argument = heap_template_argument(heap_types_name(types, id), 0, &length);
	heap_type_id content = HEAP_NO_TYPE;
	uint32_t storage = find_member(types, id, "_M_storage");

	if (storage == UINT32_MAX)
		storage = find_member(types, id, "__storage_"); // libc++'s block of make_shared()
	if (!argument || storage == UINT32_MAX)
		return NULL;
	HEAP_TRY(argument_types_find(types, names, argument, length, &content));

	uint64_t size = heap_types_size(types, content);

	if (size > 0 && types->members[storage].offset + size <= types->types[id].size)
		types->members[storage].type = content;
	return NULL;
}

// --- buffers of elements -----------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_array(struct heap_types *types, heap_type_id element,
				    heap_type_id *result)
{
	return heap_types_add(types,
			      &(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
						   .flags = HEAP_TYPE_FLEXIBLE,
						   .target = element },
			      result);
}

// A vector points to an array, never to a part of something larger. So does a deque to its map, of whose pointers only those
// in the middle are in use, so that contents would tell nothing.
HEAP_MUST_CHECK
static struct heap_error *lead_to_array(struct heap_types *types, const struct class_names *names,
					heap_type_id id)
{
	static const char *const begins_array[] = { "_M_map", "_M_start", "__begin_" };
	uint32_t member = UINT32_MAX;
	heap_type_id pointer, array;

	(void)names;
	for (size_t i = 0; member == UINT32_MAX && i < sizeof(begins_array) / sizeof(*begins_array);
	     i++)
		member = find_member(types, id, begins_array[i]);
	if (member == UINT32_MAX)
		return NULL;
	pointer = heap_types_strip(types, types->members[member].type);

	heap_type_id target = types->types[pointer].target;

	if (types->types[pointer].kind != HEAP_TYPE_POINTER || target == HEAP_NO_TYPE ||
	    types->types[heap_types_strip(types, target)].kind == HEAP_TYPE_ARRAY)
		return NULL;

	HEAP_TRY(add_array(types, target, &array));
	HEAP_TRY(type_copies_add_pointer(types, array, &pointer));
	types->members[member].type = pointer;
	return NULL;
}

// --- classes that clang only declares ---------------------------------------------------

// clang only declares classes whose constructors a unit does not call, and most units do not
// call those of a string's or an owner's parts.

HEAP_MUST_CHECK
static struct heap_error *complete_string(struct heap_types *types, const struct class_names *names,
					  heap_type_id id)
{
	uint32_t member = find_member(types, id, "_M_dataplus");
	heap_type_id character, added;
	struct heap_member text = { 0 };

	if (member == UINT32_MAX || heap_types_size(types, types->members[member].type) > 0)
		return NULL;

	struct heap_type hider = types->types[heap_types_strip(types, types->members[member].type)];

	HEAP_TRY(find_argument(types, names, id, &character));
	if (character == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(type_copies_add_pointer(types, character, &text.type));
	HEAP_TRY(heap_types_add_string(types, "_M_p", &text.name));
	hider.kind = HEAP_TYPE_STRUCT;
	hider.flags &= (uint8_t)~HEAP_TYPE_DECLARATION;
	hider.size = 8;
	hider.first_member = types->member_count;
	hider.members = 1;
	HEAP_TRY(heap_types_add_member(types, &text));
	HEAP_TRY(heap_types_add(types, &hider, &added));
	types->members[member].type = added;
	return NULL;
}

// A unique_ptr with an empty deleter is laid out as its pointer.
HEAP_MUST_CHECK
static struct heap_error *complete_owner(struct heap_types *types, const struct class_names *names,
					 heap_type_id id)
{
	uint32_t member = find_member(types, id, "_M_t");
	size_t length;
	const char *argument = heap_template_argument(heap_types_name(types, id), 0, &length);
	heap_type_id target = HEAP_NO_TYPE;

	if (member == UINT32_MAX || !argument || types->types[id].size != 8 ||
	    heap_types_has_pointers(types, id))
		return NULL;
	if (length > 2 && strncmp(argument + length - 2, "[]", 2) == 0)
		length -= 2;

	HEAP_TRY(argument_types_find(types, names, argument, length, &target));
	if (target != HEAP_NO_TYPE)
		HEAP_TRY(type_copies_add_pointer(types, target, &target));
	if (target != HEAP_NO_TYPE)
		types->members[member].type = target;
	return NULL;
}

// --- nodes -------------------------------------------------------------------

// The base class at a node's start by which the library points to nodes.
static heap_type_id find_base(const struct heap_types *types, heap_type_id node, const char *name)
{
	const struct heap_type *type = &types->types[node];

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id base = heap_types_strip(types, member->type);

		if ((member->flags & HEAP_MEMBER_BASE) && member->offset == 0 &&
		    begins(heap_types_name(types, base), name))
			return base;
	}
	return HEAP_NO_TYPE;
}

struct rule {
	const char *holder; // classes that point to nodes
	const char *node;   // classes of nodes, which the holder's parts mention
	const char *base;   // what nodes are pointed to by
};

static const struct rule rules[] = {
	{ "std::_Rb_tree<", "std::_Rb_tree_node<", "std::_Rb_tree_node_base" },
	{ "std::_List_base<", "std::_List_node<", "std::__detail::_List_node_base" },
	{ "std::__cxx11::_List_base<", "std::_List_node<", "std::__detail::_List_node_base" },
	{ "std::_Fwd_list_base<", "std::_Fwd_list_node<", "std::_Fwd_list_node_base" },
	{ "std::_Hashtable<", "std::__detail::_Hash_node<", "std::__detail::_Hash_node_base" },
	{ "std::__1::__tree<", "std::__1::__tree_node<", "std::__1::__tree_node_base<" },
	{ "std::__1::__list_imp<", "std::__1::__list_node<", "std::__1::__list_node_base<" },
	{ "std::__1::__hash_table<", "std::__1::__hash_node<", "std::__1::__hash_node_base<" },
	// The first template argument of an iterator is its value type.
	{ "std::_Rb_tree_iterator<", NULL, "std::_Rb_tree_node_base" },
	{ "std::_Rb_tree_const_iterator<", NULL, "std::_Rb_tree_node_base" },
	{ "std::_List_iterator<", NULL, "std::__detail::_List_node_base" },
	{ "std::_List_const_iterator<", NULL, "std::__detail::_List_node_base" },
	{ "std::_Fwd_list_iterator<", NULL, "std::_Fwd_list_node_base" },
	{ "std::_Fwd_list_const_iterator<", NULL, "std::_Fwd_list_node_base" },
};

// The node that an iterator points to: by the rule for its container, with the iterator's argument.
static heap_type_id find_iterated(const struct heap_types *types, const struct class_names *names,
				  heap_type_id id, const struct rule *rule)
{
	size_t length;
	const char *argument = heap_template_argument(heap_types_name(types, id), 0, &length);
	char name[MAX_NAME];

	for (const struct rule *other = rules; argument && other->node; other++) {
		if (strcmp(other->base, rule->base) != 0)
			continue;

		int written =
			snprintf(name, sizeof(name), "%s%.*s>", other->node, (int)length, argument);

		return written > 0 && (size_t)written < sizeof(name)
			       ? class_names_find(names, name, (size_t)written)
			       : HEAP_NO_TYPE;
	}
	return HEAP_NO_TYPE;
}

static heap_type_id find_node(const struct heap_types *types, const struct class_names *names,
			      heap_type_id id, const struct rule *rule)
{
	size_t length;
	const char *mention;

	if (!rule->node)
		return find_iterated(types, names, id, rule);
	mention = heap_template_mention(types, id, rule->node, &length);
	return mention ? class_names_find(names, mention, length) : HEAP_NO_TYPE;
}

// Makes the pointers of a container and of its nodes point to nodes of the container's value type.
HEAP_MUST_CHECK
static struct heap_error *lead_to_nodes(struct heap_types *types, const struct class_names *names,
					heap_type_id holder, const struct rule *rule)
{
	heap_type_id node = find_node(types, names, holder, rule);
	heap_type_id base = node ? find_base(types, node, rule->base) : HEAP_NO_TYPE;
	struct type_copies copies = { .types = types, .base = base, .node = node };

	if (base == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(type_copies_change(&copies, holder));
	return type_copies_change(&copies, node);
}

static const struct rule *find_rule(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		// Skip nested classes.
		if (begins(name, rules[i].holder) && heap_template_is_instance(name))
			return &rules[i];
	}
	return NULL;
}

// --- Rust --------------------------------------------------------------------

// Debug information says that the buffer of a Vec<T> holds bytes; its elements are of type T.
HEAP_MUST_CHECK
static struct heap_error *complete_vec(struct heap_types *types, const struct class_names *names,
				       heap_type_id id)
{
	uint32_t member = find_member(types, id, "buf");
	heap_type_id element, buffer;

	if (member == UINT32_MAX)
		return NULL;
	HEAP_TRY(find_argument(types, names, id, &element));
	if (heap_types_size(types, element) == 0)
		return NULL;

	struct type_copies copies = { .types = types };

	HEAP_TRY(add_array(types, element, &copies.node));
	HEAP_TRY(type_copies_make(&copies, types->members[member].type, &buffer));
	types->members[member].type = buffer;
	return NULL;
}

// The classes that are completed one by one, and the functions that do it.
static const struct {
	const char *name;
	bool parts; // also classes inside it
	struct heap_error *(*complete)(struct heap_types *types, const struct class_names *names,
				       heap_type_id id);
} completions[] = {
	{ "__gnu_cxx::__aligned_membuf<", false, fill_buffer },
	{ "__gnu_cxx::__aligned_buffer<", false, fill_buffer },
	{ "std::__1::__shared_ptr_emplace<", false, fill_buffer },
	{ "std::_Vector_base<", true, lead_to_array },
	{ "std::_Deque_base<", true, lead_to_array },
	{ "std::__1::vector<", false, lead_to_array },
	{ "std::__1::__vector_base<", false, lead_to_array },
	{ "std::__cxx11::basic_string<", false, complete_string },
	{ "std::basic_string<", false, complete_string },
	{ "std::unique_ptr<", false, complete_owner },
	{ "alloc::vec::Vec<", false, complete_vec },
	{ "alloc::collections::vec_deque::VecDeque<", false, complete_vec },
};

HEAP_MUST_CHECK
static struct heap_error *complete(struct heap_types *types, const struct class_names *names,
				   heap_type_id id)
{
	const char *name = heap_types_name(types, id);
	const struct rule *rule = find_rule(name);

	if (rule)
		return lead_to_nodes(types, names, id, rule);
	for (size_t i = 0; i < sizeof(completions) / sizeof(*completions); i++) {
		if (begins(name, completions[i].name) &&
		    (completions[i].parts || heap_template_is_instance(name)))
			return completions[i].complete(types, names, id);
	}
	return NULL;
}

struct heap_error *containers_complete_types(struct heap_types *types)
{
	CLEANUP(class_names_cleanup) struct class_names *names = NULL;

	HEAP_TRY(class_names_create(types, &names));

	heap_type_id count = types->count; // without those that are added here

	for (heap_type_id id = 1; id < count; id++) {
		if (heap_types_has_members(&types->types[id]) && types->types[id].size > 0)
			HEAP_TRY(complete(types, names, id));
	}
	return NULL;
}
