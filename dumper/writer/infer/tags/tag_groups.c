// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/tag_groups.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/tags/tag_places.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MIN_TABLE_BLOCKS = 8, // of no group, that point to a table
	PREFIXES = 8,         // different ones of groups
};

static uint64_t hash_of(uint32_t place, uint64_t value)
{
	return heap_hash_pair(place, value);
}

static uint32_t find_group(const struct pointer_tags *tags, uint32_t place, uint64_t value)
{
	return heap_hash_find(&tags->by_value, hash_of(place, value), i,
			      tags->groups.items[i].place == place &&
				      tags->groups.items[i].value == value);
}

static void join(struct inference *inference, heap_object_id object, uint32_t number)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	struct tag_group *group = &tags->groups.items[number];
	uint32_t prefix = inference_prefix(inference, object);

	tags->of[object] = number + 1;
	tags->is_renewed = true;
	group->count++;
	if (group->prefix_votes == 0)
		group->prefix = prefix;
	group->prefix_votes += group->prefix == prefix ? 1 : UINT32_MAX; // or one less
}

// Finds or adds a group. @param result  its number
HEAP_MUST_CHECK
static struct heap_error *require_group(struct pointer_tags *tags, uint32_t place, uint64_t value,
					bool is_guessed, uint32_t *result)
{
	*result = find_group(tags, place, value);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	*result = (uint32_t)tags->groups.count;
	HEAP_TRY(heap_array_append(
		&tags->groups,
		(struct tag_group){ .value = value, .place = place, .is_guessed = is_guessed }));
	return heap_hash_add(&tags->by_value, hash_of(place, value), *result);
}

HEAP_MUST_CHECK
static struct heap_error *join_by_place(struct tag_search *search, heap_object_id object,
					uint16_t place, uint64_t word, bool *is_done)
{
	struct pointer_tags *tags = &search->inference->pointer_tags;
	uint32_t group;

	*is_done = tags->places.items[place].is_accepted;
	if (!*is_done || !method_tables_find(&tags->tables, word))
		return NULL;
	HEAP_TRY(require_group(tags, place, word, false, &group));
	tags->groups.items[group].is_guessed = false;
	join(search->inference, object, group);
	return NULL;
}

// --- members without a type ------------------------------------------

// A place of a group, with the bytes before it.
struct combination {
	uint32_t place, prefix;
};

struct combinations {
	struct combination list[PREFIXES * 4];
	uint32_t count;
};

static void gather_combinations(const struct pointer_tags *tags, struct combinations *result)
{
	result->count = 0;
	for (size_t i = 0; i < tags->groups.count; i++) {
		const struct tag_group *group = &tags->groups.items[i];
		uint32_t at = 0;

		while (at < result->count && (result->list[at].place != group->place ||
					      result->list[at].prefix != group->prefix))
			at++;
		if (at == result->count && at < sizeof(result->list) / sizeof(*result->list))
			result->list[result->count++] =
				(struct combination){ group->place, group->prefix };
	}
}

// The place where a block seems to have its tag.
struct recognized {
	heap_object_id object;
	uint64_t value; // 0: nowhere
	uint32_t place, prefix;
};

// True if pointers of a place can lead to a table: that has no other type than they say.
static bool may_lead_to(const struct inference *inference, const struct tag_place *place,
			const struct method_table *table)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id own = table ? table->type : HEAP_NO_TYPE;

	return own == HEAP_NO_TYPE || place->pointee == HEAP_NO_TYPE || own == place->pointee ||
	       !layouts_is_compound(layouts, own) ||
	       !layouts_is_compound(layouts, place->pointee) ||
	       layouts->types->types[own].name == layouts->types->types[place->pointee].name ||
	       layouts_has(layouts, own, place->pointee, 0);
}

/*
 * Finds a pointer to a method table at a place where members of groups have theirs. The tag of a known
 * group is preferred to a table that no group has yet.
 */
static struct recognized recognize(const struct inference *inference,
				   const struct combinations *combinations, heap_object_id object)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct objects *objects = &inference->capture->objects;
	uint64_t words[(BLOCK_PREFIX_MAX + TAG_HEAD_BYTES) / 8] = { 0 };
	uint64_t size = objects_size(objects, object);
	uint32_t own = inference_prefix(inference, object);
	struct recognized guessed = { .object = object };

	pages_read(inference->pages, objects_address(objects, object), words,
		   size < sizeof(words) ? size / 8 * 8 : sizeof(words));
	for (uint32_t i = 0; i < combinations->count; i++) {
		const struct combination *combination = &combinations->list[i];
		uint64_t offset =
			combination->prefix + tags->places.items[combination->place].offset;
		struct recognized found = { .object = object,
					    .place = combination->place,
					    .prefix = combination->prefix };
		const struct method_table *table;
		uint32_t group;

		if (offset % 8 != 0 || (own != 0 && own != combination->prefix))
			continue;
		found.value = words[offset / 8];
		table = method_tables_find(&tags->tables, found.value);
		if (!may_lead_to(inference, &tags->places.items[found.place], table))
			continue;
		group = find_group(tags, found.place, found.value);
		if (group != HEAP_HASH_NONE) {
			if (tags->groups.items[group].prefix == found.prefix)
				return found;
			continue;
		}
		if (guessed.value == 0 && table && table->blocks >= MIN_TABLE_BLOCKS)
			guessed = found;
	}
	return guessed;
}

static bool is_open(const struct inference *inference, heap_object_id object)
{
	return inference->pointer_tags.of[object] == 0 &&
	       inference->claims.rank[object] > RANK_LOCAL &&
	       !pools_have(&inference->pools, object);
}

struct recognized_list HEAP_ARRAY(struct recognized);

// Lists the members of a kind without a group that seem to have a tag. @param open  gets how many have no group
HEAP_MUST_CHECK
static struct heap_error *recognize_kind(const struct inference *inference,
					 const struct combinations *combinations,
					 const struct kind *kind, struct recognized_list *found,
					 uint32_t *open)
{
	const struct kinds *kinds = &inference->kinds;

	found->count = 0;
	*open = 0;
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = kinds->members[i];
		struct recognized one;

		progress_step();
		if (!is_open(inference, object))
			continue;
		++*open;
		if (!tag_places_is_holder(&inference->pointer_tags, object))
			continue;
		one = recognize(inference, combinations, object);
		if (one.value != 0)
			HEAP_TRY(heap_array_append(found, one));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *join_recognized(struct inference *inference,
					  const struct recognized *found)
{
	uint32_t group;

	if (found->prefix != inference_prefix(inference, found->object)) {
		if (inference->claims.rank[found->object] != RANK_NONE)
			return NULL;
		HEAP_TRY(block_prefixes_set(inference, found->object, found->prefix));
	}
	HEAP_TRY(require_group(&inference->pointer_tags, found->place, found->value, true, &group));
	join(inference, found->object, group);
	return NULL;
}

/*
 * Adds blocks that no typed slot leads to, if half of their kind have a tag at the same place: that is
 * hardly chance.
 */
HEAP_MUST_CHECK
static struct heap_error *join_unknown(struct inference *inference)
{
	const struct kinds *kinds = &inference->kinds;
	CLEANUP_ARRAY struct recognized_list found = { 0 };
	struct combinations combinations;

	gather_combinations(&inference->pointer_tags, &combinations);
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		uint32_t open;

		HEAP_TRY(recognize_kind(inference, &combinations, &kinds->kinds[i], &found, &open));
		for (size_t j = 0; found.count * 2 >= open && j < found.count; j++)
			HEAP_TRY(join_recognized(inference, &found.items[j]));
	}
	return NULL;
}

static void sort_members(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	uint32_t first = 0;

	for (size_t i = 0; i < tags->groups.count; i++) {
		tags->groups.items[i].first = first;
		first += tags->groups.items[i].count;
		tags->groups.items[i].count = 0;
	}
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		struct tag_group *group;

		if (tags->of[i] == 0)
			continue;
		group = &tags->groups.items[tags->of[i] - 1];
		tags->members[group->first + group->count++] = i;
	}
	progress_steps(inference->capture->objects.count);
}

HEAP_MUST_CHECK
static struct heap_error *require_columns(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	size_t count = (size_t)inference->capture->objects.count + 1;

	if (!tags->of)
		tags->of = calloc(count, sizeof(*tags->of));
	if (!tags->members)
		tags->members = malloc(count * sizeof(*tags->members));
	return tags->of && tags->members ? NULL : heap_error_out_of_memory();
}

// Adds blocks with a tag at a place that is accepted.
HEAP_MUST_CHECK
static struct heap_error *join_by_places(struct inference *inference)
{
	CLEANUP(tag_search_deinit) struct tag_search search = { 0 };
	bool any;

	HEAP_TRY(tag_search_init(&search, inference));
	HEAP_TRY(tag_places_accept(&search, &any));
	if (!any)
		return NULL;
	HEAP_TRY(require_columns(inference));
	return tag_places_visit(&search, false, join_by_place);
}

struct heap_error *tag_groups_find(struct inference *inference)
{
	HEAP_TRY(join_by_places(inference));
	if (inference->pointer_tags.groups.count == 0)
		return NULL;
	HEAP_TRY(join_unknown(inference));
	sort_members(inference);
	return NULL;
}
