// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/argument_index.h"

#include "lib/base/cleanup.h"
#include "lib/types/templates.h"

#include <string.h>

enum {
	MAX_DEPTH = ARGUMENT_INDEX_DEPTH,
	MAX_ARGUMENTS = ARGUMENT_INDEX_ARGUMENTS,
};

static uint64_t hash_name(const char *name, size_t length)
{
	return heap_hash_bytes(HEAP_HASH_START, name, length);
}

struct heap_error *argument_index_want(struct argument_index *index, const char *name,
				       size_t length)
{
	uint64_t hash = hash_name(name, length);

	if (heap_hash_find(&index->wanted, hash, i, true) != HEAP_HASH_NONE)
		return NULL;
	HEAP_TRY(heap_hash_add(&index->wanted, hash, (uint32_t)index->uses.count));
	return heap_array_append(&index->uses, 0);
}

struct heap_error *argument_index_want_all(struct argument_index *index, const char *name)
{
	size_t length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);

		if (!argument)
			break;
		HEAP_TRY(argument_index_want(index, argument, length));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *index_argument(struct argument_index *index, uint32_t number,
					 const char *start, const char *end)
{
	uint64_t hash;
	uint32_t use;

	while (start < end && *start == ' ')
		start++;
	while (end > start && end[-1] == ' ')
		end--;
	hash = hash_name(start, (size_t)(end - start));
	use = heap_hash_find(&index->wanted, hash, at, true);
	if (use == HEAP_HASH_NONE)
		return NULL;
	index->uses.items[use]++;
	return heap_hash_add(&index->by_argument, hash, number);
}

// In one pass: names may be very long. Other brackets hide what is in them.
struct heap_error *argument_index_add(struct argument_index *index, const char *name,
				      uint32_t number)
{
	const char *starts[MAX_DEPTH];
	int depth = 0, hidden = 0;

	for (const char *at = name; *at; at++) {
		hidden += strchr("([{", *at) != NULL;
		hidden -= strchr(")]}", *at) != NULL;
		if (hidden > 0)
			continue;
		if (*at == '<' && ++depth <= MAX_DEPTH)
			starts[depth - 1] = at + 1;
		if (*at != '>' && *at != ',')
			continue;
		if (depth > 0 && depth <= MAX_DEPTH) {
			HEAP_TRY(index_argument(index, number, starts[depth - 1], at));
			starts[depth - 1] = at + 1;
		}
		depth -= *at == '>' && depth > 0;
	}
	return NULL;
}

bool argument_index_find_rarest(const struct argument_index *index, const char *name,
				uint32_t *result)
{
	uint32_t least = UINT32_MAX;
	size_t length;

	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const char *argument = heap_template_argument(name, i, &length);
		uint64_t hash = argument ? hash_name(argument, length) : 0;
		uint32_t use =
			argument ? heap_hash_find(&index->wanted, hash, at, true) : HEAP_HASH_NONE;

		if (use == HEAP_HASH_NONE)
			break;
		if (index->uses.items[use] < least) {
			least = index->uses.items[use];
			*result = heap_hash_fold(hash);
		}
	}
	return least != UINT32_MAX;
}

uint32_t argument_index_hash(const char *name, size_t length)
{
	return heap_hash_fold(hash_name(name, length));
}

void argument_index_deinit(struct argument_index *index)
{
	heap_hash_table_deinit(&index->wanted);
	heap_array_deinit(&index->uses);
	heap_hash_table_deinit(&index->by_argument);
}
