// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The number beside a union that tells which of its members holds.
 *
 * For each number in the struct around a union, the blocks that the union's pointers lead to are grouped by
 * its value. If it is the tag, all blocks of a group are of one type: the one that their sure names say, or
 * the only one of the members' pointees that sizes, hints and contents of all of them admit. The tag is the
 * number that explains most pointers.
 */
#include "dumper/writer/infer/naming.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 16,   // of members in members
	MAX_STEPS = 4096, // to find the unions around a pointer
	LEVELS = 3,       // structs around a union that may have its tag, innermost first
	NUMBERS = 24,     // in a struct, that may be the tag
	NEAR = 64,        // bytes between a tag and its pointer, at most
	VALUES = 64,      // of a tag
	ALTERNATIVES = 16,
	CHECKED = 64,       // blocks of a value whose contents are read
	HOLDERS = 1 << 16,  // that are learned from
	PLACES = 1 << 16,   // in types
	MIN_VOTERS = 3,     // with a sure name, of a value
	MIN_POINTERS = 8,   // with a value that no sure name explains
	PER_MILLE = 950,    // of a value's blocks that must agree
	CONTRADICTED = 4,   // pointers that a tag must explain for each that contradicts it
	UNSCORED = INT_MIN, // no score yet
	TEXT_SCORE = 3,
};

#define NO_CHOICE UINT32_MAX

enum unions {
	NOT_ASKED,
	NONE,
	SOME,
};

// A number that may be the tag.
struct number {
	heap_type_id type;
	uint32_t offset; // in the struct
	uint8_t size, shift, bits;
};

// The meaning of a tag's value.
struct meaning {
	uint64_t value;
	heap_type_id type;
	bool is_sure;
};

// A pointer in a union, in a struct that has numbers.
struct union_choice {
	heap_type_id holder; // the struct
	uint64_t offset;     // of the pointer in it
	struct number numbers[NUMBERS];
	uint32_t number_count;
	uint32_t tag;             // in numbers
	struct meaning *meanings; // [meaning_count] by value
	uint32_t meaning_count;
	bool is_changed; // its pointers are to be followed again
};

// The choices for a pointer of a type.
struct union_place {
	heap_type_id type;
	uint64_t offset;
	uint32_t choices[LEVELS];
	uint64_t starts[LEVELS]; // where their structs begin in the type
};

struct heap_error *union_tags_init(struct union_tags *tags, uint32_t types)
{
	*tags = (struct union_tags){ .has_unions = calloc(types, sizeof(*tags->has_unions)) };
	return tags->has_unions ? NULL : heap_error_out_of_memory();
}

void union_tags_deinit(struct union_tags *tags)
{
	for (uint32_t i = 0; i < tags->count; i++)
		free(tags->choices[i].meanings);
	free(tags->choices);
	free(tags->places);
	heap_hash_table_deinit(&tags->place_of);
	free(tags->has_unions);
}

// --- where the unions are ------------------------------------------------------

// True if a union with a pointer is a part of a type.
static bool has_unions(struct inference *inference, heap_type_id id, int depth)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id stripped = layouts_strip(&inference->layouts, id);
	const struct heap_type *type = &types->types[stripped];
	uint8_t *known = &inference->union_tags.has_unions[stripped];

	progress_step();
	if (*known != NOT_ASKED || depth == MAX_DEPTH)
		return *known == SOME;
	*known = NONE; // a type cannot have itself as a part
	if (type->kind == HEAP_TYPE_ARRAY) {
		*known = has_unions(inference, type->target, depth + 1) ? SOME : NONE;
	} else if (type->kind == HEAP_TYPE_UNION) {
		const struct heap_slots *slots =
			heap_slot_table_get(&inference->layouts.slots, stripped);

		*known = slots && slots->count > 0 ? SOME : NONE;
	}
	for (uint32_t i = 0; *known == NONE && heap_types_has_members(type) && i < type->members;
	     i++) {
		if (has_unions(inference, types->members[type->first_member + i].type, depth + 1))
			*known = SOME;
	}
	return *known == SOME;
}

static bool is_number(const struct heap_type *type)
{
	return type->size >= 1 && type->size <= 8 &&
	       (type->kind == HEAP_TYPE_ENUM ||
		(type->kind == HEAP_TYPE_BASE && !(type->flags & HEAP_TYPE_FLOAT)));
}

// Adds the numbers of a type that begins at @p start of the choice's struct, also those in other unions.
static void gather_numbers(const struct heap_types *types, heap_type_id id, uint64_t start,
			   int depth, struct union_choice *choice)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH || !heap_types_has_members(type))
		return;
	for (uint32_t i = 0; i < type->members && choice->number_count < NUMBERS; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own_id = heap_types_strip(types, member->type);
		const struct heap_type *own = &types->types[own_id];
		bool bits = member->flags & HEAP_MEMBER_BIT_FIELD;
		uint64_t at = start + member->offset;
		bool covers = at <= choice->offset && choice->offset - at < own->size;

		progress_step();
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE ||
		    (covers && own->kind == HEAP_TYPE_UNION))
			continue;
		if (!is_number(own))
			gather_numbers(types, member->type, at, depth + 1, choice);
		else if (!covers && at + NEAR >= choice->offset && at <= choice->offset + NEAR)
			choice->numbers[choice->number_count++] = (struct number){
				.type = own_id,
				.offset = (uint32_t)at,
				.size = (uint8_t)own->size,
				.shift = bits ? member->bit_offset : 0,
				.bits = bits ? member->bit_size : (uint8_t)(own->size * 8),
			};
	}
}

// Finds or adds a choice. @param result  NO_CHOICE if there are no numbers beside the pointer
HEAP_MUST_CHECK
static struct heap_error *find_choice(struct inference *inference, heap_type_id holder,
				      uint64_t offset, uint32_t *result)
{
	struct union_tags *tags = &inference->union_tags;
	struct union_choice choice = { .holder = holder, .offset = offset };

	for (*result = 0; *result < tags->count; ++*result) {
		if (tags->choices[*result].holder == holder &&
		    tags->choices[*result].offset == offset)
			return NULL;
	}
	*result = NO_CHOICE;
	gather_numbers(inference->layouts.types, holder, 0, 0, &choice);
	if (choice.number_count == 0)
		return NULL;
	HEAP_TRY(heap_reserve(tags->choices, tags->capacity, (size_t)tags->count + 1));
	*result = tags->count;
	tags->choices[tags->count++] = choice;
	return NULL;
}

// The structs around the unions that have a place of a type in them.
struct search {
	const struct heap_types *types;
	heap_type_id holders[MAX_DEPTH]; // outermost first
	uint64_t starts[MAX_DEPTH];
	uint32_t count;
	uint32_t steps;
};

// Looks for unions at @p offset of a type that begins at @p start. @param holder  the struct that it is in
static void search_unions(struct search *search, heap_type_id id, uint64_t start, uint64_t offset,
			  heap_type_id holder, uint64_t holder_start, int depth)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type;
	uint32_t found;

	id = heap_types_strip(types, id);
	type = &types->types[id];
	progress_step();
	if (depth == MAX_DEPTH || search->steps == 0)
		return;
	search->steps--;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);

		if (size > 0)
			search_unions(search, type->target, start + offset - offset % size,
				      offset % size, holder, holder_start, depth + 1);
		return;
	}
	if (!heap_types_has_members(type))
		return;
	if (type->kind != HEAP_TYPE_UNION) {
		holder = id;
		holder_start = start;
	} else if (holder != HEAP_NO_TYPE &&
		   (search->count == 0 || search->holders[search->count - 1] != holder)) {
		search->holders[search->count] = holder;
		search->starts[search->count++] = holder_start;
	}
	found = search->count;
	for (uint32_t i = 0; i < type->members && search->count == found; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t size = heap_types_size(types, member->type);

		if (offset >= member->offset && offset - member->offset < size &&
		    !(member->flags & HEAP_MEMBER_VIRTUAL_BASE))
			search_unions(search, member->type, start + member->offset,
				      offset - member->offset, holder, holder_start, depth + 1);
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_place(struct inference *inference, uint64_t hash, heap_type_id type,
				    uint64_t offset)
{
	struct union_tags *tags = &inference->union_tags;
	struct union_place place = { .type = type, .offset = offset };
	struct search search = { .types = inference->layouts.types, .steps = MAX_STEPS };

	search_unions(&search, type, 0, offset, HEAP_NO_TYPE, 0, 0);
	for (uint32_t i = 0; i < LEVELS; i++) {
		uint32_t level = search.count - 1 - i;

		place.choices[i] = NO_CHOICE;
		if (i >= search.count)
			continue;
		place.starts[i] = search.starts[level];
		HEAP_TRY(find_choice(inference, search.holders[level],
				     offset - search.starts[level], &place.choices[i]));
	}
	HEAP_TRY(heap_reserve(tags->places, tags->place_capacity, (size_t)tags->place_count + 1));
	tags->places[tags->place_count] = place;
	return heap_hash_add(&tags->place_of, hash, tags->place_count++);
}

// Finds the place of a pointer. @param address  of the value that has it
// @param result  NULL: it is in no union that has numbers beside it
HEAP_MUST_CHECK
static struct heap_error *find_place(struct inference *inference, heap_type_id type,
				     uint64_t *address, uint64_t offset,
				     const struct union_place **result)
{
	struct union_tags *tags = &inference->union_tags;
	const struct layout_facts *facts;
	uint64_t hash, stride;
	uint32_t found;

	*result = NULL;
	type = layouts_strip(&inference->layouts, type);
	facts = &inference->layouts.facts[type];
	if (type == HEAP_NO_TYPE)
		return NULL;
	if (facts->is_flexible && offset >= facts->start) {
		*address += facts->start;
		offset -= facts->start;
		type = layouts_strip(&inference->layouts, facts->element);
	}
	if (!has_unions(inference, type, 0))
		return NULL;
	stride = layouts_size(&inference->layouts, type);
	if (stride > 0) {
		*address += offset - offset % stride;
		offset %= stride;
	}
	hash = heap_hash_u64((uint64_t)type << 32 ^ offset);
	found = heap_hash_find(&tags->place_of, hash, i,
			       tags->places[i].type == type && tags->places[i].offset == offset);
	if (found == HEAP_HASH_NONE && tags->place_count == PLACES)
		return NULL;
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(add_place(inference, hash, type, offset));
		found = tags->place_count - 1;
	}
	*result = &tags->places[found];
	return NULL;
}

static uint64_t read_number(const struct inference *inference, const struct number *number,
			    uint64_t address)
{
	uint64_t value = 0;

	pages_read(inference->pages, address + number->offset, &value, number->size);
	value >>= number->shift;
	return number->bits < 64 ? value & ((UINT64_C(1) << number->bits) - 1) : value;
}

// --- what a tag says -----------------------------------------------------------

static const struct meaning *find_meaning(const struct union_choice *choice, uint64_t value)
{
	for (uint32_t i = 0; i < choice->meaning_count; i++) {
		if (choice->meanings[i].value == value)
			return &choice->meanings[i];
	}
	return NULL;
}

struct heap_error *union_tags_ask(struct inference *inference, const struct pointer *pointer,
				  uint64_t offset, bool *is_sure, heap_type_id *result)
{
	const struct union_place *place;
	uint64_t address = pointer->holder;

	*result = HEAP_NO_TYPE;
	if (inference->union_tags.count == 0 || address == 0)
		return NULL;
	HEAP_TRY(find_place(inference, pointer->holder_type, &address, offset, &place));
	for (uint32_t i = 0; place && i < LEVELS; i++) {
		const struct union_choice *choice;
		const struct meaning *meaning;

		if (place->choices[i] == NO_CHOICE)
			continue;
		choice = &inference->union_tags.choices[place->choices[i]];
		if (choice->meaning_count == 0)
			continue;
		meaning = find_meaning(choice, read_number(inference, &choice->numbers[choice->tag],
							   address + place->starts[i]));
		if (!meaning)
			continue;
		*result = meaning->type;
		*is_sure = *is_sure && meaning->is_sure;
		return NULL;
	}
	return NULL;
}

// --- learning ------------------------------------------------------------------

// The pointers whose tag has one value, and how well the alternatives go with them.
struct group {
	uint64_t value;
	uint32_t count, voters;
	struct support {
		uint32_t votes; // blocks that surely have that type
		uint32_t seen;  // since that is an alternative
		uint32_t
			fitting; // of these, blocks of which nothing but contents speaks against it
		uint32_t checked;  // blocks whose contents were read
		uint32_t agreeing; // of these
		int64_t score;     // of their contents
	} support[ALTERNATIVES];
};

// The groups by one number.
struct groups {
	struct group *list; // [count]
	uint32_t count, capacity;
	bool are_too_many;
};

// The evidence for one choice.
struct tally {
	heap_type_id alternatives[ALTERNATIVES];
	uint32_t alternative_count;
	bool is_open; // there is a void *: the pointee may be any type
	struct groups groups[NUMBERS];
};

struct lesson {
	struct inference *inference;
	struct HEAP_ARRAY(struct tally) tallies; // by choice
	uint64_t *words;
};

static void lesson_deinit(struct lesson *lesson)
{
	for (size_t i = 0; i < lesson->tallies.count; i++) {
		for (uint32_t j = 0; j < NUMBERS; j++)
			free(lesson->tallies.items[i].groups[j].list);
	}
	heap_array_deinit(&lesson->tallies);
	free(lesson->words);
}

static uint32_t add_alternative(struct tally *tally, heap_type_id type)
{
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		if (tally->alternatives[i] == type)
			return i;
	}
	if (type == HEAP_NO_TYPE || tally->alternative_count == ALTERNATIVES)
		return ALTERNATIVES;
	tally->alternatives[tally->alternative_count] = type;
	return tally->alternative_count++;
}

HEAP_MUST_CHECK
static struct heap_error *find_group(struct groups *groups, uint64_t value, struct group **result)
{
	uint32_t at = 0;

	*result = NULL;
	while (at < groups->count && groups->list[at].value != value)
		at++;
	if (at == VALUES)
		groups->are_too_many = true;
	if (groups->are_too_many)
		return NULL;
	if (at == groups->count) {
		HEAP_TRY(heap_reserve(groups->list, groups->capacity, (size_t)groups->count + 1));
		groups->list[groups->count++] = (struct group){ .value = value };
	}
	*result = &groups->list[at];
	return NULL;
}

// How a block of a size may be of an alternative's type: by itself, or as several.
static struct layout_claim fit(const struct inference *inference, heap_object_id target,
			       heap_type_id type)
{
	uint64_t size = inference_size(inference, target);
	struct layout_claim claim = layouts_fit(&inference->layouts, type, size);

	if (claim.fit == LAYOUT_NONE)
		claim = layouts_fit_weakly(&inference->layouts, type, 0, size);
	if (claim.fit == LAYOUT_SLACK || claim.fit == LAYOUT_ELEMENT)
		claim.fit = LAYOUT_NONE;
	return claim;
}

// True if a block may have a type by its size and hints: also as the first part of another one.
static bool may_be(const struct inference *inference, heap_object_id target, heap_type_id type)
{
	struct layout_wholes wholes;

	if (hints_ask(inference, target, type) == VERDICT_AGAINST)
		return false;
	if (fit(inference, target, type).fit != LAYOUT_NONE)
		return true;
	wholes = layouts_exact_wholes(&inference->layouts, type, 0,
				      inference_size(inference, target));
	return wholes.at < wholes.end;
}

static int score(const struct lesson *lesson, heap_object_id target, heap_type_id type)
{
	const struct inference *inference = lesson->inference;
	struct layout_claim claim = fit(inference, target, type);
	struct content content;

	if (claim.fit == LAYOUT_NONE)
		return 0;
	content_read(inference, target, lesson->words, &content);
	if (layouts_is_character(&inference->layouts, type) &&
	    content_is_text(inference, &content, inference_size(inference, target)))
		return TEXT_SCORE;
	return content_score(inference, &content, claim.type, claim.elements);
}

// True if a block's name does not come from unions' pointers.
static bool is_voter(const struct inference *inference, heap_object_id object)
{
	uint8_t rank = inference->claims.name_rank[object];

	return rank <= RANK_DISCRIMINATOR || rank == RANK_SITE;
}

struct sighting {
	heap_object_id target;
	uint64_t address; // of the struct
	uint32_t vote;    // an alternative
	bool is_voting;
	bool may_be[ALTERNATIVES];
	int scores[ALTERNATIVES]; // UNSCORED: not yet
};

static void add_to_group(const struct lesson *lesson, const struct tally *tally,
			 struct sighting *sighting, struct group *group)
{
	group->count++;
	group->voters += sighting->is_voting;
	if (sighting->is_voting && sighting->vote < ALTERNATIVES)
		group->support[sighting->vote].votes++;
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		struct support *support = &group->support[i];

		support->seen++;
		support->fitting += sighting->may_be[i];
		if (support->checked == CHECKED)
			continue;
		if (sighting->scores[i] == UNSCORED)
			sighting->scores[i] =
				score(lesson, sighting->target, tally->alternatives[i]);
		support->checked++;
		support->agreeing += sighting->scores[i] >= 0;
		support->score += sighting->scores[i];
	}
}

// Counts one pointer in the groups of all numbers that may be its tag.
HEAP_MUST_CHECK
static struct heap_error *see(struct lesson *lesson, uint32_t number,
			      const struct heap_slots *slots, uint32_t first, uint32_t end,
			      struct sighting *sighting)
{
	struct inference *inference = lesson->inference;
	const struct union_choice *choice = &inference->union_tags.choices[number];
	struct tally *tally;

	while (lesson->tallies.count <= number)
		HEAP_TRY(heap_array_append(&lesson->tallies, (struct tally){ 0 }));
	tally = &lesson->tallies.items[number];
	for (uint32_t i = first; i < end; i++) {
		tally->is_open |= slots->list[i].pointee == HEAP_NO_TYPE;
		add_alternative(tally, slots->list[i].pointee);
	}
	sighting->is_voting = is_voter(inference, sighting->target);
	if (sighting->is_voting)
		sighting->vote =
			add_alternative(tally, inference->capture->snapshot.type[sighting->target]);
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		sighting->may_be[i] = may_be(inference, sighting->target, tally->alternatives[i]);
		sighting->scores[i] = UNSCORED;
	}
	for (uint32_t i = 0; i < choice->number_count; i++) {
		struct group *group;

		progress_step();
		HEAP_TRY(find_group(&tally->groups[i],
				    read_number(inference, &choice->numbers[i], sighting->address),
				    &group));
		if (group)
			add_to_group(lesson, tally, sighting, group);
	}
	return NULL;
}

typedef struct heap_error *edge_visitor(void *context, heap_object_id holder, uint32_t edge,
					const struct heap_repetition *repetition,
					const struct union_place *place, uint64_t address,
					uint64_t offset);

// Visits the pointers in unions of one object.
HEAP_MUST_CHECK
static struct heap_error *visit_object(struct inference *inference, heap_object_id object,
				       edge_visitor *visit, void *context)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_repetition *repetition;
	const struct held_value value = inference_value(inference, object);
	uint64_t prefix = inference_prefix(inference, object);

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, value.type, &repetition));
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8) - prefix;
		uint64_t address = value.address;
		const struct union_place *place;

		progress_step();
		if (snapshot->edge_slot[i] * UINT64_C(8) < prefix ||
		    !held_parts_has(inference->held, &value, offset))
			continue;
		HEAP_TRY(find_place(inference, value.type, &address, offset, &place));
		if (place)
			HEAP_TRY(visit(context, object, i, repetition, place, address, offset));
	}
	return NULL;
}

// True if objects of that type may have pointers in unions.
static bool may_hold(struct inference *inference, heap_object_id object)
{
	heap_type_id type = inference->capture->snapshot.type[object];
	const struct layout_facts *facts = &inference->layouts.facts[type];

	return type != HEAP_NO_TYPE &&
	       (has_unions(inference, type, 0) ||
		(facts->is_flexible && has_unions(inference, facts->element, 0)));
}

HEAP_MUST_CHECK
static struct heap_error *see_edge(void *context, heap_object_id holder, uint32_t edge,
				   const struct heap_repetition *repetition,
				   const struct union_place *place, uint64_t address,
				   uint64_t offset)
{
	struct lesson *lesson = context;
	struct inference *inference = lesson->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	struct sighting sighting = { .target = snapshot->edge_target[edge] };
	uint32_t first, end;
	const struct heap_slots *slots = heap_repetition_slots_at(repetition, offset, &first, &end);

	(void)holder;
	if (!slots ||
	    snapshot->edge_interior[edge] < inference_prefix(inference, sighting.target) ||
	    !layouts_is_start(snapshot->edge_interior[edge] -
			      inference_prefix(inference, sighting.target)))
		return NULL;
	for (uint32_t i = 0; i < LEVELS; i++) {
		sighting.address = address + place->starts[i];
		if (place->choices[i] != NO_CHOICE)
			HEAP_TRY(see(lesson, place->choices[i], slots, first, end, &sighting));
	}
	return NULL;
}

// --- deciding ------------------------------------------------------------------

static bool is_nearly_all(uint32_t part, uint32_t all)
{
	return part * UINT64_C(1000) >= all * (uint64_t)PER_MILLE;
}

static bool is_admitted(const struct support *support)
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
static uint32_t choose_by_name(const struct inference *inference, const struct tally *tally,
			       const struct group *group, const struct number *number)
{
	const struct heap_types *types = inference->layouts.types;
	const char *name = find_enumerator(types, number->type, group->value);
	uint32_t found = ALTERNATIVES;
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
			found = ALTERNATIVES;
		if (common <= most)
			continue;
		most = common;
		found = i;
	}
	return most > 0 ? found : ALTERNATIVES;
}

// The only admitted type, or the one whose score is better by one for each block.
static uint32_t choose_by_content(const struct tally *tally, const struct group *group,
				  uint32_t *admitted)
{
	const struct support *best = NULL;
	int64_t second = INT64_MIN;

	*admitted = 0;
	for (uint32_t i = 0; i < tally->alternative_count; i++) {
		const struct support *one = &group->support[i];

		if (!is_admitted(one))
			continue;
		++*admitted;
		if (best && one->score <= best->score) {
			second = one->score > second ? one->score : second;
			continue;
		}
		second = best ? best->score : second;
		best = one;
	}
	if (!best || (*admitted > 1 && best->score - second < (int64_t)best->checked))
		return ALTERNATIVES;
	return (uint32_t)(best - group->support);
}

// The alternative that a value means. Few sure names count only if the contents of the others agree.
// Where there is a void *, the alternatives are not all known, and contents alone say nothing.
// @return ALTERNATIVES if nothing is known
static uint32_t decide(const struct inference *inference, const struct tally *tally,
		       const struct group *group, const struct number *number, bool *is_sure,
		       bool *contradicts)
{
	uint32_t found, admitted, most = 0;
	const struct support *voted;

	for (uint32_t i = 0; i < tally->alternative_count; i++)
		most = group->support[i].votes > group->support[most].votes ? i : most;
	voted = &group->support[most];
	*is_sure = group->voters >= MIN_VOTERS;
	*contradicts = false;
	if (*is_sure) {
		*contradicts = !is_nearly_all(voted->votes, group->voters) ||
			       !is_nearly_all(voted->fitting, voted->seen);
		return *contradicts ? ALTERNATIVES : most;
	}
	if (group->voters > 0 && voted->votes == group->voters && is_admitted(voted))
		return most;
	if (group->count < MIN_POINTERS || tally->is_open)
		return ALTERNATIVES;
	found = choose_by_content(tally, group, &admitted);
	*contradicts = admitted == 0;
	return found == ALTERNATIVES ? choose_by_name(inference, tally, group, number) : found;
}

// Finds what the values of a number mean. @return how many pointers that explains; 0 if it is no tag
static uint64_t explain(const struct inference *inference, const struct tally *tally,
			const struct groups *groups, const struct number *number,
			struct meaning *meanings, uint32_t *count)
{
	uint64_t explained = 0, contradicting = 0;
	bool has_several = false;

	*count = 0;
	for (uint32_t i = 0; !groups->are_too_many && i < groups->count; i++) {
		const struct group *group = &groups->list[i];
		bool is_sure, contradicts;
		uint32_t meant = decide(inference, tally, group, number, &is_sure, &contradicts);

		contradicting += contradicts ? group->count : 0;
		if (meant == ALTERNATIVES)
			continue;
		meanings[*count] =
			(struct meaning){ group->value, tally->alternatives[meant], is_sure };
		has_several |= meanings[*count].type != meanings[0].type;
		++*count;
		explained += group->count;
	}
	return has_several && explained >= contradicting * CONTRADICTED ? explained : 0;
}

// @param learned  the number of values that mean something new is added
HEAP_MUST_CHECK
static struct heap_error *set_meanings(struct union_choice *choice, uint32_t tag,
				       const struct meaning *meanings, uint32_t count,
				       uint64_t *learned)
{
	struct meaning *list = malloc(count * sizeof(*list));

	if (!list)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		const struct meaning *old =
			choice->tag == tag ? find_meaning(choice, meanings[i].value) : NULL;

		if (old && old->type == meanings[i].type)
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

HEAP_MUST_CHECK
static struct heap_error *learn_choice(struct inference *inference, const struct tally *tally,
				       struct union_choice *choice, uint64_t *learned)
{
	struct meaning best[VALUES], meanings[VALUES];
	uint32_t best_count = 0, tag = 0, count;
	uint64_t most = 0;

	for (uint32_t i = 0; i < choice->number_count; i++) {
		uint64_t explained = explain(inference, tally, &tally->groups[i],
					     &choice->numbers[i], meanings, &count);

		if (explained <= most)
			continue;
		most = explained;
		tag = i;
		best_count = count;
		memcpy(best, meanings, count * sizeof(*best));
	}
	return best_count > 0 ? set_meanings(choice, tag, best, best_count, learned) : NULL;
}

// Follows a pointer again whose tag has got a meaning.
HEAP_MUST_CHECK
static struct heap_error *follow_edge(void *context, heap_object_id holder, uint32_t edge,
				      const struct heap_repetition *repetition,
				      const struct union_place *place, uint64_t address,
				      uint64_t offset)
{
	struct inference *inference = context;
	struct heap_snapshot *snapshot = &inference->capture->snapshot;

	(void)address;
	for (uint32_t i = 0; i < LEVELS; i++) {
		if (place->choices[i] != NO_CHOICE &&
		    inference->union_tags.choices[place->choices[i]].is_changed)
			return inference_follow(
				inference, repetition, offset,
				&(struct pointer){
					.target = snapshot->edge_target[edge],
					.interior = snapshot->edge_interior[edge],
					.is_sure = inference->claims.is_sure[holder],
					.holder_type = snapshot->type[holder],
					.holder = inference_address(inference, holder),
				},
				&snapshot->edge_flags[edge]);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *gather(struct lesson *lesson)
{
	struct inference *inference = lesson->inference;
	heap_object_id objects = inference->capture->objects.count, holders = 0, seen = 0;

	for (heap_object_id i = 0; i < objects && !progress_is_late(); i++) {
		progress_step();
		holders += may_hold(inference, i);
	}
	for (heap_object_id i = 0; holders > 0 && i < objects && !progress_is_late(); i++) {
		progress_step();
		if (may_hold(inference, i) && naming_samples(seen++, holders / HOLDERS + 1))
			HEAP_TRY(visit_object(inference, i, see_edge, lesson));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow_changed(struct inference *inference)
{
	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		progress_step();
		if (may_hold(inference, i))
			HEAP_TRY(visit_object(inference, i, follow_edge, inference));
	}
	for (uint32_t i = 0; i < inference->union_tags.count; i++)
		inference->union_tags.choices[i].is_changed = false;
	return NULL;
}

struct heap_error *union_tags_learn(struct inference *inference, uint64_t *learned)
{
	CLEANUP(lesson_deinit)
	struct lesson lesson = {
		.inference = inference,
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*lesson.words)),
	};
	uint64_t values = 0;

	if (!lesson.words)
		return heap_error_out_of_memory();
	HEAP_TRY(gather(&lesson));
	for (size_t i = 0; i < lesson.tallies.count; i++)
		HEAP_TRY(learn_choice(inference, &lesson.tallies.items[i],
				      &inference->union_tags.choices[i], &values));
	*learned += values;
	return values > 0 ? follow_changed(inference) : NULL;
}
