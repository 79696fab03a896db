// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/declared_classes.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8, // of structs that begin with structs
};

void declared_classes_deinit(struct declared_classes *classes)
{
	heap_array_deinit(&classes->beginnings);
	free(classes->most);
}

static bool is_struct(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS;
}

static bool is_declared(const struct heap_type *type)
{
	return is_struct(type) && type->members == 0 && type->size == 0;
}

static const struct heap_member *members_of(const struct heap_types *types,
					    const struct heap_type *type)
{
	return &types->members[type->first_member];
}

static const char *name_of(const struct layouts *layouts, heap_type_id type)
{
	return heap_types_string(layouts->types, layouts->types->types[type].name);
}

// Bounds the sizes of declared classes by the members behind them in a struct.
static void bound(const struct layouts *layouts, struct declared_classes *classes,
		  const struct heap_type *type)
{
	const struct heap_types *types = layouts->types;
	const struct heap_member *members = members_of(types, type);

	for (uint32_t i = 0; i + 1 < type->members; i++) {
		heap_type_id class = layouts_strip(layouts, members[i].type);
		uint64_t room = members[i + 1].offset - (uint64_t)members[i].offset;

		progress_step();
		if (is_declared(&types->types[class]) &&
		    !(members[i].flags & (HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE)) &&
		    members[i + 1].offset > members[i].offset && room < classes->most[class])
			classes->most[class] = room;
	}
}

// The declared class with which a struct begins, as a member of it or of the struct that it begins with.
static heap_type_id find_first(const struct layouts *layouts, heap_type_id whole)
{
	const struct heap_types *types = layouts->types;
	bool is_member = false;

	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type = &types->types[whole];
		const struct heap_member *first = members_of(types, type);

		progress_step();
		if (is_declared(type))
			return is_member ? whole : HEAP_NO_TYPE;
		if (!is_struct(type) || type->members == 0 || first->offset != 0)
			return HEAP_NO_TYPE;
		is_member = !(first->flags & (HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE));
		whole = layouts_strip(layouts, first->type);
	}
	return HEAP_NO_TYPE;
}

// By name: the classes of vtables are types of their own.
static int compare(const void *left, const void *right, void *context)
{
	const struct layouts *layouts = context;
	const struct declared_beginning *a = left, *b = right;
	int order = strcmp(name_of(layouts, a->class), name_of(layouts, b->class));

	if (order != 0)
		return order;
	return a->whole < b->whole ? -1 : a->whole > b->whole;
}

struct heap_error *declared_classes_init(struct declared_classes *classes,
					 const struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;

	*classes = (struct declared_classes){
		.most = malloc(((size_t)types->count + 1) * sizeof(*classes->most)),
	};
	if (!classes->most)
		return heap_error_out_of_memory();
	for (heap_type_id id = 0; id < types->count; id++)
		classes->most[id] = UINT64_MAX;
	for (heap_type_id id = 1; id < types->count; id++) {
		heap_type_id class;

		if (!layouts->facts[id].is_candidate || layouts->facts[id].stripped != id ||
		    !is_struct(&types->types[id]))
			continue;
		bound(layouts, classes, &types->types[id]);
		class = find_first(layouts, id);
		if (class != HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(&classes->beginnings,
						   ((struct declared_beginning){ class, id })));
	}
	if (classes->beginnings.count > 0)
		qsort_r(classes->beginnings.items, classes->beginnings.count,
			sizeof(struct declared_beginning), compare, (void *)layouts);
	return NULL;
}

bool declared_classes_find_whole(const struct declared_classes *classes,
				 const struct layouts *layouts, heap_type_id class, uint64_t size,
				 uint64_t slack, heap_type_id *whole)
{
	const struct declared_beginning *list = classes->beginnings.items;
	const size_t count = classes->beginnings.count;
	const char *name = name_of(layouts, class);
	size_t found = 0;

	*whole = HEAP_NO_TYPE;
	for (size_t i = heap_partition_point(at, (size_t)0, count,
					     strcmp(name_of(layouts, list[at].class), name) < 0);
	     i < count && strcmp(name_of(layouts, list[i].class), name) == 0; i++) {
		uint64_t own = layouts_size(layouts, list[i].whole);
		uint64_t most = classes->most[list[i].class];

		progress_step();
		if (most == UINT64_MAX || size <= most + slack || own > size || size - own > slack)
			continue;
		*whole = list[i].whole;
		found++;
	}
	if (found > 1)
		*whole = HEAP_NO_TYPE;
	return found > 0;
}
