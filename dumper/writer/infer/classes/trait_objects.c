// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/trait_objects.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

bool trait_objects_concern(const struct heap_types *types, heap_type_id pointee)
{
	const struct heap_type *type = &types->types[pointee];

	return type->size == 0 && type->kind == HEAP_TYPE_STRUCT &&
	       strncmp(heap_types_string(types, type->name), "dyn ", 4) == 0;
}

// The name of the type in "<shop::Circle as shop::Shape>::{vtable}", malloc'd; NULL: it is no such name. Types
// inside have their own "<Vec<u8> as ...>".
static char *type_of_table(const char *name)
{
	const char *end = strstr(name, "::{vtable}");
	int depth = 0;

	if (*name != '<' || !end)
		return NULL;
	for (const char *at = name + 1; *at != '\0'; at++) {
		if (depth == 0 && strncmp(at, " as ", 4) == 0)
			return strndup(name + 1, (size_t)(at - name - 1));
		depth += strchr("<([", *at) != NULL;
		depth -= strchr(")]", *at) != NULL || (*at == '>' && at[-1] != '-');
	}
	return NULL;
}

// The only type of exactly that name.
static heap_type_id find_type(const struct heap_types *types, const char *name)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (heap_type_id i = 1; i < types->count; i++) {
		const struct heap_type *type = &types->types[i];

		progress_step();
		if (type->size == 0 ||
		    (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_UNION &&
		     type->kind != HEAP_TYPE_BASE && type->kind != HEAP_TYPE_ENUM) ||
		    strcmp(heap_types_string(types, type->name), name) != 0)
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = i;
	}
	return found;
}

static heap_type_id look_up(const struct capture *capture, uint64_t table)
{
	const struct module *module = modules_find(&capture->modules, table);
	const struct heap_dwarf_variable *variables;
	CLEANUP_FREE char *name = NULL;
	size_t at;

	if (!module)
		return HEAP_NO_TYPE;
	variables = module->debug.variables;
	at = heap_partition_point(i, 0, module->debug.variable_count,
				  variables[i].address < table - module->bias);
	if (at == module->debug.variable_count || variables[at].address != table - module->bias)
		return HEAP_NO_TYPE;
	name = type_of_table(heap_types_string(&module->debug.types, variables[at].name));
	return name ? find_type(&capture->snapshot.types, name) : HEAP_NO_TYPE;
}

struct heap_error *trait_objects_find(struct trait_objects *objects, const struct capture *capture,
				      uint64_t table, heap_type_id *result)
{
	uint64_t hash = heap_hash_u64(table);
	uint32_t at = heap_hash_find(&objects->by_address, hash, i,
				     objects->tables.items[i].address == table);

	if (at != HEAP_HASH_NONE) {
		*result = objects->tables.items[at].type;
		return NULL;
	}
	*result = look_up(capture, table);
	HEAP_TRY(heap_array_append(&objects->tables, (struct trait_table){ table, *result }));
	return heap_hash_add(&objects->by_address, hash, (uint32_t)objects->tables.count - 1);
}

void trait_objects_deinit(struct trait_objects *objects)
{
	heap_array_deinit(&objects->tables);
	heap_hash_table_deinit(&objects->by_address);
}
