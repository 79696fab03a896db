// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/argument_types.h"

#include "dumper/writer/infer/type_copies.h"
#include "lib/base/cleanup.h"

#include <string.h>

size_t argument_types_strip(const char *name, size_t length)
{
	static const char word[] = "const";

	while (length > 0 && name[length - 1] == ' ')
		length--;
	if (length > strlen(word) &&
	    strncmp(name + length - strlen(word), word, strlen(word)) == 0 &&
	    strchr(" *>", name[length - strlen(word) - 1]))
		return argument_types_strip(name, length - strlen(word));
	return length;
}

struct heap_error *argument_types_find(struct heap_types *types, const struct class_names *names,
				       const char *name, size_t length, heap_type_id *result)
{
	unsigned pointers = 0;

	length = argument_types_strip(name, length);
	while (length > 0 && name[length - 1] == '*') {
		pointers++;
		length = argument_types_strip(name, length - 1);
	}
	*result = class_names_find(names, name, length);
	if (*result == HEAP_NO_TYPE)
		return NULL;
	for (; pointers > 0; pointers--)
		HEAP_TRY(type_copies_add_pointer(types, *result, result));
	return NULL;
}
