// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/counted.h"

#include "dumper/base/header.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

// True if it is a class to which something points: else no array of it is ever found.
static bool may_be_element(const struct heap_types *types, heap_type_id pointer)
{
	const struct heap_type *type =
		&types->types[heap_types_strip(types, types->types[pointer].target)];

	return types->types[pointer].kind == HEAP_TYPE_POINTER && type->size > 0 &&
	       heap_types_has_members(type);
}

HEAP_MUST_CHECK
static struct heap_error *add_counted(struct heap_types *types, heap_type_id element,
				      heap_type_id number, heap_type_id *result)
{
	struct heap_type counted = { .kind = HEAP_TYPE_STRUCT,
				     .size = COUNTED_START,
				     .first_member = types->member_count,
				     .members = 2 };
	struct heap_member count = { .type = number };
	struct heap_member elements = { .offset = COUNTED_START };

	HEAP_TRY(heap_types_add(types,
				&(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
						     .flags = HEAP_TYPE_FLEXIBLE,
						     .target = element },
				&elements.type));
	HEAP_TRY(heap_types_add_string(types, "count", &count.name));
	HEAP_TRY(heap_types_add_member(types, &count));
	HEAP_TRY(heap_types_add_member(types, &elements));
	return heap_types_add(types, &counted, result);
}

HEAP_MUST_CHECK
static struct heap_error *add_all(struct heap_types *types, uint32_t known, heap_type_id *counted)
{
	struct heap_type number = { .kind = HEAP_TYPE_BASE, .size = sizeof(uint64_t) };
	heap_type_id number_id;

	HEAP_TRY(heap_types_add_string(types, "unsigned long", &number.name));
	HEAP_TRY(heap_types_add(types, &number, &number_id));
	for (heap_type_id i = 1; i < known; i++) {
		heap_type_id element = heap_types_strip(types, types->types[i].target);

		if (may_be_element(types, i) && counted[element] == HEAP_NO_TYPE)
			HEAP_TRY(add_counted(types, element, number_id, &counted[element]));
	}
	return NULL;
}

#define NEW_ARRAY "_Znam" // operator new[](unsigned long)

bool counted_may_be(const struct capture *capture)
{
	const struct modules *modules = &capture->modules;
	const struct module *program = modules_find(modules, capture->image.entry);

	if (capture_has_headers(capture))
		return capture->objects.all_flags & HEAPSNAP_BLOCK_NEW_ARRAY;
	for (size_t i = 0; i < modules->count; i++) {
		const struct heap_elf_file *elf = modules->modules[i].elf;

		if (elf && heap_elf_imports(elf, NEW_ARRAY))
			return true;
	}
	// It may be linked into the program.
	return program && program->elf && heap_elf_find_name(program->elf, NEW_ARRAY);
}

struct heap_error *counted_add_types(struct capture *capture, heap_type_id **counted)
{
	uint32_t known = capture->snapshot.types.count;

	*counted = calloc(known, sizeof(**counted));
	return *counted ? add_all(&capture->snapshot.types, known, *counted)
			: heap_error_out_of_memory();
}
