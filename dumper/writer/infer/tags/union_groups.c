// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/union_groups.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/arrays/pointer_tables.h"
#include "dumper/writer/infer/sampler.h"
#include "dumper/writer/infer/tags/union_casts.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash.h"

#include <stdlib.h>

enum {
	CHECKED = 64,      // blocks of a value whose contents are read
	HOLDERS = 1 << 16, // that are learned from
	SAMPLED = 128,     // blocks of a value that are held against the alternatives
	TEXT_SCORE = 3,
	SCORED_EDGES = 8, // of a block
	MIN_SEVERAL = 8,  // blocks of several elements
	COUNTED = 950,    // per mille of blocks whose lengths must agree
};

// Between these no tag is, but addresses.
#define LARGEST (UINT64_C(1) << 32)
#define SMALLEST_NEGATIVE (UINT64_MAX - INT32_MAX)

void union_lesson_deinit(struct union_lesson *lesson)
{
	for (size_t i = 0; i < lesson->tallies.count; i++) {
		for (uint32_t j = 0; j < UNION_NUMBERS; j++)
			free(lesson->tallies.items[i].groups[j].list);
	}
	heap_array_deinit(&lesson->tallies);
	free(lesson->words);
}

static uint32_t add_alternative(struct union_tally *tally, heap_type_id type)
{
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		if (tally->alternatives[i] == type)
			return i;
	}
	if (type == HEAP_NO_TYPE || tally->alternative_count == UNION_ALTERNATIVES)
		return UNION_ALTERNATIVES;
	tally->alternatives[tally->alternative_count] = type;
	return tally->alternative_count++;
}

HEAP_MUST_CHECK
static struct heap_error *find_group(struct union_groups *groups, uint64_t value,
				     struct union_group **result)
{
	uint32_t at = 0;

	*result = NULL;
	while (!groups->are_too_many && at < groups->count && groups->values[at] != value)
		at++;
	if (at == UNION_VALUES) {
		groups->are_too_many = true;
		free(groups->list);
		groups->list = NULL;
		groups->count = groups->capacity = 0;
	}
	if (groups->are_too_many)
		return NULL;
	if (at == groups->count) {
		HEAP_TRY(heap_reserve(groups->list, groups->capacity, (size_t)groups->count + 1));
		groups->values[at] = value;
		groups->list[groups->count++] = (struct union_group){ .value = value };
	}
	*result = &groups->list[at];
	return NULL;
}

// Fits an alternative's type to a block: as one value, or as several.
static struct layout_claim fit(const struct inference *inference, heap_object_id target,
			       heap_type_id type)
{
	struct layout_claim claim = inference_fit(inference, type, target);

	if (claim.fit == LAYOUT_NONE)
		claim = inference_fit_weakly(inference, type, 0, target);
	if (claim.fit == LAYOUT_SLACK || claim.fit == LAYOUT_ELEMENT)
		claim.fit = LAYOUT_NONE;
	return claim;
}

// True if the variable that gets a block has it as an array of pointers of another type: one tag may go with
// several kinds of tables.
static bool is_other_array(const struct inference *inference, heap_object_id target,
			   heap_type_id type)
{
	const struct site_types *types = inference_site_types(inference, target);

	for (uint32_t i = 0; layouts_is_pointer(&inference->layouts, type) && i < types->count;
	     i++) {
		const struct site_type *gets = &types->list[i];

		if (gets->is_result && gets->type != type &&
		    layouts_is_pointer(&inference->layouts, gets->type) &&
		    fit(inference, target, gets->type).fit != LAYOUT_NONE)
			return true;
	}
	return false;
}

// True if a block may have a type by its site, size and hints: also as the first part of another one. The
// hints come last, since a block may have thousands.
static bool may_be(const struct inference *inference, heap_object_id target, heap_type_id type)
{
	uint64_t size = inference_size(inference, target);

	if (is_other_array(inference, target, type))
		return false;
	if (fit(inference, target, type).fit == LAYOUT_NONE) {
		struct layout_wholes wholes = layouts_exact_wholes(
			&inference->layouts, type, 0, size, inference_slack(inference, target));

		if (wholes.at >= wholes.end)
			return false;
	}
	return hints_ask(inference, target, type) != VERDICT_AGAINST;
}

static bool ask_once(struct union_lesson *lesson, heap_object_id target, heap_type_id type)
{
	uint64_t hash = heap_hash_u64((uint64_t)type << 32 | target);
	struct union_answer *answer = &lesson->answers[hash % UNION_ANSWERS];

	if (answer->type != type || answer->target != target)
		*answer = (struct union_answer){ target, type,
						 may_be(lesson->inference, target, type) };
	return answer->may_be;
}

// Counts the pointers of a block for which a type has one, less those for which it has none.
HEAP_MUST_CHECK
static struct heap_error *score_edges(struct inference *inference, heap_object_id target,
				      heap_type_id type, int *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = snapshot->edge_first[target], end = snapshot->edge_first[target + 1];
	uint64_t prefix = inference_prefix(inference, target);
	const struct heap_repetition *repetition;

	*result = 0;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	for (int i = 0; i < SCORED_EDGES && edge < end; i++, edge++) {
		uint64_t offset = snapshot->edge_slot[edge] * UINT64_C(8);
		uint32_t first, last;

		if (offset >= prefix)
			*result +=
				heap_repetition_slots_at(repetition, offset - prefix, &first, &last)
					? 1
					: -1;
	}
	return NULL;
}

// How well the contents of a block go with an alternative.
struct score {
	bool is_known;
	bool agrees;
	int points;
};

HEAP_MUST_CHECK
static struct heap_error *score(const struct union_lesson *lesson, heap_object_id target,
				heap_type_id type, struct score *result)
{
	struct inference *inference = lesson->inference;
	struct layout_claim claim = fit(inference, target, type);
	struct content content;

	*result = (struct score){ true, true, 0 };
	if (claim.fit == LAYOUT_NONE)
		return NULL;
	content_read(inference, target, lesson->words, &content);
	if (layouts_is_character(&inference->layouts, type) &&
	    content_is_sure_text(inference, &content, inference_size(inference, target))) {
		result->points = TEXT_SCORE;
		return NULL;
	}

	int points = content_score(inference, &content, claim.type, claim.elements);

	HEAP_TRY(score_edges(inference, target, type, &result->points));
	result->points += points;
	result->agrees = points >= 0 && !pointer_tables_lead_astray(inference, target, type);
	return NULL;
}

// True if a block's name does not come from unions' pointers.
static bool is_voter(const struct inference *inference, heap_object_id object)
{
	uint8_t rank = inference->claims.name_rank[object];

	return rank <= RANK_DISCRIMINATOR || rank == RANK_SITE;
}

struct sighting {
	heap_object_id holder, target;
	uint64_t address; // of the struct
	uint32_t vote;    // an alternative
	bool is_voting;
	bool may_be[UNION_ALTERNATIVES];
	struct score scores[UNION_ALTERNATIVES];
	uint64_t lengths[UNION_LENGTHS];
};

static void note_size(struct union_group *group, uint64_t size)
{
	uint32_t at = 0;

	while (at < group->size_count && group->sizes[at] != size)
		at++;
	if (at == UNION_SIZES)
		return;
	group->sizes[at] = size;
	group->size_count = at < group->size_count ? group->size_count : at + 1;
}

bool union_groups_are_arrays(const struct inference *inference, const struct union_group *group,
			     heap_type_id type)
{
	uint64_t size = layouts_size(&inference->layouts, type);
	uint32_t i = 0;

	while (size > 0 && i < group->size_count && group->sizes[i] % size == 0)
		i++;
	return i == UNION_SIZES;
}

uint32_t union_groups_length(const struct union_support *support)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < UNION_LENGTHS; i++)
		best = support->counted[i] > support->counted[best] ? i : best;
	return support->several >= MIN_SEVERAL && support->counted[best] * UINT64_C(1000) >=
							  support->seen * (uint64_t)COUNTED
		       ? best
		       : UNION_LENGTHS;
}

// Counts the numbers beside a pointer that tell how many elements of a type it leads to.
static void count_lengths(const struct inference *inference, const struct sighting *sighting,
			  heap_type_id type, struct union_support *support)
{
	bool has_several = false;

	if (!layouts_is_compound(&inference->layouts, type))
		return;
	for (uint32_t i = 0; i < UNION_LENGTHS; i++) {
		uint64_t length = sighting->lengths[i];

		if (!inference_has_length(inference, sighting->target, type, length))
			continue;
		support->counted[i]++;
		has_several |= length > 1;
	}
	support->several += has_several;
}

HEAP_MUST_CHECK
static struct heap_error *add_to_group(const struct union_lesson *lesson,
				       const struct union_tally *tally, struct sighting *sighting,
				       struct union_group *group)
{
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		struct union_support *support = &group->support[i];
		struct score *points = &sighting->scores[i];

		progress_step();
		support->seen++;
		support->fitting += sighting->may_be[i];
		count_lengths(lesson->inference, sighting, tally->alternatives[i], support);
		if (support->checked == CHECKED)
			continue;
		if (!points->is_known)
			HEAP_TRY(score(lesson, sighting->target, tally->alternatives[i], points));
		support->checked++;
		support->agreeing += points->agrees;
		support->score += points->points;
	}
	return NULL;
}

// Finds how a block goes with the alternatives, but for its contents.
static void sight(struct union_lesson *lesson, const struct union_tally *tally,
		  const struct union_choice *choice, struct sighting *sighting)
{
	for (uint32_t i = 0; i < UNION_LENGTHS; i++)
		sighting->lengths[i] =
			i < choice->length_count
				? union_choices_read(lesson->inference, &choice->lengths[i],
						     sighting->address)
				: 0;
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		sighting->may_be[i] = ask_once(lesson, sighting->target, tally->alternatives[i]);
		sighting->scores[i].is_known = false;
	}
}

// Adds the pointees of a slot to the alternatives, and the sure name of the block that it leads to.
static void add_alternatives(const struct inference *inference, const struct heap_slots *slots,
			     uint32_t first, uint32_t end, struct union_tally *tally,
			     struct sighting *sighting)
{
	for (uint32_t i = first; i < end; i++) {
		tally->is_open |=
			slots->list[i].pointee == HEAP_NO_TYPE || slots->list[i].may_be_bytes;
		if (add_alternative(tally, slots->list[i].pointee) == tally->declared)
			tally->declared++;
	}
	sighting->is_voting = is_voter(inference, sighting->target);
	if (sighting->is_voting)
		sighting->vote =
			add_alternative(tally, inference_type(inference, sighting->target));
}

static void count_block(const struct inference *inference, const struct sighting *sighting,
			struct union_group *group)
{
	group->count++;
	group->voters += sighting->is_voting;
	if (sighting->is_voting && sighting->vote < UNION_ALTERNATIVES)
		group->support[sighting->vote].votes++;
	note_size(group, inference_size(inference, sighting->target));
}

// True if a pointer into the heap is where a number would be. Its bits depend on addresses.
static bool is_overlaid(const struct inference *inference, const struct sighting *sighting,
			const struct union_number *number)
{
	const struct capture *capture = inference->capture;
	uint64_t start = objects_address(&capture->objects, sighting->holder);
	uint64_t at = (sighting->address - start + number->offset) & ~UINT64_C(7);

	return number->is_in_union &&
	       heap_edge_at(&capture->snapshot, sighting->holder, at) != UINT32_MAX;
}

// Adds what code casts the void pointers of a union to.
static void add_casts(const struct inference *inference, const struct union_choice *choice,
		      struct union_tally *tally)
{
	struct union_casts casts;

	if (!tally->is_open || tally->has_casts)
		return;
	tally->has_casts = true;
	casts = union_casts_find(&inference->casts, &inference->layouts, choice->holder,
				 choice->offset);
	for (uint32_t i = 0; i < casts.count; i++) {
		uint32_t at = add_alternative(tally, casts.types[i]);

		if (at < UNION_ALTERNATIVES)
			tally->casts |= UINT64_C(1) << at;
	}
}

// Counts one pointer in the groups of all numbers that may be its tag.
HEAP_MUST_CHECK
static struct heap_error *see(struct union_lesson *lesson, uint32_t number,
			      const struct heap_slots *slots, uint32_t first, uint32_t end,
			      struct sighting *sighting)
{
	struct inference *inference = lesson->inference;
	const struct union_choice *choice = &inference->union_tags.choices[number];
	struct union_group *groups[UNION_NUMBERS];
	uint64_t values[UNION_NUMBERS];
	struct union_tally *tally;
	uint32_t count = 0;

	while (lesson->tallies.count <= number)
		HEAP_TRY(heap_array_append(&lesson->tallies, (struct union_tally){ 0 }));
	tally = &lesson->tallies.items[number];
	add_alternatives(inference, slots, first, end, tally, sighting);
	add_casts(inference, choice, tally);
	union_choices_read_all(inference, choice, sighting->address, values);
	for (uint32_t i = 0; i < choice->number_count; i++) {
		const uint64_t value = values[i];
		struct union_group *group;

		if (tally->groups[i].are_too_many)
			continue;
		progress_step();
		if (is_overlaid(inference, sighting, &choice->numbers[i])) {
			tally->groups[i].overlaid++;
			continue;
		}
		if (value >= LARGEST && value < SMALLEST_NEGATIVE)
			continue;
		HEAP_TRY(find_group(&tally->groups[i], value, &group));
		if (!group)
			continue;
		count_block(inference, sighting, group);
		if (group->count < SAMPLED)
			groups[count++] = group;
	}
	if (count > 0)
		sight(lesson, tally, choice, sighting);
	for (uint32_t i = 0; i < count; i++)
		HEAP_TRY(add_to_group(lesson, tally, sighting, groups[i]));
	return NULL;
}

// Visits a pointer if it is in a union, and its place in the union holds something.
HEAP_MUST_CHECK
static struct heap_error *visit_pointer(struct inference *inference, const struct held_value *value,
					struct union_pointer *pointer, union_visitor *visit,
					void *context)
{
	pointer->address = value->address;
	if (!held_parts_has(inference->held, value, pointer->offset))
		return NULL;
	HEAP_TRY(union_choices_find(inference, value->type, &pointer->address, pointer->offset,
				    &pointer->place));
	return pointer->place ? visit(context, pointer) : NULL;
}

struct heap_error *union_groups_visit(struct inference *inference, heap_object_id object,
				      union_visitor *visit, void *context)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct held_value value = inference_value(inference, object);
	uint64_t prefix = inference_prefix(inference, object);
	struct union_pointer pointer = { .holder = object };

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, value.type, &pointer.repetition));
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t slot = snapshot->edge_slot[i] * UINT64_C(8);

		progress_step();
		if (slot < prefix)
			continue;
		pointer.edge = i;
		pointer.offset = slot - prefix;
		HEAP_TRY(visit_pointer(inference, &value, &pointer, visit, context));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *see_pointer(void *context, const struct union_pointer *pointer)
{
	struct union_lesson *lesson = context;
	struct inference *inference = lesson->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	struct sighting sighting = { .holder = pointer->holder,
				     .target = snapshot->edge_target[pointer->edge] };
	uint64_t interior = snapshot->edge_interior[pointer->edge];
	uint64_t prefix = inference_prefix(inference, sighting.target);
	uint32_t first, end;
	const struct heap_slots *slots =
		heap_repetition_slots_at(pointer->repetition, pointer->offset, &first, &end);

	if (!slots || interior < prefix || !layouts_is_start(interior - prefix))
		return NULL;
	for (uint32_t i = 0; i < UNION_LEVELS; i++) {
		sighting.address = pointer->address + pointer->place->starts[i];
		if (pointer->place->choices[i] != UNION_NO_CHOICE)
			HEAP_TRY(see(lesson, pointer->place->choices[i], slots, first, end,
				     &sighting));
	}
	return NULL;
}

struct heap_error *union_groups_holders(struct inference *inference, struct holders *holders,
					heap_object_id *count)
{
	size_t types = inference->layouts.types->count;
	const uint32_t *counts;

	HEAP_TRY(holders_init(holders, inference));
	HEAP_TRY(inference_count_types(inference, &counts));
	*count = 0;
	for (heap_type_id id = 1; id < types; id++) {
		holders->are_types[id] = counts[id] > 0 && union_choices_concern(inference, id);
		*count += holders->are_types[id] ? counts[id] : 0;
	}
	holders_begin(holders);
	return NULL;
}

struct heap_error *union_groups_gather(struct union_lesson *lesson)
{
	CLEANUP(holders_deinit) struct holders holders = { 0 };
	heap_object_id count;
	struct sampler sampler;

	HEAP_TRY(union_groups_holders(lesson->inference, &holders, &count));
	sampler = sampler_of(count / HOLDERS + 1);
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1)) {
		if (sampler_takes(&sampler))
			HEAP_TRY(union_groups_visit(lesson->inference, i, see_pointer, lesson));
	}
	return NULL;
}
