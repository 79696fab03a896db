// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/shape_types.h"

#include "dumper/writer/infer/base_types.h"
#include "dumper/writer/infer/symbols/library_value_types.h"
#include "lib/base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[FIELD_CLASSES] = {
	[FIELD_NOTHING] = "zero",      [FIELD_POINTER] = "ptr", [FIELD_TEXT_POINTER] = "text",
	[FIELD_TEXT] = "char",         [FIELD_NUMBER] = "long", [FIELD_NEXT] = "next",
	[FIELD_PREVIOUS] = "previous", [FIELD_CHILD] = "child", [FIELD_PARENT] = "parent",
};

static uint64_t end_of(const struct shape *shape)
{
	const struct field *last = shape->count > 0 ? &shape->fields[shape->count - 1] : NULL;

	return last ? last->offset + last->words * 8 : 0;
}

static void append(char name[SHAPE_NAME_SIZE], const char *text, uint64_t count)
{
	size_t length = strlen(name);

	snprintf(name + length, SHAPE_NAME_SIZE - length, count > 1 ? "%s[%" PRIu64 "]" : "%s",
		 text, count);
}

void shape_types_describe(const struct shape_types *table, const struct shape *shape,
			  char name[SHAPE_NAME_SIZE])
{
	strcpy(name, shape->is_element ? "vector element {"
		     : shape->is_tree  ? "tree node {"
		     : shape->is_list  ? "list node {"
				       : "{");
	for (uint32_t i = 0; i < shape->count; i++) {
		const struct field *field = &shape->fields[i];

		append(name, i > 0 ? ", " : "", 1);
		append(name,
		       shape_field_is_library(field->class)
			       ? library_value_name(
					 (enum library_value)(field->class - FIELD_LIBRARY))
			       : class_names[field->class],
		       field->class == FIELD_TEXT
			       ? field->words * 8
			       : field->words / shape_field_width(table->reader, field->class));
	}
	if (end_of(shape) < shape->size) {
		append(name, shape->count > 0 ? ", byte" : "byte", 1);
		append(name, "", shape->size - end_of(shape));
	}
	append(name, "}", 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_array(struct heap_types *types, heap_type_id element, uint64_t count,
				    heap_type_id *result)
{
	return heap_types_add(types,
			      &(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
						   .target = element,
						   .count = count,
						   .size = count * types->types[element].size },
			      result);
}

// The type of a field's words. @param link  a pointer to the struct
HEAP_MUST_CHECK
static struct heap_error *find_field_type(struct shape_types *table, const struct field *field,
					  heap_type_id link, heap_type_id *result)
{
	struct heap_types *types = table->types;
	const heap_type_id of_class[FIELD_CLASSES] = {
		[FIELD_NOTHING] = table->number,    [FIELD_POINTER] = table->pointer,
		[FIELD_TEXT_POINTER] = table->text, [FIELD_TEXT] = table->reader->character,
		[FIELD_NUMBER] = table->number,
	};
	uint64_t count = field->words / shape_field_width(table->reader, field->class);

	*result = field->class >= FIELD_NEXT ? link
		  : shape_field_is_library(field->class)
			  ? table->library[field->class - FIELD_LIBRARY]
			  : of_class[field->class];
	if (field->class == FIELD_TEXT)
		return add_array(types, *result, field->words * 8, result);
	return count > 1 ? add_array(types, *result, count, result) : NULL;
}

// A link is a member of that name if it is the only one.
static bool has_own_name(const struct shape *shape, const struct field *field)
{
	uint64_t like = 0;

	for (uint32_t i = 0; i < shape->count; i++)
		like += shape->fields[i].class == field->class ? shape->fields[i].words : 0;
	return field->class >= FIELD_NEXT && like == 1;
}

HEAP_MUST_CHECK
static struct heap_error *add_member(struct heap_types *types, const char *known, uint64_t offset,
				     heap_type_id type)
{
	struct heap_member member = { .type = type, .offset = offset };
	char name[32];

	if (known)
		snprintf(name, sizeof(name), "%s", known);
	else
		snprintf(name, sizeof(name), "at_%" PRIu64, offset);
	HEAP_TRY(heap_types_add_string(types, name, &member.name));
	return heap_types_add_member(types, &member);
}

struct heap_error *shape_types_add_members(struct shape_types *table, const struct shape *shape,
					   heap_type_id id)
{
	struct heap_types *types = table->types;
	heap_type_id members[SHAPE_FIELDS + 1], link = table->pointer;
	uint64_t rest = shape->size - end_of(shape);

	if (shape->is_list || shape->is_tree)
		HEAP_TRY(heap_types_add(
			types,
			&(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8, .target = id },
			&link));
	// Their types first: the members of a type are added one after the other.
	for (uint32_t i = 0; i < shape->count; i++)
		HEAP_TRY(find_field_type(table, &shape->fields[i], link, &members[i]));
	members[shape->count] = table->reader->character;
	if (rest > 1) // an array of one would be taken for a flexible one
		HEAP_TRY(add_array(types, table->reader->character, rest, &members[shape->count]));
	types->types[id].first_member = types->member_count;
	for (uint32_t i = 0; i < shape->count; i++) {
		const struct field *field = &shape->fields[i];

		HEAP_TRY(add_member(types,
				    has_own_name(shape, field) ? class_names[field->class] : NULL,
				    field->offset, members[i]));
	}
	if (rest > 0)
		HEAP_TRY(add_member(types, NULL, end_of(shape), members[shape->count]));
	types->types[id].members = types->member_count - types->types[id].first_member;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_struct(struct shape_types *table, const struct shape *shape,
				     const char *name, heap_type_id *result)
{
	struct heap_types *types = table->types;
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT, .size = shape->size };

	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	HEAP_TRY(heap_types_add(types, &type, result));
	return shape_types_add_members(table, shape, *result);
}

struct heap_error *shape_types_find(struct shape_types *table, const struct shape *shape,
				    heap_type_id *result)
{
	const struct heap_types *types = table->types;
	char name[SHAPE_NAME_SIZE];
	uint32_t number;

	shape_types_describe(table, shape, name);

	uint64_t hash = heap_hash_mix(heap_hash_string(name), shape->size);

	number = heap_hash_find(
		&table->by_name, hash, i,
		types->types[table->ids[i]].size == shape->size &&
			strcmp(types->strings + types->types[table->ids[i]].name, name) == 0);
	if (number == HEAP_HASH_NONE) {
		number = table->by_name.count;
		HEAP_TRY(heap_reserve(table->ids, table->capacity, (size_t)number + 1));
		HEAP_TRY(add_struct(table, shape, name, &table->ids[number]));
		HEAP_TRY(heap_hash_add(&table->by_name, hash, number));
	}
	*result = table->ids[number];
	return NULL;
}

struct heap_error *shape_types_init(struct shape_types *table, const struct shape_reader *reader,
				    struct heap_types *types)
{
	*table = (struct shape_types){ .reader = reader, .types = types };
	HEAP_TRY(base_types_find_long(types, &table->number));
	HEAP_TRY(heap_types_add(types,
				&(struct heap_type){ .kind = HEAP_TYPE_POINTER,
						     .size = 8,
						     .target = reader->character },
				&table->text));
	HEAP_TRY(heap_types_add(types, &(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8 },
				&table->pointer));
	return library_value_types_find(&reader->values, types, table->library);
}

void shape_types_deinit(struct shape_types *table)
{
	heap_hash_table_deinit(&table->by_name);
	free(table->ids);
}
