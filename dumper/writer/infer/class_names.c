// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/class_names.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/types/spelling.h"

#include <stdlib.h>
#include <string.h>

struct class_names {
	const struct heap_types *types;
	struct heap_hash_table by_name; // the types with names by spelling
};

// --- index -------------------------------------------------------------------

static bool is_indexed(const struct heap_type *type)
{
	switch (type->kind) {
	case HEAP_TYPE_BASE:
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
	case HEAP_TYPE_UNION:
	case HEAP_TYPE_ENUM:
		return type->name != 0 && type->size > 0;
	default:
		return false;
	}
}

HEAP_MUST_CHECK
static struct heap_error *index_names(struct class_names *names)
{
	const struct heap_types *types = names->types;
	char spelling[HEAP_SPELLING_MAX];

	for (heap_type_id id = 1; id < types->count; id++) {
		const char *name = heap_types_string(types, types->types[id].name);

		if (!is_indexed(&types->types[id]))
			continue;
		if (heap_spell(name, strlen(name), false, spelling))
			HEAP_TRY(heap_hash_add(&names->by_name, heap_hash_string(spelling), id));
	}
	return NULL;
}

struct heap_error *class_names_create(const struct heap_types *types, struct class_names **result)
{
	CLEANUP(class_names_cleanup) struct class_names *names = calloc(1, sizeof(*names));

	if (!names)
		return heap_error_out_of_memory();
	names->types = types;
	HEAP_TRY(heap_hash_reserve(&names->by_name, types->count));
	HEAP_TRY(index_names(names));
	*result = keep(names);
	return NULL;
}

void class_names_destroy(struct class_names *names)
{
	if (!names)
		return;
	heap_hash_table_deinit(&names->by_name);
	free(names);
}

// True if two names are spelled alike.
static bool is_alike(const char *name, size_t length, const char *other, bool has_qualifiers)
{
	char one[HEAP_SPELLING_MAX], two[HEAP_SPELLING_MAX];

	heap_spell(name, length, has_qualifiers, one);
	heap_spell(other, strlen(other), has_qualifiers, two);
	return strcmp(one, two) == 0;
}

heap_type_id class_names_find(const struct class_names *names, const char *name, size_t length)
{
	char wanted[HEAP_SPELLING_MAX];
	heap_type_id found = HEAP_NO_TYPE, qualified = HEAP_NO_TYPE;
	unsigned count = 0, qualified_count = 0;

	if (!heap_spell(name, length, false, wanted) || length == 0)
		return HEAP_NO_TYPE;

	uint32_t hash = heap_hash_fold(heap_hash_string(wanted)), at = hash, id;

	while (heap_hash_next(&names->by_name, hash, &at, &id)) {
		const char *text = heap_types_string(names->types, names->types->types[id].name);

		if (strlen(text) == length && strncmp(name, text, length) == 0)
			return id;
		if (!is_alike(name, length, text, false))
			continue;
		found = id;
		count++;
		// An instance for a const type is another class.
		if (is_alike(name, length, text, true)) {
			qualified = id;
			qualified_count++;
		}
	}
	if (count == 1)
		return found;
	return qualified_count == 1 ? qualified : HEAP_NO_TYPE;
}
