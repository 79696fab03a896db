// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/thrown_exceptions.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/prefixes/prefixed_types.h"
#include "dumper/writer/scan/image/page_cache.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"

#include <stdio.h>
#include <string.h>

enum {
	HEADER = 128, // bytes
	INFORMATION = 16 / 8,
	MAGIC = 96 / 8,
	MAX_NAME = 2048,
};

static const uint64_t magics[] = {
	UINT64_C(0x474e5543432b2b00), // "GNUCC++"
	UINT64_C(0x434c4e47432b2b00), // "CLNGC++"
};

struct search {
	struct capture *capture;
	struct pages *pages;
	struct class_names *names; // NULL: no exception has been found yet
};

static void search_deinit(struct search *search)
{
	pages_destroy(search->pages);
	class_names_destroy(search->names);
}

static bool is_header(const uint64_t *words)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		if (words[MAGIC] == magics[i])
			return true;
	}
	return false;
}

// The class that type information is of: its second word is the name, as symbols have it.
HEAP_MUST_CHECK
static struct heap_error *find_class(struct search *search, uint64_t information,
				     heap_type_id *result)
{
	const struct heap_types *types = &search->capture->snapshot.types;
	char symbol[MAX_NAME] = "_ZTV", mangled[MAX_NAME - sizeof("_ZTV")];
	CLEANUP_FREE char *name = NULL;
	uint64_t words[2];

	*result = HEAP_NO_TYPE;
	if (!modules_find(&search->capture->modules, information) ||
	    !image_read(&search->capture->image, information, words, sizeof(words)) ||
	    !modules_find(&search->capture->modules, words[1]))
		return NULL;
	if (!search->names)
		HEAP_TRY(class_names_create(types, &search->names));
	image_read_string(&search->capture->image, words[1], mangled, sizeof(mangled));
	strcat(symbol, mangled + (*mangled == '*'));
	name = heap_demangle_vtable(symbol);
	if (name)
		*result = class_names_find(search->names, name, strlen(name));
	return NULL;
}

// The type of blocks with exceptions of a class, which is added with the first of them.
HEAP_MUST_CHECK
static struct heap_error *require_type(struct heap_types *types,
				       const struct thrown_exceptions *known, heap_type_id class,
				       heap_type_id *result)
{
	for (size_t i = 0; i < known->list.count; i++) {
		progress_step();
		if (known->list.items[i].class == class) {
			*result = known->list.items[i].type;
			return NULL;
		}
	}
	return prefixed_types_add(types, class, HEADER, false, result);
}

HEAP_MUST_CHECK
static struct heap_error *look_at(struct search *search, heap_object_id object,
				  struct thrown_exceptions *result)
{
	const struct objects *objects = &search->capture->objects;
	const struct heap_types *types = &search->capture->snapshot.types;
	uint64_t words[HEADER / 8], size;
	heap_type_id class, type;

	if (objects_size(objects, object) <= HEADER)
		return NULL;
	pages_read(search->pages, objects_address(objects, object), words, sizeof(words));
	if (!is_header(words))
		return NULL;
	HEAP_TRY(find_class(search, words[INFORMATION], &class));
	size = class == HEAP_NO_TYPE ? 0 : heap_types_size(types, class);
	if (size == 0 || size > objects_size(objects, object) - HEADER)
		return NULL;
	HEAP_TRY(require_type(&search->capture->snapshot.types, result, class, &type));
	return heap_array_append(&result->list, (struct thrown_exception){ object, class, type });
}

// The header has pointers to the functions that are called where no code catches the exception.
struct heap_error *thrown_exceptions_find(struct capture *capture, const struct head_words *heads,
					  struct thrown_exceptions *result)
{
	CLEANUP(search_deinit) struct search search = { .capture = capture };
	const heap_object_id count = capture->objects.count;

	if (!heads->has_code)
		return NULL;
	search.pages = pages_create(&capture->image, PAGES_IN_ORDER);
	if (!search.pages)
		return heap_error_out_of_memory();
	for (heap_object_id i = head_words_next_with_code(heads, 0, count);
	     i < count && !progress_is_late(); i = head_words_next_with_code(heads, i + 1, count)) {
		progress_step();
		HEAP_TRY(look_at(&search, i, result));
	}
	return NULL;
}

void thrown_exceptions_deinit(struct thrown_exceptions *exceptions)
{
	heap_array_deinit(&exceptions->list);
}
