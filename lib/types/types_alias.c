// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/cleanup.h"
#include "lib/types/types.h"

#include <stdlib.h>
#include <string.h>

enum {
	SEVERAL = UINT32_MAX, // in place of an alias: there are several
};

static bool is_unnamed(const struct heap_type *type)
{
	return type->name == 0 && type->kind >= HEAP_TYPE_STRUCT && type->kind <= HEAP_TYPE_ENUM;
}

// Finds the types whose typedefs all have one name.
static void find_aliases(const struct heap_types *types, heap_type_id *aliases)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		heap_type_id *alias = &aliases[type->target];

		if (type->kind != HEAP_TYPE_TYPEDEF || !type->name ||
		    !is_unnamed(&types->types[type->target]) || *alias == SEVERAL)
			continue;
		if (*alias == HEAP_NO_TYPE)
			*alias = id;
		else if (strcmp(heap_types_name(types, *alias), heap_types_name(types, id)) != 0)
			*alias = SEVERAL;
	}
	for (heap_type_id id = 0; id < types->count; id++) {
		if (aliases[id] == SEVERAL)
			aliases[id] = HEAP_NO_TYPE;
	}
}

static int compare_names(const void *left, const void *right, void *context)
{
	const struct heap_types *types = context;

	return strcmp(heap_types_name(types, *(const heap_type_id *)left),
		      heap_types_name(types, *(const heap_type_id *)right));
}

// Marks types that have the same alias: their formatted names tell file and line.
static void tell_apart(struct heap_types *types, heap_type_id *sorted, size_t count)
{
	qsort_r(sorted, count, sizeof(*sorted), compare_names, types);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(heap_types_name(types, sorted[i]),
			   heap_types_name(types, sorted[i - 1])) != 0)
			continue;
		types->types[types->types[sorted[i]].target].flags |= HEAP_TYPE_AMBIGUOUS;
		types->types[types->types[sorted[i - 1]].target].flags |= HEAP_TYPE_AMBIGUOUS;
	}
}

struct heap_error *heap_types_name_unnamed(struct heap_types *types)
{
	CLEANUP_FREE heap_type_id *aliases = calloc(types->count, sizeof(*aliases));
	CLEANUP_FREE heap_type_id *sorted = calloc(types->count, sizeof(*sorted));
	size_t count = 0;

	if (!aliases || !sorted)
		return heap_error_out_of_memory();
	find_aliases(types, aliases);
	for (heap_type_id id = 0; id < types->count; id++) {
		if (aliases[id])
			sorted[count++] = aliases[id];
	}
	tell_apart(types, sorted, count);
	free(types->aliases);
	types->aliases = keep(aliases);
	types->alias_count = types->count;
	return NULL;
}
