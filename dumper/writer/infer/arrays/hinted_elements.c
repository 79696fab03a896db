// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/hinted_elements.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/parts/pool_hints.h"
#include "lib/base/divisor.h"
#include "lib/base/search.h"

enum {
	MIN_PLACES = 6,
	MANY_PLACES = 12, // where all blocks of a size have to tell the distance
	STRAY = 4,        // of so many places, one may be told to be something else
	FEW = 16,         // of so many elements, one may look like something else
	READ = 128,       // elements that are read
};

// True if a hint tells of an element, or of more than the link that free ones have in front.
static bool tells(const struct inference *inference, const struct hint *hint)
{
	return pool_hints_is_part(inference, hint) &&
	       !layouts_is_link(&inference->layouts, hint->type);
}

// The type that most hints tell of.
static heap_type_id find_type(const struct inference *inference, heap_object_id object)
{
	struct majority types = { 0 };

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		progress_step();
		if (tells(inference, &inference->hints.list[at]))
			majority_add(&types, inference->hints.list[at].type);
	}
	return types.lead > 0 ? types.value : HEAP_NO_TYPE;
}

// The places of a block's hints, as elements of one type.
struct places {
	uint32_t count;
	uint32_t others;  // where no element begins, or of another type
	uint64_t first;   // number of the first hint's element
	uint64_t divisor; // of the elements' distances
};

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one > other ? one - other : other - one;
}

static struct places count_places(const struct inference *inference, heap_object_id object,
				  heap_type_id type)
{
	uint64_t stride = layouts_size(&inference->layouts, type);
	struct places places = { 0 };

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		uint64_t number = hint->interior / stride;

		progress_step();
		if (!tells(inference, hint))
			continue;
		if (hint->type != type || hint->interior % stride != 0) {
			places.others++;
			continue;
		}
		places.first = places.count == 0 ? number : places.first;
		places.count++;
		places.divisor =
			heap_greatest_divisor(places.divisor, distance(number, places.first));
	}
	return places;
}

// Finds the type that a block may be an array of, and where its hints are; HEAP_NO_TYPE: none.
static heap_type_id find_places(const struct inference *inference, heap_object_id object,
				struct places *places)
{
	heap_type_id type;

	if (!hints_are_many(inference, object))
		return HEAP_NO_TYPE;
	type = find_type(inference, object);
	if (layouts_size(&inference->layouts, type) == 0)
		return HEAP_NO_TYPE;
	*places = count_places(inference, object, type);
	return places->count >= MIN_PLACES && places->others * (uint64_t)STRAY <= places->count
		       ? type
		       : HEAP_NO_TYPE;
}

// Adds the places of a block to those of its kind. @param kind  gets the number of that
HEAP_MUST_CHECK
static struct heap_error *add_to_kind(struct hinted_elements *elements, heap_type_id type,
				      uint64_t size, const struct places *places, uint32_t *kind)
{
	struct hinted_kind *kinds = elements->kinds.items;
	uint64_t hash = heap_hash_pair(type, size);

	*kind = heap_hash_find(&elements->by_kind, hash, i,
			       kinds[i].type == type && kinds[i].size == size);
	if (*kind == HEAP_HASH_NONE) {
		*kind = (uint32_t)elements->kinds.count;
		HEAP_TRY(heap_array_append(
			&elements->kinds,
			((struct hinted_kind){ type, size, places->first, places->divisor })));
		return heap_hash_add(&elements->by_kind, hash, *kind);
	}
	kinds[*kind].divisor =
		heap_greatest_divisor(heap_greatest_divisor(kinds[*kind].divisor, places->divisor),
				      distance(places->first, kinds[*kind].first));
	return NULL;
}

struct heap_error *hinted_elements_note(struct hinted_elements *elements,
					const struct inference *inference, heap_object_id object)
{
	struct places places;
	heap_type_id type = find_places(inference, object, &places);
	uint32_t kind;

	if (type == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(add_to_kind(elements, type, inference_size(inference, object), &places, &kind));
	return heap_array_append(
		&elements->blocks,
		((struct hinted_block){ .object = object,
					.kind = kind,
					.is_told = places.divisor == 1,
					.is_clear = places.others == 0 &&
						    places.count >= MANY_PLACES }));
}

void hinted_elements_deinit(struct hinted_elements *elements)
{
	heap_array_deinit(&elements->kinds);
	heap_hash_table_deinit(&elements->by_kind);
	heap_array_deinit(&elements->blocks);
}

heap_type_id hinted_elements_find(const struct hinted_elements *elements, heap_object_id object)
{
	const struct hinted_block *blocks = elements->blocks.items;
	size_t at = heap_partition_point(i, (size_t)0, elements->blocks.count,
					 blocks[i].object < object);
	const struct hinted_kind *kind;

	if (at == elements->blocks.count || blocks[at].object != object)
		return HEAP_NO_TYPE;
	kind = &elements->kinds.items[blocks[at].kind];
	// Where only all slabs together tell the distance, there must be no doubt of the type.
	return blocks[at].is_told || (blocks[at].is_clear && kind->divisor == 1) ? kind->type
										 : HEAP_NO_TYPE;
}

bool hinted_elements_agree(const struct inference *inference, heap_object_id object,
			   heap_type_id type, uint64_t elements)
{
	uint64_t words[CONTENT_WORDS + 1], stride = layouts_size(&inference->layouts, type);
	uint64_t step = elements / READ + 1;
	uint32_t read = 0, against = 0;

	for (uint64_t i = 0; i < elements; i += step) {
		struct content content;

		progress_step();
		if (!content_read_value(inference, object, i * stride, type, words, &content))
			continue;
		read++;
		against += content_contradicts(inference, &content, type);
	}
	return read > 0 && against * (uint64_t)FEW <= read;
}
