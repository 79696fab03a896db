// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/kin_tags.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

#include <string.h>

enum {
	SHARED = 3,       // members with which all begin, at least
	WORD_BITS = 64,   // of the widest enum
	BEST = 3,         // score of a block for the struct that agrees best, at least
	LEAD = 2,         // by which that is better than others, at least
	SAMPLE = 64,      // blocks with one value that speak for a struct
	MIN_SPEAKING = 4, // of these
	AGREEING = 95,    // per cent of them
};

// --- structs that begin alike -----------------------------------------------------------------

static bool is_same_member(const struct layouts *layouts, const struct heap_member *one,
			   const struct heap_member *other)
{
	const struct heap_types *types = layouts->types;

	return one->offset == other->offset && one->flags == other->flags &&
	       layouts_strip(layouts, one->type) == layouts_strip(layouts, other->type) &&
	       strcmp(heap_types_string(types, one->name), heap_types_string(types, other->name)) ==
		       0;
}

// The number of members with which two structs begin.
static uint32_t count_shared(const struct layouts *layouts, heap_type_id one, heap_type_id other)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *a = &types->types[one], *b = &types->types[other];
	uint32_t shared = 0;

	while (shared < a->members && shared < b->members &&
	       is_same_member(layouts, &types->members[a->first_member + shared],
			      &types->members[b->first_member + shared])) {
		progress_step();
		shared++;
	}
	return shared;
}

// True if a struct has an enum at a place as a member of its own that is among the first ones.
static bool has_among(const struct layouts *layouts, heap_type_id id,
		      const struct enum_place *place, uint32_t first)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; i < first; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->offset == place->offset &&
		    layouts_strip(layouts, member->type) == place->tag)
			return true;
	}
	return false;
}

// True if each has members of its own behind those that they share: else one is the beginning of the other.
static bool are_kin(const struct layouts *layouts, heap_type_id one, heap_type_id other,
		    const struct enum_place *place)
{
	uint32_t shared = count_shared(layouts, one, other);

	return shared >= SHARED && has_among(layouts, one, place, shared) &&
	       shared < layouts->types->types[one].members &&
	       shared < layouts->types->types[other].members;
}

static void add_type(struct kin *kin, heap_type_id type)
{
	for (uint32_t i = 0; i < kin->count; i++) {
		if (kin->types[i] == type)
			return;
	}
	if (kin->count < KIN)
		kin->types[kin->count++] = type;
}

bool kin_tags_find(const struct layouts *layouts, const struct named_struct *list, size_t count,
		   struct kin *result)
{
	result->count = 0;
	for (size_t i = 0; i < count && i < KIN; i++) {
		struct kin kin = { list[i].place, { list[i].type }, 1 };

		for (size_t j = 0; j < count; j++) {
			if (list[j].type != list[i].type &&
			    are_kin(layouts, list[i].type, list[j].type, &list[i].place))
				add_type(&kin, list[j].type);
		}
		if (kin.count > result->count)
			*result = kin;
	}
	return result->count > 1;
}

// --- what their blocks contain ----------------------------------------------------------------

// The blocks with one value.
struct with_value {
	uint64_t value;
	uint32_t speaking;
	uint32_t votes[KIN]; // by struct
};

struct survey {
	const struct inference *inference;
	const struct kin *kin;
	uint64_t *words;
	struct with_value values[KIN_VALUES];
	uint32_t count;
};

static struct with_value *find_value(struct survey *survey, uint64_t value)
{
	for (uint32_t i = 0; i < survey->count; i++) {
		if (survey->values[i].value == value)
			return &survey->values[i];
	}
	if (survey->count == KIN_VALUES)
		return NULL;
	survey->values[survey->count] = (struct with_value){ .value = value };
	return &survey->values[survey->count++];
}

static bool fits(const struct inference *inference, heap_type_id type, heap_object_id object)
{
	struct layout_claim claim = inference_fit(inference, type, object);

	return claim.fit == LAYOUT_EXACT && claim.elements == 1;
}

bool kin_tags_fit(const struct inference *inference, const struct kin *kin, heap_object_id object)
{
	for (uint32_t i = 0; i < kin->count; i++) {
		progress_step();
		if (fits(inference, kin->types[i], object))
			return true;
	}
	return false;
}

// The struct with which a block agrees clearly better than with others; KIN: there is none.
static uint32_t find_best(const struct survey *survey, heap_object_id object)
{
	const struct inference *inference = survey->inference;
	int best = BEST - 1, second = INT32_MIN;
	uint32_t found = KIN;
	struct content content;

	content_read(inference, object, survey->words, &content);
	for (uint32_t i = 0; i < survey->kin->count; i++) {
		heap_type_id type = survey->kin->types[i];
		int score;

		progress_step();
		if (!fits(inference, type, object))
			continue;
		score = content_score(inference, &content, type, 1);
		if (score > best) {
			second = found == KIN ? second : best;
			best = score;
			found = i;
		} else if (score > second) {
			second = score;
		}
	}
	return found != KIN && best - LEAD >= second &&
			       !content_contradicts(inference, &content, survey->kin->types[found])
		       ? found
		       : KIN;
}

static void survey_block(struct survey *survey, heap_object_id object)
{
	const struct enum_place *place = &survey->kin->place;
	uint64_t value = 0,
		 mask = place->bits < WORD_BITS ? (UINT64_C(1) << place->bits) - 1 : UINT64_MAX;
	struct with_value *with;
	uint32_t best;

	pages_read(survey->inference->pages,
		   inference_address(survey->inference, object) + place->offset, &value,
		   (place->shift + place->bits + 7) / 8);
	value = value >> place->shift & mask;
	if (!layouts_is_enumerator(&survey->inference->layouts, place->tag, value, mask))
		return;
	with = find_value(survey, value);
	if (!with || with->speaking == SAMPLE)
		return;
	best = find_best(survey, object);
	if (best == KIN)
		return;
	with->speaking++;
	with->votes[best]++;
}

// The struct of nearly all blocks with a value; KIN: there is none.
static uint32_t find_elected(const struct with_value *with)
{
	for (uint32_t i = 0; i < KIN; i++) {
		if (with->votes[i] >= MIN_SPEAKING &&
		    with->votes[i] * UINT64_C(100) >= with->speaking * (uint64_t)AGREEING)
			return i;
	}
	return KIN;
}

uint32_t kin_tags_learn(const struct inference *inference, const struct kin *kin, uint64_t *words,
			struct kin_value *values)
{
	struct survey survey = { .inference = inference, .kin = kin, .words = words };
	uint32_t count = 0;
	bool are_several = false;

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		progress_step();
		if (kin_tags_fit(inference, kin, i))
			survey_block(&survey, i);
	}
	for (uint32_t i = 0; i < survey.count; i++) {
		uint32_t elected = find_elected(&survey.values[i]);

		if (elected == KIN)
			continue;
		values[count++] = (struct kin_value){ survey.values[i].value, kin->types[elected] };
		are_several |= values[count - 1].type != values[0].type;
	}
	return are_several ? count : 0;
}
