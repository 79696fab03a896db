// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/thin_templates.h"

#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/classes/node_links.h"
#include "dumper/writer/infer/classes/type_copies.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,       // of members in members, and of pointers to pointers
	MAX_ARGUMENTS = 8,   // of a template
	MAX_VISITS = 4096,   // members of a struct, with those of structs without a name in it
	LEAST_CONTENT = 8,   // bytes: what is smaller lies in no block of its own
	MAX_ADDED = 1 << 16, // types
};

// A type that has another one as a member, or a pointer to it.
struct reference {
	heap_type_id from, to;
};

// A node that is declared inside of an instance of a template.
struct inner_node {
	heap_type_id holder, node;
};

struct search {
	struct heap_types *types;
	struct thin_templates *templates;
	struct class_names *names;
	heap_type_id count; // of types before the first copy
	uint8_t *is_shared; // [count] nonzero: more than the workings of templates leads to it
	struct HEAP_ARRAY(struct reference) references; // by the type that they come from
	struct HEAP_ARRAY(
		heap_type_id) queue; // shared types whose references have not been followed
	struct HEAP_ARRAY(struct inner_node) nodes; // by holder
};

static void deinit(struct search *search)
{
	class_names_destroy(search->names);
	free(search->is_shared);
	heap_array_deinit(&search->references);
	heap_array_deinit(&search->queue);
	heap_array_deinit(&search->nodes);
}

static bool is_complete(const struct heap_type *type)
{
	return heap_types_has_members(type) && type->size > 0;
}

// True for an instance of a template of the program's own.
static bool is_instance(const struct heap_types *types, heap_type_id id)
{
	const char *name = heap_types_name(types, id);

	return is_complete(&types->types[id]) && heap_template_is_instance(name) &&
	       strncmp(name, "std::", 5) != 0 && strncmp(name, "__gnu_cxx::", 11) != 0;
}

// --- what nothing but templates leads to --------------------------------------------

// The struct that a member has, or leads to by pointers and arrays.
static heap_type_id struct_of(const struct heap_types *types, heap_type_id id)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type;

		id = heap_types_strip(types, id);
		type = &types->types[id];
		if (type->kind != HEAP_TYPE_POINTER && type->kind != HEAP_TYPE_REFERENCE &&
		    type->kind != HEAP_TYPE_ARRAY)
			break;
		id = type->target;
	}
	return heap_types_has_members(&types->types[id]) ? id : HEAP_NO_TYPE;
}

// Members of structs without a name count as those of the struct around it.
//
// @param left  members that may still be visited: hostile debug information nests structs that have each other many times
HEAP_MUST_CHECK
static struct heap_error *add_references(struct search *search, heap_type_id from, heap_type_id id,
					 int depth, uint32_t *left)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; *left > 0 && i < type->members; i++) {
		heap_type_id to = struct_of(types, types->members[type->first_member + i].type);

		--*left;
		if (to == HEAP_NO_TYPE || to == from)
			continue;
		if (types->types[to].name == 0 && depth < MAX_DEPTH)
			HEAP_TRY(add_references(search, from, to, depth + 1, left));
		else
			HEAP_TRY(heap_array_append(&search->references,
						   ((struct reference){ from, to })));
	}
	return NULL;
}

// True if an instance of a template leads to a type as to a part of how it works: not to what it was made for.
static bool is_part(const struct heap_types *types, const struct reference *reference)
{
	const char *from = heap_types_name(types, reference->from);
	const char *arguments = strchr(from, '<');

	return arguments && strncmp(from, "std::", 5) != 0 &&
	       !strstr(arguments, heap_types_name(types, reference->to));
}

// True if copies may be made of a type at all.
static bool may_be_copied(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];

	return is_complete(type) && !(type->flags & HEAP_TYPE_POLYMORPHIC) &&
	       strncmp(heap_types_name(types, id), "std::", 5) != 0 && !is_instance(types, id);
}

HEAP_MUST_CHECK
static struct heap_error *share(struct search *search, heap_type_id id)
{
	if (search->is_shared[id])
		return NULL;
	search->is_shared[id] = 1;
	return heap_array_append(&search->queue, id);
}

HEAP_MUST_CHECK
static struct heap_error *find_references(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < search->count; id++) {
		uint32_t left = MAX_VISITS;

		if (heap_types_has_members(&types->types[id]) && types->types[id].name != 0)
			HEAP_TRY(add_references(search, id, id, 0, &left));
	}
	return NULL;
}

// Shares what nothing leads to, what cannot be copied, and what templates were made for.
HEAP_MUST_CHECK
static struct heap_error *begin_sharing(struct search *search)
{
	const struct heap_types *types = search->types;
	CLEANUP_FREE uint8_t *is_led_to = calloc((size_t)search->count + 1, 1);

	if (!is_led_to)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < search->references.count; i++)
		is_led_to[search->references.items[i].to] = 1;
	for (heap_type_id id = 1; id < search->count; id++) {
		if (heap_types_has_members(&types->types[id]) && types->types[id].name != 0 &&
		    (!is_led_to[id] || !may_be_copied(types, id)))
			HEAP_TRY(share(search, id));
	}
	for (size_t i = 0; i < search->references.count; i++) {
		const struct reference *reference = &search->references.items[i];

		if (strchr(heap_types_name(types, reference->from), '<') &&
		    !is_part(types, reference))
			HEAP_TRY(share(search, reference->to));
	}
	return NULL;
}

// Shares what a shared struct leads to. Templates lead to parts of their own, too.
HEAP_MUST_CHECK
static struct heap_error *spread(struct search *search, heap_type_id from)
{
	const struct reference *list = search->references.items;
	size_t count = search->references.count;

	if (strchr(heap_types_name(search->types, from), '<'))
		return NULL;
	for (size_t i = heap_partition_point(j, 0, count, list[j].from < from);
	     i < count && list[i].from == from; i++)
		HEAP_TRY(share(search, list[i].to));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_shared(struct search *search)
{
	HEAP_TRY(find_references(search));
	HEAP_TRY(begin_sharing(search));
	for (size_t i = 0; i < search->queue.count; i++)
		HEAP_TRY(spread(search, search->queue.items[i]));
	return NULL;
}

// --- nodes --------------------------------------------------------------------------------

// True for a class that leads to its own kind, or begins with one that does.
static bool is_node(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	heap_type_id base;

	if (!node_links_is_class(type) || (type->flags & HEAP_TYPE_POLYMORPHIC))
		return false;
	if (node_links_lead_to_own(types, id))
		return true;
	base = node_links_find_base(types, id);
	return base != HEAP_NO_TYPE && type->size > types->types[base].size &&
	       node_links_lead_to_own(types, base);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct inner_node *one = a, *other = b;

	if (one->holder != other->holder)
		return one->holder < other->holder ? -1 : 1;
	return (one->node > other->node) - (one->node < other->node);
}

// Lists the nodes that are declared inside of a template, at any depth.
HEAP_MUST_CHECK
static struct heap_error *find_nodes(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < search->count; id++) {
		const char *name = heap_types_name(types, id);
		size_t length = heap_template_length(name);
		heap_type_id holder;

		if (length == 0 || strncmp(name + length, "::", 2) != 0 || !is_node(types, id))
			continue;
		holder = class_names_find(search->names, name, length);
		if (holder != HEAP_NO_TYPE && is_instance(types, holder))
			HEAP_TRY(heap_array_append(&search->nodes,
						   ((struct inner_node){ holder, id })));
	}
	if (search->nodes.count > 1)
		qsort(search->nodes.items, search->nodes.count, sizeof(*search->nodes.items),
		      compare_nodes);
	return NULL;
}

// --- contents -----------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_content(struct search *search, struct thin_content content,
				      struct thin_template *template)
{
	const struct heap_types *types = search->types;

	content.type = heap_types_strip(types, content.type);
	if (!is_complete(&types->types[content.type]) ||
	    types->types[content.type].size < LEAST_CONTENT)
		return NULL;
	for (uint32_t i = 0; i < template->contents; i++) {
		if (search->templates->contents.items[template->first_content + i].type ==
		    content.type)
			return NULL;
	}
	template->contents++;
	return heap_array_append(&search->templates->contents, content);
}

HEAP_MUST_CHECK
static struct heap_error *add_nodes(struct search *search, struct thin_template *template)
{
	const struct inner_node *list = search->nodes.items;
	size_t count = search->nodes.count;

	for (size_t i = heap_partition_point(j, 0, count, list[j].holder < template->id);
	     i < count && list[i].holder == template->id; i++)
		HEAP_TRY(add_content(search,
				     (struct thin_content){ .type = list[i].node, .is_node = true },
				     template));
	return NULL;
}

struct first_pointer {
	const struct heap_types *types;
	heap_type_id target;
};

static bool take_first(void *context, uint64_t offset, heap_type_id pointer)
{
	struct first_pointer *first = context;

	if (offset == 0)
		first->target = first->types->types[pointer].target;
	return offset != 0;
}

// Adds an argument; for a pointer, or a value that is no more than a pointer, as containers keep in its place, what that
// leads to.
HEAP_MUST_CHECK
static struct heap_error *add_argument(struct search *search, const char *argument, size_t length,
				       struct thin_template *template)
{
	struct first_pointer first = { search->types, HEAP_NO_TYPE };
	heap_type_id type;

	while (length > 0 && strchr(" *", argument[length - 1]))
		length--;
	type = class_names_find(search->names, argument, length);
	if (type == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(add_content(search, (struct thin_content){ .type = type }, template));
	if (heap_types_size(search->types, type) != sizeof(uint64_t))
		return NULL;
	heap_types_visit_pointers(search->types, type, take_first, &first);
	return add_content(search, (struct thin_content){ .type = first.target, .is_behind = true },
			   template);
}

HEAP_MUST_CHECK
static struct heap_error *add_template(struct search *search, heap_type_id id)
{
	const char *name = heap_types_name(search->types, id);
	struct type_copies copies = {
		.types = search->types,
		.are_void = true,
		.left = search->is_shared,
		.left_count = search->count,
	};
	struct thin_template template = { .id = id, .first = search->types->count };
	size_t length;

	if (!type_copies_concern(&copies, id))
		return NULL;
	template.first_content = (uint32_t)search->templates->contents.count;
	HEAP_TRY(add_nodes(search, &template));
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);

		if (!argument)
			break;
		HEAP_TRY(add_argument(search, argument, length, &template));
	}
	if (template.contents == 0)
		return NULL;
	HEAP_TRY(type_copies_change(&copies, id));
	template.end = search->types->count;
	return heap_array_append(&search->templates->list, template);
}

struct heap_error *thin_templates_init(struct thin_templates *templates, struct heap_types *types)
{
	CLEANUP(deinit)
	struct search search = {
		.types = types,
		.templates = templates,
		.count = types->count,
		.is_shared = calloc((size_t)types->count + 1, 1),
	};
	heap_type_id first = 1;

	if (!search.is_shared)
		return heap_error_out_of_memory();
	while (first < search.count && !is_instance(types, first))
		first++;
	if (first == search.count)
		return NULL;
	HEAP_TRY(class_names_create(types, &search.names));
	HEAP_TRY(find_nodes(&search));
	HEAP_TRY(find_shared(&search));
	for (heap_type_id id = first; id < search.count; id++) {
		if (is_instance(types, id) && types->count - search.count < MAX_ADDED)
			HEAP_TRY(add_template(&search, id));
	}
	return NULL;
}

void thin_templates_deinit(struct thin_templates *templates)
{
	heap_array_deinit(&templates->list);
	heap_array_deinit(&templates->contents);
}

// --- answers ----------------------------------------------------------------------------------

// The instance that a type is, or a copy of.
static const struct thin_template *find_own(const struct thin_templates *templates, heap_type_id id)
{
	const struct thin_template *list = templates->list.items;
	size_t count = templates->list.count;
	size_t at = heap_partition_point(i, 0, count, list[i].id < id);

	if (at < count && list[at].id == id)
		return &list[at];
	at = heap_partition_point(i, 0, count, list[i].end <= id);
	return at < count && list[at].first <= id ? &list[at] : NULL;
}

const struct thin_template *thin_templates_find(const struct thin_templates *templates,
						const struct layouts *layouts, heap_type_id type,
						uint64_t offset)
{
	const struct thin_template *found = NULL;

	for (int depth = 0; templates->list.count > 0 && depth < MAX_DEPTH && type != HEAP_NO_TYPE;
	     depth++) {
		heap_type_id id = layouts_strip(layouts, type);
		const struct thin_template *own = find_own(templates, id);

		found = own ? own : found;
		type = layouts_step_in(layouts, id, &offset);
	}
	return found;
}
