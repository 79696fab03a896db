// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer.h"

#include "lib/cleanup.h"
#include "lib/demangle.h"

#include <string.h>

struct vtable {
	uint64_t start;
	uint64_t end;
	heap_type_id type;
};

struct vtables {
	struct vtable *tables; // [count] by address
	size_t count, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *add(struct vtables *vtables, const struct vtable *table)
{
	if (vtables->count == vtables->capacity) {
		size_t capacity = vtables->capacity ? vtables->capacity * 2 : 64;
		void *larger = realloc(vtables->tables, capacity * sizeof(*vtables->tables));

		if (!larger)
			return heap_error_out_of_memory();
		vtables->tables = larger;
		vtables->capacity = capacity;
	}
	vtables->tables[vtables->count++] = *table;
	return NULL;
}

static heap_type_id find_class(const struct heap_types *types, const char *name)
{
	heap_type_id type = HEAP_NO_TYPE;

	while ((type = heap_types_find(types, name, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		const struct heap_type *found = &types->types[type];

		if ((found->kind == HEAP_TYPE_CLASS || found->kind == HEAP_TYPE_STRUCT) &&
		    !(found->flags & HEAP_TYPE_DECLARATION))
			return type;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *add_module(struct vtables *vtables, const struct capture *capture,
				     const struct module *module)
{
	for (size_t i = 0; i < module->elf->symbol_count; i++) {
		const struct heap_symbol *symbol = &module->elf->symbols[i];

		if (symbol->kind != HEAP_SYMBOL_OBJECT || strncmp(symbol->name, "_ZTV", 4) != 0)
			continue;

		CLEANUP_FREE char *name = heap_demangle_vtable(symbol->name);
		heap_type_id type = name ? find_class(&capture->types, name) : HEAP_NO_TYPE;

		if (type == HEAP_NO_TYPE)
			continue;

		struct heap_error *error =
			add(vtables, &(struct vtable){
					     .start = symbol->address + module->bias,
					     .end = symbol->address + module->bias + symbol->size,
					     .type = type,
				     });

		if (error)
			return error;
	}
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct vtable *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

struct heap_error *vtables_create(struct capture *capture, struct vtables **result)
{
	struct vtables *vtables = calloc(1, sizeof(*vtables));
	struct heap_error *error = NULL;

	if (!vtables)
		return heap_error_out_of_memory();
	for (size_t i = 0; !error && i < capture->modules.count; i++) {
		if (capture->modules.modules[i].elf)
			error = add_module(vtables, capture, &capture->modules.modules[i]);
	}
	if (error) {
		vtables_destroy(vtables);
		return error;
	}
	if (vtables->count > 0)
		qsort(vtables->tables, vtables->count, sizeof(*vtables->tables), compare);
	*result = vtables;
	return NULL;
}

void vtables_destroy(struct vtables *vtables)
{
	if (!vtables)
		return;
	free(vtables->tables);
	free(vtables);
}

heap_type_id vtables_find(const struct vtables *vtables, uint64_t word)
{
	size_t low = 0, high = vtables->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (vtables->tables[middle].end <= word)
			low = middle + 1;
		else
			high = middle;
	}
	// A vtable pointer points past the offset to top and the type information (Itanium
	// C++ ABI, 2.5.2), so never to the symbol itself.
	if (low == vtables->count || vtables->tables[low].start >= word)
		return HEAP_NO_TYPE;
	return vtables->tables[low].type;
}
