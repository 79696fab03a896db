// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/byte_storage.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/argument_types.h"
#include "dumper/writer/infer/classes/type_copies.h"
#include "lib/base/cleanup.h"
#include "lib/types/templates.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 6, // of unions and structs around bytes
	MAX_VISITS =
		4096, // members in one class, several of which may be at one place, and nested in each other
	MAX_VOIDS = 64,   // void pointers in a union; more are no alignment
	MAX_COUNT = 1024, // values in one storage
	MAX_NAMELESS = 4, // structs without a name around a member
	LEAST_VALUE = 8,  // bytes
	ALIGNMENT = 8,    // of storage
};

struct search {
	struct heap_types *types;
	const struct class_names *names;
	struct heap_template_arguments arguments; // of the class, or of one around it
	bool is_node;    // the class that has the storage has pointers beside it
	unsigned visits; // of MAX_VISITS
};

// --- storage -------------------------------------------------------------------

// True for a struct or union that says itself what it holds: it has a name of its own, as that of a digest, or arguments that
// are not all numbers.
static bool says_content(const char *name)
{
	struct heap_template_arguments arguments;

	if (*name == '\0')
		return false;
	heap_template_list(name, &arguments);
	for (unsigned i = 0; i < arguments.count; i++) {
		if (!isdigit((unsigned char)*arguments.list[i].text))
			return true;
	}
	return arguments.count == 0;
}

static bool visit(struct search *search)
{
	progress_step();
	return search->visits++ < MAX_VISITS;
}

static bool is_bytes(struct search *search, heap_type_id id, int depth);

// True if nothing but bytes lies in a struct or union; one may be there for its alignment alone.
static bool has_only_bytes(struct search *search, const struct heap_type *type, int depth)
{
	const struct heap_types *types = search->types;
	bool found = false;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!visit(search) ||
		    member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD))
			return false;
		if (!found && member->offset == 0 &&
		    heap_types_size(types, member->type) == type->size &&
		    is_bytes(search, member->type, depth + 1))
			found = true;
		else if (type->kind != HEAP_TYPE_UNION ||
			 heap_types_has_members(
				 &types->types[heap_types_strip(types, member->type)]))
			return false;
	}
	return found;
}

// True for an array of bytes, or a struct or union that wraps one.
static bool is_bytes(struct search *search, heap_type_id id, int depth)
{
	const struct heap_types *types = search->types;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];

	if (depth > MAX_DEPTH)
		return false;
	if (type->kind == HEAP_TYPE_ARRAY) {
		heap_type_id element = heap_types_strip(types, type->target);

		return (types->types[element].size == 1 &&
			(types->types[element].kind == HEAP_TYPE_BASE ||
			 types->types[element].kind == HEAP_TYPE_ENUM)) ||
		       is_bytes(search, element, depth + 1);
	}
	return heap_types_has_members(type) && !says_content(heap_types_name(types, id)) &&
	       has_only_bytes(search, type, depth);
}

// --- arguments -----------------------------------------------------------------

// The values that a storage holds.
struct content {
	struct heap_template_text argument; // that names it
	uint64_t count;                     // 0: it is not known
};

// True if one of a template's arguments is a number.
static bool has_number(const struct heap_template_arguments *arguments, uint64_t number)
{
	for (unsigned i = 0; i < arguments->count; i++) {
		const char *argument = arguments->list[i].text;

		if (isdigit((unsigned char)*argument) && strtoull(argument, NULL, 10) == number)
			return true;
	}
	return false;
}

// How many values of an argument's type fill a storage; 0: they do not, or the type is not known.
static uint64_t count_values(const struct search *search, const struct heap_template_text *argument,
			     uint64_t size)
{
	uint64_t stride =
		argument_types_size(search->types, search->names, argument->text, argument->length);
	uint64_t count = stride < LEAST_VALUE || size % stride != 0 ? 0 : size / stride;

	return count == 1 || (count <= MAX_COUNT && has_number(&search->arguments, count)) ? count
											   : 0;
}

// Finds the only argument whose values fill a storage.
//
// @param leads  pointers stand for what they lead to
static struct content find_content(const struct search *search, uint64_t size, bool leads)
{
	struct content found = { .count = 0 };

	for (unsigned i = 0; i < search->arguments.count; i++) {
		struct heap_template_text argument = search->arguments.list[i];
		uint64_t count;

		if (leads && (argument.length == 0 || argument.text[argument.length - 1] != '*'))
			continue;
		argument.length -= leads;
		count = count_values(search, &argument, size);
		if (count > 0 && found.count > 0)
			return (struct content){ .count = 0 };
		if (count > 0)
			found = (struct content){ argument, count };
	}
	return found;
}

static bool mentions(const struct heap_template_text *text, const struct heap_template_text *part)
{
	return part->length > 0 &&
	       memmem(text->text, text->length, part->text, part->length) != NULL;
}

// True if a class may hold a value of another argument in the same place. Allocators and the like mention the value.
static bool may_hold_another(const struct search *search, const struct content *content)
{
	for (unsigned i = 0; i < search->arguments.count; i++) {
		const struct heap_template_text *argument = &search->arguments.list[i];

		if (argument->length == 0 || argument->text[argument->length - 1] == '*' ||
		    mentions(argument, &content->argument) ||
		    mentions(&content->argument, argument))
			continue;
		if (argument_types_size(search->types, search->names, argument->text,
					argument->length) > 1)
			return true;
	}
	return false;
}

// --- completing ----------------------------------------------------------------

// Adds a union with no other member than a value: where nothing may have been constructed, contents say nothing.
HEAP_MUST_CHECK
static struct heap_error *add_delayed(struct heap_types *types, heap_type_id value,
				      heap_type_id *result)
{
	struct heap_member member = { .type = value };

	HEAP_TRY(heap_types_add_string(types, "value", &member.name));
	HEAP_TRY(heap_types_add_member(types, &member));
	return heap_types_add(types,
			      &(struct heap_type){ .kind = HEAP_TYPE_UNION,
						   .size = heap_types_size(types, value),
						   .first_member = types->member_count - 1,
						   .members = 1 },
			      result);
}

// Adds an array of so many, unless there is but one.
HEAP_MUST_CHECK
static struct heap_error *add_array(struct heap_types *types, uint64_t count, heap_type_id *type)
{
	return count == 1 ? NULL
			  : heap_types_add(types,
					   &(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
								.target = *type,
								.count = count },
					   type);
}

// Gives a member the type of what the bytes hold. A node always has its value; others may not.
HEAP_MUST_CHECK
static struct heap_error *fill(const struct search *search, uint32_t member, uint64_t size)
{
	struct content content = find_content(search, size, false);
	heap_type_id type;

	if (content.count == 0 && search->is_node)
		content = find_content(search, size, true);
	if (content.count == 0 || may_hold_another(search, &content))
		return NULL;
	HEAP_TRY(argument_types_find(search->types, search->names, content.argument.text,
				     content.argument.length, &type));
	if (content.count > 1 || !search->is_node)
		HEAP_TRY(add_delayed(search->types, type, &type));
	HEAP_TRY(add_array(search->types, content.count, &type));
	search->types->members[member].type = type;
	return NULL;
}

struct voids {
	const struct heap_types *types;
	unsigned count;
};

// Lets void pointers pass: they may be there for the alignment alone.
static bool stop_at_typed(void *context, uint64_t offset, heap_type_id pointer)
{
	struct voids *voids = context;

	(void)offset;
	return voids->types->types[pointer].target == HEAP_NO_TYPE && ++voids->count < MAX_VOIDS;
}

// True if a union has other values than bytes, as the link of a slot that is free. Then bytes are that of a pool.
static bool has_choices(const struct heap_types *types, heap_type_id id)
{
	struct voids voids = { types, 0 };

	return types->types[id].kind == HEAP_TYPE_UNION &&
	       !heap_types_visit_pointers(types, id, stop_at_typed, &voids);
}

HEAP_MUST_CHECK
static struct heap_error *complete(struct search *search, heap_type_id id, int depth)
{
	struct heap_types *types = search->types;
	const uint32_t first = types->types[id].first_member, count = types->types[id].members;

	if (has_choices(types, id))
		return NULL;
	for (uint32_t i = first; i < first + count && visit(search); i++) {
		const struct heap_member member = types->members[i];
		heap_type_id type = heap_types_strip(types, member.type);
		uint64_t size = heap_types_size(types, type);

		if (member.flags || member.offset % ALIGNMENT != 0)
			continue;
		if (size >= LEAST_VALUE && is_bytes(search, type, 0))
			HEAP_TRY(fill(search, i, size));
		else if (depth < MAX_NAMELESS && heap_types_has_members(&types->types[type]) &&
			 *heap_types_name(types, type) == '\0')
			HEAP_TRY(complete(search, type, depth + 1));
	}
	return NULL;
}

// Lists the arguments of a class, without const behind them.
static void list_arguments(const struct heap_types *types, heap_type_id id,
			   struct heap_template_arguments *arguments)
{
	heap_template_list(heap_types_name(types, id), arguments);
	for (unsigned i = 0; i < arguments->count; i++) {
		struct heap_template_text *argument = &arguments->list[i];

		argument->length = argument_types_strip(argument->text, argument->length);
	}
}

struct heap_error *byte_storage_complete(struct heap_types *types)
{
	CLEANUP(class_names_cleanup) struct class_names *names = NULL;
	heap_type_id count = types->count; // without those that are added here

	HEAP_TRY(class_names_create(types, &names));
	for (heap_type_id id = 1; id < count; id++) {
		struct search search = { .types = types, .names = names };

		if (!heap_types_has_members(&types->types[id]) || types->types[id].size == 0)
			continue;
		list_arguments(types, id, &search.arguments);
		if (search.arguments.count == 0 ||
		    heap_template_length(heap_types_name(types, id)) == 0)
			continue;
		search.is_node = heap_types_has_pointers(types, id);
		HEAP_TRY(complete(&search, id, 0));
	}
	return NULL;
}
