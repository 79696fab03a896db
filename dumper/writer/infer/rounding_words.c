// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/rounding_words.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	WORD = 8,
	FEW = 8,        // words of a type that tell nothing about it
	LARGEST = 4096, // bytes of blocks that count: behind larger ones lie the rests of pages
};

// A pointer in what may be rounding.
struct word {
	heap_type_id type; // of its object
	heap_type_id target;
	uint64_t interior; // where in the target it leads
	uint32_t edge;
	bool is_certain; // no member can be there
};

struct words HEAP_ARRAY(struct word);

// What is known of a type.
struct rounded_type {
	uint64_t size;    // 0: it is no struct of one size
	bool is_standard; // an instance of a template of the standard library, which nothing extends
};

static struct rounded_type examine(const struct heap_types *types, heap_type_id id)
{
	heap_type_id stripped = heap_types_strip(types, id), element;
	const struct heap_type *type = &types->types[stripped];
	const char *name = types->strings + type->name;
	uint64_t offset;

	if ((type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS) || type->size == 0 ||
	    heap_types_flexible(types, stripped, &offset, &element))
		return (struct rounded_type){ 0 };
	return (struct rounded_type){ type->size,
				      strncmp(name, "std::", 5) == 0 && strchr(name, '<') };
}

// Where an object's type ends, if the rest of its block is no more than what the allocator may have added; else the
// block's size.
static uint64_t end_of_type(const struct capture *capture, const struct rounded_type *type,
			    heap_object_id object)
{
	uint64_t size = objects_size(&capture->objects, object);
	uint64_t elements = names_of(&capture->names, object)->elements;
	uint64_t end = type->size * elements;

	return type->size > 0 && size <= LARGEST && elements <= size / type->size && end < size &&
			       size - end < type->size &&
			       size - end <= heap_block_slack(capture->block_sizes, size)
		       ? end
		       : size;
}

HEAP_MUST_CHECK
static struct heap_error *gather(const struct capture *capture, const struct rounded_type *types,
				 struct words *words)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id object = 0; object < capture->objects.count; object++) {
		const struct name *name = names_of(&capture->names, object);
		uint64_t end;

		if (types[name->type].size == 0)
			continue;
		end = end_of_type(capture, &types[name->type], object);
		for (uint32_t edge = snapshot->edge_first[object + 1];
		     edge > snapshot->edge_first[object] &&
		     snapshot->edge_slot[edge - 1] * (uint64_t)WORD >= end;
		     edge--)
			HEAP_TRY(heap_array_append(
				words,
				((struct word){
					.type = name->type,
					.target = names_type(&capture->names,
							     snapshot->edge_target[edge - 1]),
					.interior = snapshot->edge_interior[edge - 1],
					.edge = edge - 1,
					.is_certain = types[name->type].is_standard ||
						      name->evidence == HEAP_EVIDENCE_VTABLE,
				})));
	}
	return NULL;
}

static int compare_words(const void *left, const void *right)
{
	const struct word *a = left, *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	if (a->interior != b->interior)
		return a->interior < b->interior ? -1 : 1;
	return (a->edge > b->edge) - (a->edge < b->edge);
}

static bool lead_alike(const struct word *a, const struct word *b)
{
	return a->target == b->target && a->interior == b->interior;
}

// True for the words of a type if most of them lead to the same: a member does.
static bool may_be_members(const struct word *words, size_t count)
{
	size_t most = 0;

	for (size_t i = 0, first = 0; i < count; i++) {
		if (!lead_alike(&words[i], &words[first]))
			first = i;
		if (i - first + 1 > most)
			most = i - first + 1;
	}
	return count < FEW || most >= count - count / 10;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

// Judges the words of all objects of each type together.
HEAP_MUST_CHECK
static struct heap_error *judge(const struct words *words, struct rounding_words *result)
{
	for (size_t first = 0, end; first < words->count; first = end) {
		const struct word *list = words->items + first;
		bool may_be;

		for (end = first; end < words->count && words->items[end].type == list->type;)
			end++;
		may_be = may_be_members(list, end - first);
		for (size_t i = 0; i < end - first; i++) {
			if (list[i].is_certain || !may_be)
				HEAP_TRY(heap_array_append(result, list[i].edge));
		}
	}
	if (result->count > 0)
		qsort(result->items, result->count, sizeof(*result->items), compare_numbers);
	return NULL;
}

struct heap_error *rounding_words_find(const struct capture *capture, struct rounding_words *words)
{
	const struct heap_types *types = &capture->snapshot.types;
	CLEANUP_FREE struct rounded_type *rounded =
		calloc((size_t)types->count + 1, sizeof(*rounded));
	CLEANUP_ARRAY struct words all = { 0 };

	if (!rounded)
		return heap_error_out_of_memory();
	if (capture->block_sizes == HEAP_BLOCK_SIZES_EXACT)
		return NULL;
	for (heap_type_id type = 1; type < types->count; type++)
		rounded[type] = examine(types, type);
	HEAP_TRY(gather(capture, rounded, &all));
	if (all.count > 0)
		qsort(all.items, all.count, sizeof(*all.items), compare_words);
	return judge(&all, words);
}
