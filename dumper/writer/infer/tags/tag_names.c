// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/tag_names.h"

#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAME = 256,
	MAX_DEPTH = 4, // structs in each other
};

#define PRINTABLE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-<>, "

const char *tag_names_find(const struct inference *inference, uint64_t address)
{
	const struct capture *capture = inference->capture;
	const struct module *module = modules_find(&capture->modules, address);
	const struct heap_symbol *symbol =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_OBJECT,
							     address - module->bias)
				      : NULL;
	heap_object_id object = module ? HEAP_NO_OBJECT : objects_find(&capture->objects, address);

	if (symbol)
		return symbol->name;
	if (object == HEAP_NO_OBJECT)
		return "";
	return heap_types_string(
		&capture->snapshot.types,
		capture->snapshot.types.types[names_type(&capture->names, object)].name);
}

// Reads the string of a member called "name" at the start of a block. @return false if there is none
static bool read_member_name(const struct inference *inference, uint64_t address, heap_type_id type,
			     char *name, size_t size, int depth)
{
	const struct heap_types *types = inference->layouts.types;
	const struct heap_type *whole = &types->types[type];

	if (depth == MAX_DEPTH || !layouts_is_compound(&inference->layouts, type))
		return false;
	for (uint32_t i = 0; i < whole->members; i++) {
		const struct heap_member *member = &types->members[whole->first_member + i];
		heap_type_id own = layouts_strip(&inference->layouts, member->type);
		uint64_t pointer = 0;

		if (read_member_name(inference, address + member->offset, own, name, size,
				     depth + 1))
			return true;
		if (types->types[own].kind != HEAP_TYPE_POINTER ||
		    !layouts_is_character(
			    &inference->layouts,
			    layouts_strip(&inference->layouts, types->types[own].target)) ||
		    !strstr(heap_types_string(types, member->name), "name"))
			continue;
		pages_read(inference->pages, address + member->offset, &pointer, sizeof(pointer));
		image_read_string(&inference->capture->image, pointer, name, size);
		return *name != '\0' && strspn(name, PRINTABLE) == strlen(name);
	}
	return false;
}

uint32_t tag_names_add(struct inference *inference, uint64_t address)
{
	struct capture *capture = inference->capture;
	heap_object_id object = modules_find(&capture->modules, address)
					? HEAP_NO_OBJECT
					: objects_find(&capture->objects, address);
	char name[NAME];
	const char *symbol;

	if (object != HEAP_NO_OBJECT &&
	    read_member_name(inference, inference_address(inference, object),
			     names_type(&capture->names, object), name, sizeof(name), 0))
		return strings_add(&capture->strings, name);
	symbol = tag_names_find(inference, address);

	CLEANUP_FREE char *readable = heap_demangle(symbol);

	return strings_add(&capture->strings, readable ? readable : symbol);
}
