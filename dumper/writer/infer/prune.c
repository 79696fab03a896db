// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prune.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>

static void need(bool *needed, heap_type_id *stack, size_t *depth, heap_type_id type)
{
	if (needed[type])
		return;
	needed[type] = true;
	stack[(*depth)++] = type;
}

// Adds what needed types refer to. Each type is on the stack once at most.
HEAP_MUST_CHECK
static struct heap_error *close_over(const struct heap_types *types, bool *needed)
{
	CLEANUP_FREE heap_type_id *stack = calloc(types->count, sizeof(*stack));
	size_t depth = 0;

	if (!stack)
		return heap_error_out_of_memory();
	for (heap_type_id id = 0; id < types->count; id++) {
		if (needed[id])
			stack[depth++] = id;
	}
	while (depth > 0) {
		const struct heap_type *type = &types->types[stack[--depth]];

		need(needed, stack, &depth, type->target);
		for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
			need(needed, stack, &depth, types->members[type->first_member + i].type);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_members(const struct heap_types *types, const struct heap_type *type,
				       const heap_type_id *map, struct heap_types *result)
{
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_member member = types->members[type->first_member + i];

		HEAP_TRY(heap_types_add_string(result, heap_types_string(types, member.name),
					       &member.name));
		member.type = map[member.type];
		HEAP_TRY(heap_types_add_member(result, &member));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_enumerators(const struct heap_types *types,
					   const struct heap_type *type, struct heap_types *result)
{
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_enumerator enumerator = types->enumerators[type->first_member + i];

		HEAP_TRY(heap_types_add_string(result, heap_types_string(types, enumerator.name),
					       &enumerator.name));
		HEAP_TRY(heap_types_add_enumerator(result, &enumerator));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_type(const struct heap_types *types, heap_type_id id,
				    const heap_type_id *map, struct heap_types *result)
{
	struct heap_type type = types->types[id];
	heap_type_id added;

	HEAP_TRY(heap_types_add_string(result, heap_types_string(types, type.name), &type.name));
	HEAP_TRY(heap_types_add_string(result, heap_types_string(types, type.file), &type.file));
	type.target = map[type.target];
	type.first_member = 0;
	if (heap_types_has_members(&type)) {
		type.first_member = result->member_count;
		HEAP_TRY(copy_members(types, &types->types[id], map, result));
	} else if (type.kind == HEAP_TYPE_ENUM) {
		type.first_member = result->enumerator_count;
		HEAP_TRY(copy_enumerators(types, &types->types[id], result));
	}
	return heap_types_add(result, &type, &added);
}

// A type without a name is known by its typedef, though nothing may refer to that.
static void need_typedefs(const struct heap_types *types, bool *needed)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_TYPEDEF && needed[type->target] &&
		    types->types[type->target].name == 0)
			needed[id] = true;
	}
}

static int compare_names(const void *left, const void *right, void *context)
{
	const struct heap_types *types = context;
	const struct heap_type *a = &types->types[*(const heap_type_id *)left];
	const struct heap_type *b = &types->types[*(const heap_type_id *)right];

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name; // strings are kept once
}

// Types that had to be told from others by file and line, such as from one of libc's, and no
// longer have to: the others are gone.
HEAP_MUST_CHECK
static struct heap_error *forget_others(struct heap_types *types)
{
	CLEANUP_FREE heap_type_id *ambiguous = calloc(types->count, sizeof(*ambiguous));
	size_t count = 0;

	if (!ambiguous)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < types->count; id++) {
		if (types->types[id].flags & HEAP_TYPE_AMBIGUOUS)
			ambiguous[count++] = id;
	}
	qsort_r(ambiguous, count, sizeof(*ambiguous), compare_names, types);
	for (size_t i = 0; i < count; i++) {
		bool is_alone =
			(i == 0 || compare_names(&ambiguous[i - 1], &ambiguous[i], types)) &&
			(i + 1 == count || compare_names(&ambiguous[i], &ambiguous[i + 1], types));

		if (is_alone)
			types->types[ambiguous[i]].flags &= (uint8_t)~HEAP_TYPE_AMBIGUOUS;
	}
	return NULL;
}

struct heap_error *prune_types(const struct heap_types *types, bool *needed, heap_type_id *map,
			       struct heap_types *result)
{
	CLEANUP(heap_types_deinit) struct heap_types kept = { 0 };
	heap_type_id next = 1;

	HEAP_TRY(close_over(types, needed));
	need_typedefs(types, needed);
	map[0] = HEAP_NO_TYPE;
	for (heap_type_id id = 1; id < types->count; id++)
		map[id] = needed[id] ? next++ : HEAP_NO_TYPE;
	HEAP_TRY(heap_types_init(&kept));
	for (heap_type_id id = 1; id < types->count; id++) {
		if (needed[id])
			HEAP_TRY(copy_type(types, id, map, &kept));
	}
	HEAP_TRY(forget_others(&kept));
	*result = keep(kept);
	return NULL;
}
