// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/enum_names.h"
#include "dumper/writer/infer/inference.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,
	LAST_OFFSET = 64,     // of a tag
	MIN_NAMED = 3,        // structs that enumerators name, for an enum to be a tag
	MAX_STRUCTS = 4096,   // with one enum
	LARGEST_TAG_ONLY = 8, // bytes of a struct that is a tag and nothing more
	MIN_BITS = 2,         // of a bit-field that is a tag
	WORD_BITS = 64,
	LOOKED_AT = 64,   // elements of a supposed array
	LEAST_CHUNK = 32, // bytes of a chunk of the heap
	OTHERS = 8,       // if more than one of so many is another struct, it is none
};

// --- tags of structs --------------------------------------------------------------------------

// The search for tags. Many members may have one type, and be at one place: a type that has no tag is visited once
// per depth.
struct tag_search {
	const struct heap_types *types;
	uint8_t *tagless; // [types] no tag from MAX_DEPTH - value on
};

// Sets the place of a member that is an enum. @return false: it is no tag
static bool set_place(const struct heap_types *types, const struct heap_member *member,
		      struct enum_place *place)
{
	heap_type_id own = heap_types_strip(types, member->type);
	bool is_bit_field = member->flags & HEAP_MEMBER_BIT_FIELD;
	uint64_t bits = is_bit_field ? member->bit_size : types->types[own].size * 8;
	uint32_t shift = is_bit_field ? member->bit_offset : 0;

	if (types->types[own].members < MIN_NAMED || bits < MIN_BITS || shift + bits > WORD_BITS)
		return false;
	*place =
		(struct enum_place){ own, (uint32_t)member->offset, (uint8_t)shift, (uint8_t)bits };
	return true;
}

// Finds the first enum in the header of a struct. @return false: there is none
static bool find_tag(const struct tag_search *search, heap_type_id id, int depth,
		     struct enum_place *place)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[id];

	if (MAX_DEPTH - depth <= search->tagless[id] ||
	    (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS))
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own = heap_types_strip(types, member->type);

		progress_step();
		if (member->offset > LAST_OFFSET)
			break;
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE)
			continue;
		if (types->types[own].kind == HEAP_TYPE_ENUM) {
			if (set_place(types, member, place))
				return true;
		} else if (find_tag(search, own, depth + 1, place)) {
			place->offset += (uint32_t)member->offset;
			return true;
		}
	}
	search->tagless[id] = (uint8_t)(MAX_DEPTH - depth);
	return false;
}

// Lists the structs with tags, by the names that they and their typedefs have.
HEAP_MUST_CHECK
static struct heap_error *list_structs(const struct layouts *layouts, struct named_structs *list)
{
	const struct heap_types *types = layouts->types;
	CLEANUP_FREE uint8_t *tagless = calloc(types->count, sizeof(*tagless));
	const struct tag_search search = { types, tagless };

	if (!tagless)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < types->count; id++) {
		struct named_struct named = { .type = HEAP_NO_TYPE };

		if (!enum_names_set(layouts, id, &named))
			continue;
		if (find_tag(&search, named.type, 0, &named.place))
			HEAP_TRY(heap_array_append(list, named));
	}
	return NULL;
}

static int compare_places(const struct enum_place *a, const struct enum_place *b)
{
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->shift != b->shift ? a->shift - b->shift : a->bits - b->bits;
}

static int compare_named(const void *left, const void *right)
{
	const struct named_struct *a = left, *b = right;
	int order = compare_places(&a->place, &b->place);

	if (order == 0)
		order = strcmp(a->name, b->name);
	return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

// --- the tags ---------------------------------------------------------------------------------

static uint64_t mask_of(const struct enum_place *place)
{
	return place->bits >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << place->bits) - 1;
}

// Notes which structs the enumerators of a tag name.
HEAP_MUST_CHECK
static struct heap_error *add_values(struct enum_tags *tags, const struct enum_structs *run,
				     const struct enum_naming_rule *rule)
{
	const struct heap_type *tag = &run->types->types[run->tag];
	uint64_t mask = mask_of(&run->list->place);

	for (uint32_t i = 0; i < enum_names_count(run); i++) {
		heap_type_id type = enum_names_apply(run, rule, i);
		int64_t value = run->types->enumerators[tag->first_member + i].value;

		if (type != HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(
				&tags->values,
				((struct enum_tag_value){ (uint32_t)tags->places.count,
							  (uint64_t)value & mask, type })));
	}
	return NULL;
}

// Keeps structs with an enum at one place that begin alike.
HEAP_MUST_CHECK
static struct heap_error *consider_kin(struct enum_tags *tags, const struct layouts *layouts,
				       const struct enum_structs *run)
{
	struct kin kin;

	if (!kin_tags_find(layouts, run->list, run->count, &kin) || tags->kin.count == UINT16_MAX)
		return NULL;
	if (!tags->kin_of)
		tags->kin_of = calloc(layouts->types->count, sizeof(*tags->kin_of));
	if (!tags->kin_of)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_array_append(&tags->kin, kin));
	for (uint32_t i = 0; i < kin.count; i++)
		tags->kin_of[kin.types[i]] = (uint16_t)tags->kin.count;
	return NULL;
}

// Takes an enum for a tag if its enumerators name the structs that have it at one place.
HEAP_MUST_CHECK
static struct heap_error *consider(struct enum_tags *tags, const struct layouts *layouts,
				   const struct enum_structs *run)
{
	struct enum_naming_rule rule;

	if (run->count < MIN_NAMED || run->count > MAX_STRUCTS || tags->places.count == UINT16_MAX)
		return NULL;
	HEAP_TRY(enum_names_find_rule(run, MIN_NAMED, &rule));
	if (rule.count < MIN_NAMED)
		return consider_kin(tags, layouts, run);
	HEAP_TRY(add_values(tags, run, &rule));
	HEAP_TRY(heap_array_append(&tags->places, run->list->place));
	for (size_t i = 0; i < run->count; i++)
		tags->place_of[run->list[i].type] = (uint16_t)tags->places.count;
	return NULL;
}

static int compare_values(const void *left, const void *right)
{
	const struct enum_tag_value *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

// True if a type is a union of structs with tags.
static bool is_told_union(const struct enum_tags *tags, const struct layouts *layouts,
			  heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[layouts_strip(layouts, id)];

	for (uint32_t i = 0; type->kind == HEAP_TYPE_UNION && i < type->members; i++) {
		heap_type_id own = types->members[type->first_member + i].type;

		progress_step();
		if (tags->place_of[layouts_strip(layouts, own)])
			return true;
	}
	return false;
}

static void find_pages(const struct enum_tags *tags, struct layouts *layouts)
{
	for (heap_type_id id = 1; tags->places.count > 0 && id < layouts->types->count; id++)
		layouts->facts[id].is_page =
			layouts->facts[id].is_flexible &&
			is_told_union(tags, layouts, layouts->facts[id].element);
}

struct heap_error *enum_tags_init(struct enum_tags *tags, struct layouts *layouts)
{
	CLEANUP_ARRAY struct named_structs list = { 0 };

	HEAP_TRY(list_structs(layouts, &list));
	if (list.count == 0)
		return NULL;
	qsort(list.items, list.count, sizeof(*list.items), compare_named);
	tags->place_of = calloc(layouts->types->count, sizeof(*tags->place_of));
	if (!tags->place_of)
		return heap_error_out_of_memory();
	for (size_t first = 0, end; first < list.count; first = end) {
		for (end = first + 1;
		     end < list.count &&
		     compare_places(&list.items[first].place, &list.items[end].place) == 0;)
			end++;
		HEAP_TRY(consider(tags, layouts,
				  &(struct enum_structs){ layouts->types,
							  list.items[first].place.tag,
							  list.items + first, end - first }));
	}
	tags->named = (uint32_t)tags->places.count;
	if (tags->values.count > 0)
		qsort(tags->values.items, tags->values.count, sizeof(*tags->values.items),
		      compare_values);
	find_pages(tags, layouts);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_learned(struct enum_tags *tags, const struct kin *kin,
				      const struct kin_value *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		HEAP_TRY(heap_array_append(
			&tags->values,
			((struct enum_tag_value){ (uint32_t)tags->places.count, values[i].value,
						  values[i].type })));
	HEAP_TRY(heap_array_append(&tags->places, kin->place));
	for (uint32_t i = 0; i < kin->count; i++)
		tags->place_of[kin->types[i]] = (uint16_t)tags->places.count;
	return NULL;
}

struct heap_error *enum_tags_learn(struct inference *inference)
{
	struct enum_tags *tags = &inference->enum_tags;
	uint64_t words[CONTENT_WORDS + 1];
	struct kin_value values[KIN_VALUES];

	for (size_t i = 0; i < tags->kin.count && tags->places.count < UINT16_MAX; i++) {
		const struct kin *kin = &tags->kin.items[i];
		uint32_t count = kin_tags_learn(inference, kin, words, values);

		if (count > 0)
			HEAP_TRY(add_learned(tags, kin, values, count));
	}
	if (tags->places.count > tags->named)
		qsort(tags->values.items, tags->values.count, sizeof(*tags->values.items),
		      compare_values);
	return NULL;
}

void enum_tags_deinit(struct enum_tags *tags)
{
	heap_array_deinit(&tags->kin);
	free(tags->kin_of);
	free(tags->place_of);
	heap_array_deinit(&tags->places);
	heap_array_deinit(&tags->values);
}

// --- what tags tell ---------------------------------------------------------------------------

// The only struct that the value at a place names.
static heap_type_id find_value(const struct enum_tags *tags, uint32_t place, uint64_t value)
{
	const struct enum_tag_value *values = tags->values.items;
	const struct enum_tag_value key = { place, value, HEAP_NO_TYPE };
	size_t at = heap_partition_point(i, 0, tags->values.count,
					 compare_values(&values[i], &key) < 0);
	heap_type_id found = HEAP_NO_TYPE;

	for (; at < tags->values.count && values[at].place == place && values[at].value == value;
	     at++) {
		if (found != HEAP_NO_TYPE && found != values[at].type)
			return HEAP_NO_TYPE;
		found = values[at].type;
	}
	return found;
}

static heap_type_id read_place(const struct inference *inference, uint32_t number, uint64_t address)
{
	const struct enum_place *place = &inference->enum_tags.places.items[number];
	uint64_t value = 0;

	pages_read(inference->pages, address + place->offset, &value,
		   (place->shift + place->bits + 7) / 8);
	return find_value(&inference->enum_tags, number, value >> place->shift & mask_of(place));
}

heap_type_id enum_tags_read_as(const struct inference *inference, heap_type_id type,
			       uint64_t address)
{
	const struct enum_tags *tags = &inference->enum_tags;

	return enum_tags_have(tags, type) ? read_place(inference, tags->place_of[type] - 1, address)
					  : HEAP_NO_TYPE;
}

// True for one of several structs that begin alike, of any sizes.
static bool is_kin(const struct enum_tags *tags, heap_type_id type)
{
	return enum_tags_have(tags, type) && tags->place_of[type] > tags->named;
}

heap_type_id enum_tags_read(const struct inference *inference, heap_type_id type, uint64_t address)
{
	heap_type_id found = enum_tags_read_as(inference, type, address);

	return is_kin(&inference->enum_tags, type) ||
			       layouts_size(&inference->layouts, found) >=
				       layouts_size(&inference->layouts, type)
		       ? found
		       : HEAP_NO_TYPE;
}

bool enum_tags_is_beginning(const struct inference *inference, heap_type_id part,
			    heap_type_id whole)
{
	const struct enum_tags *tags = &inference->enum_tags;

	return enum_tags_have(tags, part) && tags->place_of[part] == tags->place_of[whole] &&
	       (is_kin(tags, part) || layouts_size(&inference->layouts, part) <= LARGEST_TAG_ONLY);
}

bool enum_tags_may_be_kin(const struct inference *inference, heap_type_id type,
			  heap_object_id object)
{
	const struct enum_tags *tags = &inference->enum_tags;

	return tags->kin_of && tags->kin_of[type] &&
	       kin_tags_fit(inference, &tags->kin.items[tags->kin_of[type] - 1], object);
}

bool enum_tags_may_be_in_larger(const struct inference *inference, heap_type_id type,
				heap_object_id object)
{
	uint64_t own = layouts_size(&inference->layouts, type);
	uint64_t size = inference_size(inference, object);

	return is_kin(&inference->enum_tags, type) && inference_slack(inference, object) > 0 &&
	       own <= size && size - own <= LEAST_CHUNK && size < 2 * own;
}

bool enum_tags_refute_array(const struct inference *inference, heap_type_id type, uint64_t address,
			    uint64_t elements)
{
	uint64_t size = layouts_size(&inference->layouts, type), others = 0;

	if (!enum_tags_have(&inference->enum_tags, type))
		return false;
	if (elements > LOOKED_AT)
		elements = LOOKED_AT;
	for (uint64_t i = 0; i < elements; i++) {
		heap_type_id named = enum_tags_read_as(inference, type, address + i * size);

		progress_step();
		others += named != HEAP_NO_TYPE && named != type;
	}
	return others * OTHERS > elements;
}

struct layout_claim enum_tags_fit(const struct inference *inference, heap_object_id object,
				  uint64_t *words)
{
	const struct enum_tags *tags = &inference->enum_tags;

	for (size_t i = 0; i < tags->places.count; i++) {
		heap_type_id type =
			read_place(inference, (uint32_t)i, inference_address(inference, object));
		struct layout_claim claim = inference_fit(inference, type, object);
		struct content content;

		progress_step();
		if (claim.fit == LAYOUT_NONE)
			continue;
		content_read(inference, object, words, &content);
		if (content_score(inference, &content, claim.type, claim.elements) >= 0)
			return claim;
	}
	return (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
}
