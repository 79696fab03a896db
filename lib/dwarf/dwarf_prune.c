// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_prune.h"

#include "lib/base/cleanup.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

struct pruning {
	const struct heap_types *from;
	heap_type_id *stack; // [count] kept, but what they refer to is yet to be marked
	uint32_t count;
	heap_type_id *map; // [from->count] 0: left out; else where it is then
	struct heap_types result;
};

// --- what stays ----------------------------------------------------------------------------

static bool is_worth_it(const struct heap_types *types, const struct heap_type *type)
{
	switch (type->kind) {
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
	case HEAP_TYPE_UNION:
		return type->members || type->size > 1;
	case HEAP_TYPE_ENUM:
		return type->members;
	case HEAP_TYPE_BASE:
		return true;
	case HEAP_TYPE_TYPEDEF:
		return !strchr(heap_types_string(types, type->name), '<');
	default:
		return false;
	}
}

// Marks a type; what it refers to is marked when it is its turn.
static void mark(struct pruning *pruning, heap_type_id id)
{
	if (pruning->map[id])
		return;
	pruning->map[id] = 1;
	pruning->stack[pruning->count++] = id;
}

static void mark_parts(struct pruning *pruning)
{
	const struct heap_types *types = pruning->from;

	while (pruning->count) {
		const struct heap_type *type = &types->types[pruning->stack[--pruning->count]];

		mark(pruning, type->target);
		for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
			mark(pruning, types->members[type->first_member + i].type);
	}
}

static void mark_all(struct pruning *pruning, const struct heap_dwarf_info *debug)
{
	const struct heap_types *types = pruning->from;

	for (heap_type_id id = 0; id < types->count; id++)
		if (id == HEAP_NO_TYPE || is_worth_it(types, &types->types[id]))
			mark(pruning, id);
	for (uint32_t i = 0; i < debug->variable_count; i++)
		mark(pruning, debug->variables[i].type);
	mark_parts(pruning);
	// Pointers to pointers, too: a pointer comes after what it points to, mostly.
	for (heap_type_id id = 1; id < types->count; id++)
		if (types->types[id].kind == HEAP_TYPE_POINTER &&
		    pruning->map[types->types[id].target])
			mark(pruning, id);
	mark_parts(pruning);
}

// --- copies of that ------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *copy_string(struct pruning *pruning, uint32_t *string)
{
	return heap_types_add_string(&pruning->result, heap_types_string(pruning->from, *string),
				     string);
}

HEAP_MUST_CHECK
static struct heap_error *copy_members(struct pruning *pruning, struct heap_type *type)
{
	const struct heap_member *members = pruning->from->members + type->first_member;

	type->first_member = pruning->result.member_count;
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_member member = members[i];

		member.type = pruning->map[member.type];
		HEAP_TRY(copy_string(pruning, &member.name));
		HEAP_TRY(heap_types_add_member(&pruning->result, &member));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_enumerators(struct pruning *pruning, struct heap_type *type)
{
	const struct heap_enumerator *values = pruning->from->enumerators + type->first_member;

	type->first_member = pruning->result.enumerator_count;
	for (uint32_t i = 0; i < type->members; i++) {
		struct heap_enumerator value = values[i];

		HEAP_TRY(copy_string(pruning, &value.name));
		HEAP_TRY(heap_types_add_enumerator(&pruning->result, &value));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *copy_type(struct pruning *pruning, heap_type_id id)
{
	struct heap_type type = pruning->from->types[id];

	HEAP_TRY(copy_string(pruning, &type.name));
	HEAP_TRY(copy_string(pruning, &type.file));
	type.target = pruning->map[type.target];
	if (type.members)
		HEAP_TRY(type.kind == HEAP_TYPE_ENUM ? copy_enumerators(pruning, &type)
						     : copy_members(pruning, &type));
	return heap_types_add(&pruning->result, &type, &id);
}

HEAP_MUST_CHECK
static struct heap_error *copy_all(struct pruning *pruning, struct heap_dwarf_variable *variables,
				   uint32_t variable_count)
{
	heap_type_id next = 1;

	pruning->map[HEAP_NO_TYPE] = HEAP_NO_TYPE;
	for (heap_type_id id = 1; id < pruning->from->count; id++)
		if (pruning->map[id])
			pruning->map[id] = next++;
	for (heap_type_id id = 1; id < pruning->from->count; id++)
		if (pruning->map[id])
			HEAP_TRY(copy_type(pruning, id));
	for (uint32_t i = 0; i < variable_count; i++) {
		variables[i].type = pruning->map[variables[i].type];
		HEAP_TRY(copy_string(pruning, &variables[i].name));
		HEAP_TRY(copy_string(pruning, &variables[i].file));
	}
	return NULL;
}

// Types are named as they were, so that two of one name stay told apart.
struct heap_error *heap_dwarf_info_prune(struct heap_dwarf_info *debug)
{
	CLEANUP_FREE heap_type_id *map = calloc(debug->types.count, sizeof(*map));
	CLEANUP_FREE heap_type_id *stack = calloc(debug->types.count, sizeof(*stack));
	CLEANUP_FREE struct heap_dwarf_variable *variables =
		calloc(debug->variable_count + 1, sizeof(*variables));
	struct pruning pruning = { .from = &debug->types, .stack = stack, .map = map };
	struct heap_error *error = NULL;

	if (!map || !stack || !variables)
		return heap_error_out_of_memory();
	if (debug->variable_count)
		memcpy(variables, debug->variables, debug->variable_count * sizeof(*variables));
	error = heap_types_init(&pruning.result);
	if (error)
		return error;
	mark_all(&pruning, debug);
	error = copy_all(&pruning, variables, debug->variable_count);
	if (error) {
		heap_types_deinit(&pruning.result);
		return error;
	}
	heap_types_drop_index(&pruning.result);
	heap_types_deinit(&debug->types);
	debug->types = pruning.result;
	free(debug->variables);
	debug->variables = keep(variables);
	return NULL;
}
