// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/texts.h"

#include <string.h>

void export_texts_init(struct export_texts *texts)
{
	*texts = (struct export_texts){ 0 };
	export_texts_add(texts, "");
}

void export_texts_deinit(struct export_texts *texts)
{
	heap_array_deinit(&texts->bytes);
	heap_array_deinit(&texts->offsets);
	heap_hash_table_deinit(&texts->by_text);
}

const char *export_texts_get(const struct export_texts *texts, uint32_t number)
{
	return number < texts->offsets.count ? texts->bytes.items + texts->offsets.items[number]
					     : "";
}

HEAP_MUST_CHECK
static struct heap_error *add(struct export_texts *texts, const char *text, uint64_t hash)
{
	size_t size = strlen(text) + 1;

	HEAP_TRY(heap_array_reserve(&texts->bytes, size));
	HEAP_TRY(heap_array_reserve(&texts->offsets, 1));
	HEAP_TRY(heap_hash_add(&texts->by_text, hash, (uint32_t)texts->offsets.count));
	memcpy(texts->bytes.items + texts->bytes.count, text, size);
	texts->offsets.items[texts->offsets.count++] = texts->bytes.count;
	texts->bytes.count += size;
	return NULL;
}

uint32_t export_texts_add(struct export_texts *texts, const char *text)
{
	uint64_t hash = heap_hash_string(text);
	uint32_t found = heap_hash_find(&texts->by_text, hash, i,
					strcmp(export_texts_get(texts, i), text) == 0);
	struct heap_error *error;

	if (texts->failed)
		return 0;
	if (found != HEAP_HASH_NONE)
		return found;
	error = add(texts, text, hash);
	if (error) {
		heap_error_destroy(error);
		texts->failed = true;
		return 0;
	}
	return (uint32_t)(texts->offsets.count - 1);
}
