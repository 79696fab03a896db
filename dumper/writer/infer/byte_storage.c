// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/byte_storage.h"

#include "dumper/writer/infer/argument_types.h"
#include "dumper/writer/infer/type_copies.h"
#include "lib/base/cleanup.h"
#include "lib/types/templates.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ARGUMENTS = 8, // of a template
	MAX_DEPTH = 6,     // of unions and structs around bytes
	MAX_COUNT = 1024,  // values in one storage
	MAX_NAMELESS = 4,  // structs without a name around a member
	LEAST_VALUE = 8,   // bytes
	ALIGNMENT = 8,     // of storage
};

struct search {
	struct heap_types *types;
	const struct class_names *names;
	const char *scope; // the name of a template's instance, or of something inside of it
	bool is_node;      // the class that has the storage has pointers beside it
};

// --- storage -------------------------------------------------------------------

// True for a struct or union that says itself what it holds: it has a name of its own, as that of a digest, or arguments that
// are not all numbers.
static bool says_content(const char *name)
{
	size_t length;
	const char *argument;

	if (*name != '\0' && !strchr(name, '<'))
		return true;
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		argument = heap_template_argument(name, i, &length);
		if (!argument)
			break;
		if (!isdigit((unsigned char)*argument))
			return true;
	}
	return false;
}

static bool is_bytes(const struct heap_types *types, heap_type_id id, int depth);

// True if nothing but bytes lies in a struct or union; one may be there for its alignment alone.
static bool has_only_bytes(const struct heap_types *types, const struct heap_type *type, int depth)
{
	bool found = false;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD))
			return false;
		if (!found && member->offset == 0 &&
		    heap_types_size(types, member->type) == type->size &&
		    is_bytes(types, member->type, depth + 1))
			found = true;
		else if (type->kind != HEAP_TYPE_UNION ||
			 heap_types_has_members(
				 &types->types[heap_types_strip(types, member->type)]))
			return false;
	}
	return found;
}

// True for an array of bytes, or a struct or union that wraps one.
static bool is_bytes(const struct heap_types *types, heap_type_id id, int depth)
{
	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];

	if (depth > MAX_DEPTH)
		return false;
	if (type->kind == HEAP_TYPE_ARRAY) {
		heap_type_id element = heap_types_strip(types, type->target);

		return (types->types[element].size == 1 &&
			(types->types[element].kind == HEAP_TYPE_BASE ||
			 types->types[element].kind == HEAP_TYPE_ENUM)) ||
		       is_bytes(types, element, depth + 1);
	}
	return heap_types_has_members(type) && !says_content(heap_types_name(types, id)) &&
	       has_only_bytes(types, type, depth);
}

// --- arguments -----------------------------------------------------------------

// What a storage holds.
struct content {
	heap_type_id type;
	uint64_t count;
	const char *argument; // that names it
	size_t length;
};

// True if one of a template's arguments is a number.
static bool has_number(const char *scope, uint64_t number)
{
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		size_t length;
		const char *argument = heap_template_argument(scope, i, &length);

		if (!argument)
			return false;
		if (isdigit((unsigned char)*argument) && strtoull(argument, NULL, 10) == number)
			return true;
	}
	return false;
}

// True if a storage has room for values of a type, and no more. @param count  gets their number
static bool fits(const struct search *search, heap_type_id type, uint64_t size, uint64_t *count)
{
	uint64_t stride = type == HEAP_NO_TYPE ? 0 : heap_types_size(search->types, type);

	if (stride < LEAST_VALUE || size % stride != 0 || size / stride > MAX_COUNT)
		return false;
	*count = size / stride;
	return *count == 1 || has_number(search->scope, *count);
}

// Finds what an argument names, or that which it leads to. @return whether it fits the storage
HEAP_MUST_CHECK
static struct heap_error *try_argument(const struct search *search, const char *argument,
				       size_t length, bool leads, uint64_t size,
				       struct content *content, bool *does_fit)
{
	heap_type_id type;

	*does_fit = false;
	length = argument_types_strip(argument, length);
	if (leads && (length == 0 || argument[length - 1] != '*'))
		return NULL;
	HEAP_TRY(
		argument_types_find(search->types, search->names, argument, length - leads, &type));
	*does_fit = fits(search, type, size, &content->count);
	content->type = type;
	content->argument = argument;
	content->length = length - leads;
	return NULL;
}

// Finds the only argument whose values fill a storage.
//
// @param leads  pointers stand for what they lead to
HEAP_MUST_CHECK
static struct heap_error *find_content(const struct search *search, uint64_t size, bool leads,
				       struct content *result)
{
	unsigned found = 0;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		struct content content;
		size_t length;
		bool does_fit;
		const char *argument = heap_template_argument(search->scope, i, &length);

		if (!argument)
			break;
		HEAP_TRY(try_argument(search, argument, length, leads, size, &content, &does_fit));
		if (!does_fit)
			continue;
		found++;
		*result = content;
	}
	if (found != 1)
		result->type = HEAP_NO_TYPE;
	return NULL;
}

static bool mentions(const char *text, size_t length, const char *part, size_t part_length)
{
	return part_length > 0 && memmem(text, length, part, part_length) != NULL;
}

// True if a class may hold a value of another argument in the same place. Allocators and the like mention the value.
static bool may_hold_another(const struct search *search, const struct content *content)
{
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		size_t length;
		const char *argument = heap_template_argument(search->scope, i, &length);
		heap_type_id type;

		if (!argument)
			break;
		length = argument_types_strip(argument, length);
		if (length == 0 || argument[length - 1] == '*' ||
		    mentions(argument, length, content->argument, content->length) ||
		    mentions(content->argument, content->length, argument, length))
			continue;
		type = class_names_find(search->names, argument, length);
		if (type != HEAP_NO_TYPE && heap_types_size(search->types, type) > 1)
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
	struct content content = { HEAP_NO_TYPE, 0, NULL, 0 };
	heap_type_id type;

	HEAP_TRY(find_content(search, size, false, &content));
	if (content.type == HEAP_NO_TYPE && search->is_node)
		HEAP_TRY(find_content(search, size, true, &content));
	if (content.type == HEAP_NO_TYPE || may_hold_another(search, &content))
		return NULL;
	type = content.type;
	if (content.count > 1 || !search->is_node)
		HEAP_TRY(add_delayed(search->types, type, &type));
	HEAP_TRY(add_array(search->types, content.count, &type));
	search->types->members[member].type = type;
	return NULL;
}

static bool stop_at_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	(void)context;
	(void)offset;
	(void)pointer;
	return false;
}

// Lets void pointers pass: they may be there for the alignment alone.
static bool stop_at_typed(void *context, uint64_t offset, heap_type_id pointer)
{
	const struct heap_types *types = context;

	(void)offset;
	return types->types[pointer].target == HEAP_NO_TYPE;
}

// True if a union has other values than bytes, as the link of a slot that is free. Then bytes are that of a pool.
static bool has_choices(struct heap_types *types, heap_type_id id)
{
	return types->types[id].kind == HEAP_TYPE_UNION &&
	       !heap_types_visit_pointers(types, id, stop_at_typed, types);
}

HEAP_MUST_CHECK
static struct heap_error *complete(const struct search *search, heap_type_id id, int depth)
{
	struct heap_types *types = search->types;
	const uint32_t first = types->types[id].first_member, count = types->types[id].members;

	if (has_choices(types, id))
		return NULL;
	for (uint32_t i = first; i < first + count; i++) {
		const struct heap_member member = types->members[i];
		heap_type_id type = heap_types_strip(types, member.type);
		uint64_t size = heap_types_size(types, type);

		if (member.flags || member.offset % ALIGNMENT != 0)
			continue;
		if (size >= LEAST_VALUE && is_bytes(types, type, 0))
			HEAP_TRY(fill(search, i, size));
		else if (depth < MAX_NAMELESS && heap_types_has_members(&types->types[type]) &&
			 *heap_types_name(types, type) == '\0')
			HEAP_TRY(complete(search, type, depth + 1));
	}
	return NULL;
}

struct heap_error *byte_storage_complete(struct heap_types *types)
{
	CLEANUP(class_names_cleanup) struct class_names *names = NULL;
	heap_type_id count = types->count; // without those that are added here

	HEAP_TRY(class_names_create(types, &names));
	for (heap_type_id id = 1; id < count; id++) {
		struct search search = { types, names, heap_types_name(types, id), false };

		if (!heap_types_has_members(&types->types[id]) || types->types[id].size == 0 ||
		    !strchr(search.scope, '<') || heap_template_length(search.scope) == 0)
			continue;
		search.is_node = !heap_types_visit_pointers(types, id, stop_at_pointer, NULL);
		HEAP_TRY(complete(&search, id, 0));
	}
	return NULL;
}
