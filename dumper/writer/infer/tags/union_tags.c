// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The number beside a union that tells which of its members holds.
 *
 * For each number in the struct around a union, the blocks that the union's pointers lead to are grouped by
 * its value. If it is the tag, all blocks of a group are of one type: the one that their sure names say, or
 * the only one of the members' pointees that sizes, hints and contents of all of them admit. The tag is the
 * number that explains most pointers.
 */
#include "dumper/writer/infer/tags/union_groups.h"
#include "dumper/writer/infer/tags/union_names.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEVERAL = 2,      // alternatives that are declared
	MIN_VOTERS = 3,   // with a sure name, of a value
	MIN_POINTERS = 8, // with a value that no sure name explains
	PER_MILLE = 950,  // of a value's blocks that must agree
	CONTRADICTED = 4, // pointers that a tag must explain for each that contradicts it
	RARE = 64,    // bytes, from which on a struct of a wrong type is hardly of a block's size
	ROUNDED = 16, // by fewer bytes sizes are rounded up
	MARGIN = 4,   // of scores: one for each so many blocks
};

struct heap_error *union_tags_init(struct union_tags *tags, uint32_t types)
{
	*tags = (struct union_tags){ .has_unions = calloc(types, sizeof(*tags->has_unions)) };
	return tags->has_unions ? NULL : heap_error_out_of_memory();
}

void union_tags_deinit(struct union_tags *tags)
{
	for (uint32_t i = 0; i < tags->count; i++) {
		free(tags->choices[i].meanings);
		free(tags->choices[i].named);
	}
	free(tags->choices);
	free(tags->places);
	heap_hash_table_deinit(&tags->place_of);
	free(tags->has_unions);
}

// --- what a tag says -----------------------------------------------------------

static const struct union_meaning *find_meaning(const struct union_choice *choice, uint64_t value)
{
	for (uint32_t i = 0; i < choice->meaning_count; i++) {
		if (choice->meanings[i].value == value)
			return &choice->meanings[i];
	}
	return NULL;
}

// Asks one choice. @param address  of its struct
HEAP_MUST_CHECK
static struct heap_error *ask_choice(const struct inference *inference, struct union_choice *choice,
				     uint64_t address, struct union_pointee *result)
{
	const struct union_meaning *meaning = NULL;

	if (choice->meaning_count > 0)
		meaning = find_meaning(
			choice,
			union_choices_read(inference, &choice->numbers[choice->tag], address));
	if (meaning) {
		*result = (struct union_pointee){ meaning->type, meaning->is_sure,
						  meaning->is_array, 0 };
		if (meaning->length < UNION_LENGTHS)
			result->elements = union_choices_read(
				inference, &choice->lengths[meaning->length], address);
		return NULL;
	}
	HEAP_TRY(union_names_find(inference, choice));
	result->type = union_names_ask(inference, choice, address);
	return NULL;
}

struct heap_error *union_tags_ask(struct inference *inference, const struct pointer *pointer,
				  uint64_t offset, struct union_pointee *result)
{
	const struct union_place *place;
	uint64_t address = pointer->holder;

	*result = (struct union_pointee){ .type = HEAP_NO_TYPE };
	if (address == 0)
		return NULL;
	HEAP_TRY(union_choices_find(inference, pointer->holder_type, &address, offset, &place));
	for (uint32_t i = 0; place && i < UNION_LEVELS && result->type == HEAP_NO_TYPE; i++) {
		if (place->choices[i] != UNION_NO_CHOICE)
			HEAP_TRY(ask_choice(inference,
					    &inference->union_tags.choices[place->choices[i]],
					    address + place->starts[i], result));
	}
	return NULL;
}

// --- deciding ------------------------------------------------------------------

static bool is_nearly_all(uint32_t part, uint32_t all)
{
	return part * UINT64_C(1000) >= all * (uint64_t)PER_MILLE;
}

static bool is_admitted(const struct union_support *support)
{
	return is_nearly_all(support->fitting, support->seen) &&
	       is_nearly_all(support->agreeing, support->checked);
}

// The next word of a name: letters up to an underscore, a colon, or a capital behind a small letter.
static size_t next_word(const char **name, char *word, size_t size)
{
	const char *at = *name;
	size_t length = 0;

	while (*at && !isalnum((unsigned char)*at))
		at++;
	while (isalnum((unsigned char)*at) && length + 1 < size &&
	       !(length > 0 && isupper((unsigned char)*at) && islower((unsigned char)at[-1])))
		word[length++] = (char)tolower((unsigned char)*at++);
	word[length] = '\0';
	*name = at;
	return length;
}

// How many words two names have in common.
static int count_common_words(const char *one, const char *other)
{
	char word[64], own[64];
	int count = 0;

	while (next_word(&one, word, sizeof(word)) > 0) {
		const char *rest = other;

		while (next_word(&rest, own, sizeof(own)) > 0) {
			progress_step();
			if (strcmp(word, own) != 0)
				continue;
			count++;
			break;
		}
	}
	return count;
}

static const char *find_enumerator(const struct heap_types *types, heap_type_id id, uint64_t value)
{
	const struct heap_type *type = &types->types[id];

	if (type->kind != HEAP_TYPE_ENUM)
		return NULL;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_enumerator *enumerator =
			&types->enumerators[type->first_member + i];

		progress_step();
		if ((uint64_t)enumerator->value == value)
			return heap_types_string(types, enumerator->name);
	}
	return NULL;
}

// The only one of the admitted types that shares most words with the name of a value.
static uint32_t choose_by_name(const struct inference *inference, const struct union_tally *tally,
			       const struct union_group *group, const struct union_number *number)
{
	const struct heap_types *types = inference->layouts.types;
	const char *name = find_enumerator(types, number->type, group->value);
	uint32_t found = UNION_ALTERNATIVES;
	int most = 0;

	for (uint32_t i = 0; name && i < tally->alternative_count; i++) {
		int common =
			!is_admitted(&group->support[i])
				? 0
				: count_common_words(
					  name, heap_types_string(
							types,
							types->types[tally->alternatives[i]].name));

		if (common == most)
			found = UNION_ALTERNATIVES;
		if (common <= most)
			continue;
		most = common;
		found = i;
	}
	return most > 0 ? found : UNION_ALTERNATIVES;
}

// The only admitted type, or the one whose score is better by one for each block. Numbers may have any value: they are
// admitted where the contents speak against them, too.
static uint32_t choose_by_content(const struct union_tally *tally, const struct union_group *group,
				  uint32_t *admitted)
{
	const struct union_support *best = NULL;
	int64_t second = 0; // of those that the contents do not speak against

	*admitted = 0;
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		const struct union_support *one = &group->support[i];

		if (!is_admitted(one))
			continue;
		++*admitted;
		if (one->score < 0)
			continue;
		if (best && one->score <= best->score) {
			second = one->score > second ? one->score : second;
			continue;
		}
		second = best ? best->score : second;
		best = one;
	}
	if (!best || (*admitted > 1 && (best->score - second) * MARGIN < (int64_t)best->checked))
		return UNION_ALTERNATIVES;
	return (uint32_t)(best - group->support);
}

// The only admitted type of which all blocks have as many elements as a number beside the pointers says.
static uint32_t choose_by_length(const struct union_tally *tally, const struct union_group *group)
{
	uint32_t found = UNION_ALTERNATIVES;

	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		if (!is_admitted(&group->support[i]) ||
		    union_groups_length(&group->support[i]) == UNION_LENGTHS)
			continue;
		if (found != UNION_ALTERNATIVES)
			return UNION_ALTERNATIVES;
		found = i;
	}
	return found;
}

// True if the blocks of a value have the size of a struct, which is hardly that of anything else.
static bool have_rare_size(const struct inference *inference, const struct union_group *group,
			   heap_type_id type)
{
	uint64_t size = layouts_size(&inference->layouts, type);
	uint32_t i = 0;

	while (i < group->size_count && group->sizes[i] >= size && group->sizes[i] < size + ROUNDED)
		i++;
	return i > 0 && i == group->size_count && size >= RARE &&
	       !layouts_is_flexible(&inference->layouts, type);
}

// The only admitted type, if code casts a void pointer of the union to it, and it is as large as all blocks. In members that
// are not in use there may be anything, as old pointers.
static uint32_t choose_by_cast(const struct inference *inference, const struct union_tally *tally,
			       const struct union_group *group)
{
	uint32_t found = UNION_ALTERNATIVES;

	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		if (!is_admitted(&group->support[i]))
			continue;
		if (found != UNION_ALTERNATIVES)
			return UNION_ALTERNATIVES;
		found = i;
	}
	return found != UNION_ALTERNATIVES && tally->casts >> found & 1 &&
			       have_rare_size(inference, group, tally->alternatives[found])
		       ? found
		       : UNION_ALTERNATIVES;
}

// The alternative that a value means. Sure names count only if nearly all blocks have one, or if the
// contents of the others agree: a flag that most objects share explains whatever most of them hold. A few speak for
// nothing if the contents of all go better with another alternative.
// Where there is a void *, the alternatives are not all known, and the contents must prove one.
// @return UNION_ALTERNATIVES if nothing is known
static uint32_t decide(const struct inference *inference, const struct union_tally *tally,
		       const struct union_group *group, const struct union_number *number,
		       bool *is_sure, bool *contradicts)
{
	uint32_t found, admitted, most = 0;
	const struct union_support *voted;

	for (uint32_t i = 0; i < tally->alternative_count; i++)
		most = group->support[i].votes > group->support[most].votes ? i : most;
	voted = &group->support[most];
	*is_sure = group->voters >= MIN_VOTERS;
	*contradicts = false;
	if (*is_sure) {
		*contradicts = !is_nearly_all(voted->votes, group->voters) ||
			       !is_nearly_all(voted->fitting, voted->seen) ||
			       (!is_nearly_all(group->voters, group->count) &&
				!is_nearly_all(voted->agreeing, voted->checked));
		return *contradicts ? UNION_ALTERNATIVES : most;
	}
	if (group->count < MIN_POINTERS)
		return UNION_ALTERNATIVES;
	if (group->voters > 0 && voted->votes == group->voters && is_admitted(voted)) {
		found = choose_by_content(tally, group, &admitted);
		*contradicts = found != UNION_ALTERNATIVES && found != most;
		return *contradicts ? UNION_ALTERNATIVES : most;
	}
	if ((tally->is_open && tally->declared < SEVERAL))
		return UNION_ALTERNATIVES;
	found = choose_by_content(tally, group, &admitted);
	*contradicts = admitted == 0 && !tally->is_open;
	if (tally->is_open && found != UNION_ALTERNATIVES &&
	    group->support[found].score < (int64_t)group->support[found].checked)
		return choose_by_cast(inference, tally, group);
	if (found == UNION_ALTERNATIVES)
		found = choose_by_cast(inference, tally, group);
	if (found == UNION_ALTERNATIVES)
		found = choose_by_length(tally, group);
	return found == UNION_ALTERNATIVES ? choose_by_name(inference, tally, group, number)
					   : found;
}

// The meanings of a number's values, if it is the tag.
struct explanation {
	struct union_meaning meanings[UNION_VALUES];
	uint32_t count;
	uint64_t explained, contradicting; // pointers
	uint64_t singular; // pointers whose values hardly any other has, or that have none
	bool has_several;  // meanings, or a tag in the pointers that is there for nothing else
};

static void explain(const struct inference *inference, const struct union_tally *tally,
		    const struct union_groups *groups, const struct union_number *number,
		    struct explanation *result)
{
	result->count = 0;
	result->explained = result->contradicting = 0;
	result->singular = groups->overlaid;
	result->has_several = false;
	for (uint32_t i = 0; !groups->are_too_many && i < groups->count; i++) {
		const struct union_group *group = &groups->list[i];
		struct union_meaning *meaning = &result->meanings[result->count];
		bool is_sure, contradicts;
		uint32_t meant = decide(inference, tally, group, number, &is_sure, &contradicts);

		result->contradicting += contradicts ? group->count : 0;
		result->singular += group->count < MIN_POINTERS ? group->count : 0;
		if (meant == UNION_ALTERNATIVES)
			continue;
		*meaning = (struct union_meaning){
			group->value,
			tally->alternatives[meant],
			is_sure,
			union_groups_are_arrays(inference, group, tally->alternatives[meant]),
			union_groups_length(&group->support[meant]),
		};
		result->has_several |= meaning->type != result->meanings[0].type ||
				       (number->is_own && group->value != 0);
		result->count++;
		result->explained += group->count;
	}
}

// True if a number may be the tag, by what its values mean.
static bool is_convincing(const struct explanation *found)
{
	return found->count > 0 &&
	       found->explained >= (found->contradicting + found->singular) * CONTRADICTED;
}

static void explain_choice(const struct inference *inference, const struct union_choice *choice,
			   struct union_tally *tally)
{
	for (uint32_t i = 0; i < choice->number_count; i++) {
		struct explanation found;

		explain(inference, tally, &tally->groups[i], &choice->numbers[i], &found);
		tally->explained[i] =
			found.has_several && is_convincing(&found) ? found.explained : 0;
	}
}

static bool is_same_number(const struct union_number *one, const struct union_number *other)
{
	return one->offset == other->offset && one->size == other->size &&
	       one->shift == other->shift && one->bits == other->bits;
}

// The pointers at all places of a choice's union that a number explains.
static uint64_t sum_explained(const struct union_lesson *lesson, const struct union_choice *choice,
			      const struct union_number *number)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < lesson->tallies.count; i++) {
		const struct union_choice *other = &lesson->inference->union_tags.choices[i];

		if (other->holder != choice->holder || other->union_start != choice->union_start)
			continue;
		for (uint32_t j = 0; j < other->number_count; j++) {
			progress_step();
			if (is_same_number(number, &other->numbers[j]))
				sum += lesson->tallies.items[i].explained[j];
		}
	}
	return sum;
}

// @param learned  the number of values that mean something new is added
HEAP_MUST_CHECK
static struct heap_error *set_meanings(struct union_choice *choice, uint32_t tag,
				       const struct union_meaning *meanings, uint32_t count,
				       uint64_t *learned)
{
	struct union_meaning *list = malloc(count * sizeof(*list));

	if (!list)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		const struct union_meaning *old =
			choice->tag == tag ? find_meaning(choice, meanings[i].value) : NULL;

		if (old && old->type == meanings[i].type && old->is_array == meanings[i].is_array &&
		    old->length == meanings[i].length)
			continue;
		choice->is_changed = true;
		++*learned;
	}
	memcpy(list, meanings, count * sizeof(*list));
	free(choice->meanings);
	choice->meanings = list;
	choice->meaning_count = count;
	choice->tag = tag;
	return NULL;
}

// Takes the number that explains most pointers in the union as its tag.
HEAP_MUST_CHECK
static struct heap_error *learn_choice(const struct union_lesson *lesson, uint32_t number,
				       uint64_t *learned)
{
	struct union_choice *choice = &lesson->inference->union_tags.choices[number];
	const struct union_tally *tally = &lesson->tallies.items[number];
	struct explanation found;
	uint32_t tag = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < choice->number_count; i++) {
		uint64_t sum = sum_explained(lesson, choice, &choice->numbers[i]);

		if (sum <= most)
			continue;
		most = sum;
		tag = i;
	}
	if (most == 0)
		return NULL;
	explain(lesson->inference, tally, &tally->groups[tag], &choice->numbers[tag], &found);
	if (!is_convincing(&found))
		return NULL;
	return set_meanings(choice, tag, found.meanings, found.count, learned);
}

// Follows a pointer again whose tag has got a meaning.
HEAP_MUST_CHECK
static struct heap_error *follow_pointer(void *context, const struct union_pointer *pointer)
{
	struct inference *inference = context;
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id holder = pointer->holder;

	for (uint32_t i = 0; i < UNION_LEVELS; i++) {
		uint32_t choice = pointer->place->choices[i];

		if (choice != UNION_NO_CHOICE && inference->union_tags.choices[choice].is_changed)
			return inference_follow(
				inference, pointer->repetition, pointer->offset,
				&(struct pointer){
					.target = snapshot->edge_target[pointer->edge],
					.interior = snapshot->edge_interior[pointer->edge],
					.is_sure =
						names_is_sure(&inference->capture->names, holder),
					.holder_type = inference_type(inference, holder),
					.holder = inference_address(inference, holder),
				},
				&snapshot->edge_flags[pointer->edge]);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow_changed(struct inference *inference)
{
	CLEANUP(holders_deinit) struct holders holders = { 0 };
	heap_object_id count;

	HEAP_TRY(union_groups_holders(inference, &holders, &count));
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1))
		HEAP_TRY(union_groups_visit(inference, i, follow_pointer, inference));
	for (uint32_t i = 0; i < inference->union_tags.count; i++)
		inference->union_tags.choices[i].is_changed = false;
	return NULL;
}

struct heap_error *union_tags_learn(struct inference *inference, uint64_t *learned)
{
	CLEANUP(union_lesson_deinit)
	struct union_lesson lesson = {
		.inference = inference,
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*lesson.words)),
	};
	uint64_t values = 0;

	if (!lesson.words)
		return heap_error_out_of_memory();
	HEAP_TRY(union_groups_gather(&lesson));
	for (size_t i = 0; i < lesson.tallies.count; i++)
		explain_choice(inference, &inference->union_tags.choices[i],
			       &lesson.tallies.items[i]);
	for (uint32_t i = 0; i < lesson.tallies.count; i++)
		HEAP_TRY(learn_choice(&lesson, i, &values));
	*learned += values;
	return values > 0 ? follow_changed(inference) : NULL;
}
