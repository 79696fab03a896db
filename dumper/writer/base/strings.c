// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/strings.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct heap_error *strings_init(struct strings *strings)
{
	*strings = (struct strings){
		.bytes = calloc(1, 4096),
		.size = 1,
		.capacity = 4096,
	};
	return strings->bytes ? NULL : heap_error_out_of_memory();
}

struct heap_error *strings_adopt(struct strings *strings, const char *bytes, size_t size)
{
	HEAP_TRY(heap_reserve(strings->bytes, strings->capacity, size + 1));
	memcpy(strings->bytes, bytes, size);
	// A text that is added later is not looked for among these.
	strings->size = size > 0 ? size : 1;
	return NULL;
}

void strings_deinit(struct strings *strings)
{
	free(strings->bytes);
	heap_hash_table_deinit(&strings->by_text);
}

char *strings_take(struct strings *strings, uint64_t *size)
{
	char *bytes = keep(strings->bytes);

	*size = strings->size;
	strings_deinit(strings);
	*strings = (struct strings){ 0 };
	return bytes;
}

HEAP_MUST_CHECK
static struct heap_error *append(struct strings *strings, const char *text, uint64_t hash)
{
	size_t size = strlen(text) + 1;

	if (size > UINT32_MAX - strings->size)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_reserve(strings->bytes, strings->capacity, strings->size + size));
	HEAP_TRY(heap_hash_add(&strings->by_text, hash, (uint32_t)strings->size));
	memcpy(strings->bytes + strings->size, text, size);
	strings->size += size;
	return NULL;
}

uint32_t strings_add(struct strings *strings, const char *text)
{
	if (!text || !*text)
		return 0;

	uint64_t hash = heap_hash_string(text);
	uint32_t end = (uint32_t)strings->size;
	uint32_t found =
		heap_hash_find(&strings->by_text, hash, i, strcmp(strings->bytes + i, text) == 0);

	if (found != HEAP_HASH_NONE)
		return found;

	struct heap_error *error = append(strings, text, hash);

	heap_error_destroy(error);
	return error ? 0 : end;
}
