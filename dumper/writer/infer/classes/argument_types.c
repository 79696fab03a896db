// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/argument_types.h"

#include "dumper/writer/infer/classes/type_copies.h"
#include "lib/base/cleanup.h"

#include <string.h>

enum {
	MAX_POINTERS = 8, // to pointers
};

size_t argument_types_strip(const char *name, size_t length)
{
	static const char word[] = "const";

	for (;;) {
		while (length > 0 && name[length - 1] == ' ')
			length--;
		if (length <= strlen(word) ||
		    strncmp(name + length - strlen(word), word, strlen(word)) != 0 ||
		    !strchr(" *>", name[length - strlen(word) - 1]))
			return length;
		length -= strlen(word);
	}
}

// The class or base type at the end of an argument's pointers. @param pointers  gets their number
static heap_type_id find_last(const struct class_names *names, const char *name, size_t length,
			      unsigned *pointers)
{
	*pointers = 0;
	length = argument_types_strip(name, length);
	while (length > 0 && name[length - 1] == '*') {
		++*pointers;
		length = argument_types_strip(name, length - 1);
	}
	return *pointers > MAX_POINTERS ? HEAP_NO_TYPE : class_names_find(names, name, length);
}

uint64_t argument_types_size(const struct heap_types *types, const struct class_names *names,
			     const char *name, size_t length)
{
	unsigned pointers;
	heap_type_id type = find_last(names, name, length, &pointers);

	return type == HEAP_NO_TYPE ? 0 : pointers > 0 ? 8 : heap_types_size(types, type);
}

struct heap_error *argument_types_find(struct heap_types *types, const struct class_names *names,
				       const char *name, size_t length, heap_type_id *result)
{
	unsigned pointers;

	*result = find_last(names, name, length, &pointers);
	if (*result == HEAP_NO_TYPE)
		return NULL;
	for (; pointers > 0; pointers--)
		HEAP_TRY(type_copies_add_pointer(types, *result, result));
	return NULL;
}
