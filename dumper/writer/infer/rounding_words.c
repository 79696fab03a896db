// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/rounding_words.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	WORD = 8,
	FEW = 8,        // words of a type that tell nothing about it
	SEVERAL = 2,    // pointers to a block: more are not counted
	LARGEST = 4096, // bytes of blocks that count: behind larger ones lie the rests of pages
};

// A pointer in what may be rounding.
struct word {
	heap_type_id type; // of its object
	uint32_t slot;     // behind the end of that type
	uint32_t edge;
	bool is_standard; // no member can be there
	bool is_of_table; // the table tells the object's class: a member can only be there if the program asked for more
};

// The words at one place behind objects of a type. Of what they lead to only the candidate is counted that can be most of
// it (Boyer and Moore), since there may be tens of millions of words.
struct place {
	heap_type_id type;
	uint32_t slot;
	heap_type_id target; // the candidate
	uint32_t interior;   // likewise: where in the target they lead
	uint32_t votes;      // for the candidate, less those against it
	uint32_t count, alike;
	uint32_t only; // words that lead to what nothing else leads to
};

// What is known of a type.
struct rounded_type {
	uint64_t size;    // 0: it is no struct of one size
	bool is_standard; // an instance of a template of the standard library, which nothing extends
};

struct search {
	const struct capture *capture;
	struct rounded_type *types; // [types]
	struct HEAP_ARRAY(struct place) places;
	struct heap_hash_table by_type; // and slot
	uint8_t *holders;               // [objects] pointers to it from elsewhere, up to SEVERAL
	struct rounding_words *result;
};

static void release(struct search *search)
{
	free(search->types);
	free(search->holders);
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_type);
}

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

// --- words -----------------------------------------------------------------------------

typedef struct heap_error *visit_word(struct search *search, struct word word);

HEAP_MUST_CHECK
static struct heap_error *visit_words(struct search *search, visit_word *visit)
{
	const struct capture *capture = search->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id object = 0; object < capture->objects.count; object++) {
		const struct name *name = names_of(&capture->names, object);
		struct word word = { .type = name->type };
		uint32_t edge = snapshot->edge_first[object + 1], first = edge;
		uint64_t end;

		if (search->types[name->type].size == 0 || edge == snapshot->edge_first[object])
			continue;
		end = (end_of_type(capture, &search->types[name->type], object) + WORD - 1) / WORD;
		while (first > snapshot->edge_first[object] &&
		       snapshot->edge_slot[first - 1] >= end)
			first--;
		word.is_standard = search->types[name->type].is_standard;
		word.is_of_table = name->evidence == HEAP_EVIDENCE_VTABLE;
		for (word.edge = first; word.edge < edge; word.edge++) {
			word.slot = snapshot->edge_slot[word.edge] - (uint32_t)end;
			HEAP_TRY(visit(search, word));
		}
	}
	return NULL;
}

static struct place *find_place(const struct search *search, struct word word)
{
	struct place *list = search->places.items;
	uint32_t found = heap_hash_find(&search->by_type, heap_hash_pair(word.type, word.slot), i,
					list[i].type == word.type && list[i].slot == word.slot);

	return found == HEAP_HASH_NONE ? NULL : &list[found];
}

HEAP_MUST_CHECK
static struct heap_error *require_place(struct search *search, struct word word,
					struct place **place)
{
	*place = find_place(search, word);
	if (*place)
		return NULL;
	HEAP_TRY(heap_hash_add(&search->by_type, heap_hash_pair(word.type, word.slot),
			       (uint32_t)search->places.count));
	HEAP_TRY(heap_array_append(&search->places,
				   ((struct place){ .type = word.type, .slot = word.slot })));
	*place = &search->places.items[search->places.count - 1];
	return NULL;
}

static heap_type_id target_of(const struct capture *capture, uint32_t edge)
{
	return names_type(&capture->names, capture->snapshot.edge_target[edge]);
}

static bool leads_to_candidate(const struct search *search, const struct place *place,
			       uint32_t edge)
{
	return target_of(search->capture, edge) == place->target &&
	       search->capture->snapshot.edge_interior[edge] == place->interior;
}

// The first pass.
HEAP_MUST_CHECK
static struct heap_error *vote(struct search *search, struct word word)
{
	struct place *place;

	HEAP_TRY(require_place(search, word, &place));
	place->count++;
	if (place->votes == 0) {
		place->target = target_of(search->capture, word.edge);
		place->interior = search->capture->snapshot.edge_interior[word.edge];
	}
	if (leads_to_candidate(search, place, word.edge))
		place->votes++;
	else
		place->votes--;
	return NULL;
}

static void count_holder(struct search *search, heap_object_id object)
{
	search->holders[object] += search->holders[object] < SEVERAL;
}

HEAP_MUST_CHECK
static struct heap_error *count_holders(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	const heap_object_id objects = search->capture->objects.count;

	search->holders = calloc((size_t)objects + 1, sizeof(*search->holders));
	if (!search->holders)
		return heap_error_out_of_memory();
	for (heap_object_id object = 0; object < objects; object++) {
		for (uint32_t edge = snapshot->edge_first[object];
		     edge < snapshot->edge_first[object + 1]; edge++) {
			if (snapshot->edge_target[edge] != object)
				count_holder(search, snapshot->edge_target[edge]);
		}
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		count_holder(search, snapshot->root_edges[i].target);
	return NULL;
}

static bool is_only(const struct search *search, uint32_t edge)
{
	return search->holders[search->capture->snapshot.edge_target[edge]] < SEVERAL;
}

// The second pass.
HEAP_MUST_CHECK
static struct heap_error *count(struct search *search, struct word word)
{
	struct place *place = find_place(search, word);

	place->alike += leads_to_candidate(search, place, word.edge);
	place->only += is_only(search, word.edge);
	return NULL;
}

// True if a member may be at a place: most words there lead to the same, or to what nothing else leads to.
static bool may_be_member(const struct place *place)
{
	return place->count < FEW || place->alike >= place->count - place->count / 10 ||
	       place->only >= place->count / 2;
}

// The third pass.
HEAP_MUST_CHECK
static struct heap_error *judge(struct search *search, struct word word)
{
	bool is_left_over = word.is_standard ||
			    (!is_only(search, word.edge) &&
			     (word.is_of_table || !may_be_member(find_place(search, word))));

	return is_left_over ? heap_array_append(search->result, word.edge) : NULL;
}

struct heap_error *rounding_words_find(const struct capture *capture, struct rounding_words *words)
{
	const struct heap_types *types = &capture->snapshot.types;
	CLEANUP(release)
	struct search search = {
		.capture = capture,
		.types = calloc((size_t)types->count + 1, sizeof(*search.types)),
		.result = words,
	};

	if (!search.types)
		return heap_error_out_of_memory();
	if (capture->block_sizes == HEAP_BLOCK_SIZES_EXACT)
		return NULL;
	for (heap_type_id type = 1; type < types->count; type++)
		search.types[type] = examine(types, type);
	HEAP_TRY(visit_words(&search, vote));
	if (search.places.count == 0)
		return NULL;
	HEAP_TRY(count_holders(&search));
	HEAP_TRY(visit_words(&search, count));
	return visit_words(&search, judge);
}
