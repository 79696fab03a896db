// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/head_words.h"

#include <stdlib.h>

enum {
	MAX_WORDS = 1 << 20, // different ones
};

struct heap_error *head_words_init(struct head_words *heads, heap_object_id objects)
{
	*heads = (struct head_words){ .with_code = calloc((size_t)objects / 8 + 1, 1) };
	return heads->with_code ? NULL : heap_error_out_of_memory();
}

void head_words_deinit(struct head_words *heads)
{
	heap_array_deinit(&heads->list);
	heap_hash_table_deinit(&heads->by_word);
	free(heads->with_code);
}

struct heap_error *head_words_count(struct head_words *heads, uint64_t word)
{
	uint64_t hash = heap_hash_u64(word);
	uint32_t at = heap_hash_find(&heads->by_word, hash, i, heads->list.items[i].word == word);

	if (at != HEAP_HASH_NONE) {
		heads->list.items[at].count++;
		return NULL;
	}
	if (heads->list.count == MAX_WORDS)
		return NULL;
	HEAP_TRY(heap_array_append(&heads->list, (struct head_word){ word, 1 }));
	return heap_hash_add(&heads->by_word, hash, (uint32_t)heads->list.count - 1);
}

heap_object_id head_words_next_with_code(const struct head_words *heads, heap_object_id object,
					 heap_object_id end)
{
	for (; object < end; object++) {
		// Most programs have few such objects.
		if (object % 8 == 0 && heads->with_code[object / 8] == 0)
			object += 7;
		else if (heap_bit_get(heads->with_code, object))
			return object;
	}
	return end;
}
