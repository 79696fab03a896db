// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/hinted_elements.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/pool_hints.h"
#include "lib/base/divisor.h"

enum {
	MIN_PLACES = 6,
	STRAY = 4,  // of so many places, one may be told to be something else
	FEW = 16,   // of so many elements, one may look like something else
	READ = 128, // elements that are read
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
	uint64_t divisor; // of the elements' numbers
};

static struct places count_places(const struct inference *inference, heap_object_id object,
				  heap_type_id type)
{
	uint64_t stride = layouts_size(&inference->layouts, type), first = UINT64_MAX;
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
		places.count++;
		first = first == UINT64_MAX ? number : first;
		places.divisor = heap_greatest_divisor(
			places.divisor, number > first ? number - first : first - number);
	}
	return places;
}

heap_type_id hinted_elements_find(const struct inference *inference, heap_object_id object)
{
	heap_type_id type;
	struct places places;

	if (!hints_are_many(inference, object))
		return HEAP_NO_TYPE;
	type = find_type(inference, object);
	if (layouts_size(&inference->layouts, type) == 0)
		return HEAP_NO_TYPE;
	places = count_places(inference, object, type);
	return places.count >= MIN_PLACES && places.divisor == 1 &&
			       places.others * (uint64_t)STRAY <= places.count
		       ? type
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
