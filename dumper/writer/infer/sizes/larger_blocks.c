// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/larger_blocks.h"

#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"

#include <stdlib.h>

enum {
	ENOUGH = 3, // blocks of a struct and a size
};

static uint32_t find(const struct larger_blocks *blocks, heap_type_id type, uint64_t size)
{
	return heap_hash_find(&blocks->by_type, heap_hash_pair(type, size), i,
			      blocks->list[i].type == type && blocks->list[i].size == size);
}

uint32_t larger_blocks_count(const struct larger_blocks *blocks, heap_type_id type, uint64_t size)
{
	uint32_t found = find(blocks, type, size);

	return found == HEAP_HASH_NONE ? 0 : blocks->list[found].count;
}

void larger_blocks_deinit(struct larger_blocks *blocks)
{
	free(blocks->list);
	heap_hash_table_deinit(&blocks->by_type);
}

struct heap_error *larger_blocks_note(struct larger_blocks *blocks, heap_type_id type,
				      uint64_t size)
{
	uint32_t found = find(blocks, type, size);

	if (found != HEAP_HASH_NONE) {
		blocks->list[found].count++;
		return NULL;
	}
	HEAP_TRY(heap_reserve(blocks->list, blocks->capacity, blocks->count + 1));
	blocks->list[blocks->count] = (struct larger_block){ type, size, 1 };
	return heap_hash_add(&blocks->by_type, heap_hash_pair(type, size),
			     (uint32_t)blocks->count++);
}

bool larger_blocks_may_have(const struct inference *inference, heap_type_id type,
			    const struct pointer *pointer)
{
	const struct larger_blocks *blocks = &inference->larger_blocks;

	if (blocks->count == 0 || type == HEAP_NO_TYPE || !layouts_is_start(pointer->interior) ||
	    claims_rank(&inference->claims, pointer->target) <= RANK_SLACK)
		return false;
	return larger_blocks_count(blocks, layouts_strip(&inference->layouts, type),
				   inference_size(inference, pointer->target)) >= ENOUGH;
}

bool larger_blocks_have(const struct inference *inference, heap_type_id type,
			const struct pointer *pointer)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	if (!larger_blocks_may_have(inference, type, pointer))
		return false;
	type = layouts_strip(&inference->layouts, type);
	content_read(inference, pointer->target, words, &content);
	return content_score(inference, &content, type, 1) >= 0 &&
	       !hints_may_be_part(inference, &content, type, 0);
}
