// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/pointer_tags.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

#include "lib/base/bits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 64,      // of a block behind its prefix, in which a tag may be
	TYPE_PLACES = 4,      // of a type, that are considered
	PLACES = 1024,        // at most
	MIN_TABLE_BLOCKS = 8, // of no group, that point to a table
	MIN_TAGGED = 4,       // blocks of a place, or
	MIN_POINTERS = 16,    // words that lead to their tables
	TAGGED_SHARE = 80,    // per cent of them
	SAMPLES = 256,        // of a group's members
	PER_CENT = 95,        // of samples that must agree
	MIN_NEWS = 64,        // one in so many objects has a new name or hint: look again
	MAX_RECEIVERS = 64,
	PREFIXES = 8, // different ones of groups
	NAME = 256,
	MAX_DEPTH = 4, // structs in each other
	MIN_STEM = 3,  // characters
	TAG_SHIFT = 56,
	TAG_KIND = 0xff, // above the number of the group; discriminators have less
	FEW = 4,         // times less than the most is too little
};

#define PRINTABLE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-<>, "

// --- tags of kinds -------------------------------------------------------------

uint64_t pointer_tags_read(const struct pointer_tags *tags, heap_object_id object)
{
	return tags->of && tags->of[object]
		       ? (uint64_t)TAG_KIND << TAG_SHIFT | (tags->of[object] - 1)
		       : NO_TAG;
}

bool pointer_tags_made(uint64_t tag)
{
	return tag != NO_TAG && tag >> TAG_SHIFT == TAG_KIND;
}

static bool has_place(const struct inference *inference, heap_type_id type,
		      const struct tag_place *place)
{
	return layouts_has_pointer(&inference->layouts, type, place->offset, place->pointee);
}

bool pointer_tags_exclude(const struct inference *inference, const struct kind *kind,
			  heap_type_id type)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct tag_group *group = &tags->groups.items[(uint32_t)kind->tag];

	if (group->type != HEAP_NO_TYPE)
		return group->type != type;
	return !group->is_guessed && !has_place(inference, type, &tags->places.items[group->place]);
}

// --- places --------------------------------------------------------------------

struct type_places {
	uint16_t places[TYPE_PLACES]; // numbers
	uint8_t count;
	bool is_known;
};

struct search {
	struct inference *inference;
	struct type_places *of_types; // [types]
};

// Finds or adds a place. @param result  its number; PLACES if there are too many
HEAP_MUST_CHECK
static struct heap_error *find_place(struct pointer_tags *tags, uint32_t offset,
				     heap_type_id pointee, uint16_t *result)
{
	for (size_t i = 0; i < tags->places.count; i++) {
		*result = (uint16_t)i;
		if (tags->places.items[i].offset == offset &&
		    tags->places.items[i].pointee == pointee)
			return NULL;
	}
	*result = PLACES;
	if (tags->places.count == PLACES)
		return NULL;
	*result = (uint16_t)tags->places.count;
	return heap_array_append(&tags->places,
				 (struct tag_place){ .offset = offset, .pointee = pointee });
}

HEAP_MUST_CHECK
static struct heap_error *find_type_places(struct search *search, heap_type_id type,
					   struct type_places **result)
{
	const struct layouts *layouts = &search->inference->layouts;
	struct type_places *places = *result = &search->of_types[type];
	const struct heap_slots *slots =
		places->is_known ? NULL : heap_slot_table_get(&layouts->slots, type);

	places->is_known = true;
	for (uint32_t i = 0; slots && i < slots->count && places->count < TYPE_PLACES; i++) {
		const struct heap_slot *slot = &slots->list[i];
		bool is_either = i + 1 < slots->count && slots->list[i + 1].offset == slot->offset;

		if (slot->offset + 8 > HEAD_BYTES)
			break;
		if (is_either ||
		    (slot->pointee != HEAP_NO_TYPE && !layouts_is_compound(layouts, slot->pointee)))
			continue;
		HEAP_TRY(find_place(&search->inference->pointer_tags, (uint32_t)slot->offset,
				    slot->pointee, &places->places[places->count]));
		places->count += places->places[places->count] != PLACES;
	}
	return NULL;
}

// The type known to be at the start of a block: its own, or that of the part a slot leads to.
static heap_type_id find_start_type(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id found = HEAP_NO_TYPE;

	if (claims_are_good(&inference->claims, object) &&
	    inference->capture->snapshot.elements[object] <= 1)
		return inference->capture->snapshot.type[object];
	for (uint32_t at = inference->hints.head[object]; at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!layouts_is_start(hint->interior) || hint->either ||
		    !layouts_is_compound(layouts, hint->type))
			continue;
		if (found == HEAP_NO_TYPE || claims_prefer(layouts, hint->type, found))
			found = hint->type;
	}
	return found;
}

static void read_head(const struct inference *inference, heap_object_id object, uint64_t *words)
{
	uint64_t size = inference_size(inference, object);

	memset(words, 0, HEAD_BYTES);
	pages_read(inference->pages, inference_address(inference, object), words,
		   size < HEAD_BYTES ? size / 8 * 8 : HEAD_BYTES);
}

static bool is_holder(const struct pointer_tags *tags, heap_object_id object)
{
	return heap_bit_get(tags->holders, object);
}

// Notes the blocks with a pointer to a method table among their first words: no other can have a tag.
HEAP_MUST_CHECK
static struct heap_error *find_holders(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	const struct objects *objects = &inference->capture->objects;

	tags->holders = calloc(objects->count / 8 + 1, 1);
	if (!tags->holders)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++) {
		uint64_t words[(BLOCK_PREFIX_MAX + HEAD_BYTES) / 8];
		uint64_t size = objects_size(objects, i);
		size_t count = size < sizeof(words) ? size / 8 : sizeof(words) / 8, at = 0;

		progress_step();
		pages_read(inference->pages, objects->address[i], words, count * 8);
		while (at < count && !method_tables_find(&tags->tables, words[at]))
			at++;
		if (at < count)
			heap_bit_set(tags->holders, i);
	}
	return NULL;
}

typedef struct heap_error *place_visitor(struct search *search, heap_object_id object,
					 uint16_t place, uint64_t word, bool *is_done);

// Visits the places where the types of holders have a tag.
HEAP_MUST_CHECK
static struct heap_error *visit_places(struct search *search, place_visitor *visit)
{
	struct inference *inference = search->inference;

	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		heap_type_id type;
		struct type_places *places;
		uint64_t words[HEAD_BYTES / 8];
		bool is_done = false;

		progress_step();
		if (!is_holder(&inference->pointer_tags, i))
			continue;
		type = find_start_type(inference, i);
		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(find_type_places(search, type, &places));
		if (places->count == 0)
			continue;
		read_head(inference, i, words);
		for (uint8_t j = 0; !is_done && j < places->count; j++) {
			uint16_t place = places->places[j];

			// cppcheck-suppress returnDanglingLifetime; an error is no address of is_done
			HEAP_TRY(
				visit(search, i, place,
				      words[inference->pointer_tags.places.items[place].offset / 8],
				      &is_done));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_place(struct search *search, heap_object_id object, uint16_t number,
				      uint64_t word, bool *is_done)
{
	struct pointer_tags *tags = &search->inference->pointer_tags;
	struct tag_place *place = &tags->places.items[number];
	const struct method_table *table = method_tables_find(&tags->tables, word);

	(void)object;
	place->blocks++;
	*is_done = table != NULL;
	place->tagged += *is_done;
	place->pointers += table ? table->blocks : 0;
	return NULL;
}

// Counts the blocks that have a place and no tag anywhere.
HEAP_MUST_CHECK
static struct heap_error *count_others(struct search *search)
{
	struct inference *inference = search->inference;

	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		heap_type_id type;
		struct type_places *places;

		progress_step();
		if (is_holder(&inference->pointer_tags, i))
			continue;
		type = find_start_type(inference, i);
		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(find_type_places(search, type, &places));
		for (uint8_t j = 0; j < places->count; j++)
			inference->pointer_tags.places.items[places->places[j]].blocks++;
	}
	return NULL;
}

// True if enough holders have their tag at a place.
static bool has_support(const struct tag_place *place)
{
	return place->tagged >= MIN_TAGGED || place->pointers >= MIN_POINTERS;
}

// True if a place has support but is not accepted yet: the blocks that have it without a tag decide.
static bool has_candidate(const struct pointer_tags *tags)
{
	for (size_t i = 0; i < tags->places.count; i++) {
		if (!tags->places.items[i].is_accepted && has_support(&tags->places.items[i]))
			return true;
	}
	return false;
}

// --- groups --------------------------------------------------------------------

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
static struct heap_error *join_by_place(struct search *search, heap_object_id object,
					uint16_t place, uint64_t word, bool *is_done)
{
	struct pointer_tags *tags = &search->inference->pointer_tags;
	uint32_t group;

	*is_done = tags->places.items[place].is_accepted || tags->of[object] != 0;
	if (!*is_done || tags->of[object] != 0 || !method_tables_find(&tags->tables, word))
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
	uint64_t value; // 0: nowhere
	uint32_t place, prefix;
};

/*
 * Finds a pointer to a method table at a place where members of groups have theirs. The tag of a known
 * group is preferred to a table that no group has yet.
 */
static struct recognized recognize(const struct inference *inference,
				   const struct combinations *combinations, heap_object_id object)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct objects *objects = &inference->capture->objects;
	uint64_t words[(BLOCK_PREFIX_MAX + HEAD_BYTES) / 8] = { 0 };
	uint64_t size = objects_size(objects, object);
	uint32_t own = inference_prefix(inference, object);
	struct recognized guessed = { .value = 0 };

	pages_read(inference->pages, objects->address[object], words,
		   size < sizeof(words) ? size / 8 * 8 : sizeof(words));
	for (uint32_t i = 0; i < combinations->count; i++) {
		const struct combination *combination = &combinations->list[i];
		uint64_t offset =
			combination->prefix + tags->places.items[combination->place].offset;
		struct recognized found = { .place = combination->place,
					    .prefix = combination->prefix };
		const struct method_table *table;
		uint32_t group;

		if (offset % 8 != 0 || (own != 0 && own != combination->prefix))
			continue;
		found.value = words[offset / 8];
		group = find_group(tags, found.place, found.value);
		if (group != HEAP_HASH_NONE) {
			if (tags->groups.items[group].prefix == found.prefix)
				return found;
			continue;
		}
		table = method_tables_find(&tags->tables, found.value);
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

/*
 * Adds blocks that no typed slot leads to, if half of their kind have a tag at the same place: that is
 * hardly chance.
 */
HEAP_MUST_CHECK
static struct heap_error *join_unknown(struct inference *inference, uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	struct pointer_tags *tags = &inference->pointer_tags;
	CLEANUP_FREE struct recognized *found =
		malloc(((size_t)inference->capture->objects.count + 1) * sizeof(*found));
	struct combinations combinations;

	if (!found)
		return heap_error_out_of_memory();
	gather_combinations(tags, &combinations);
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		const struct kind *kind = &kinds->kinds[i];
		uint32_t open = 0, hits = 0;

		for (uint32_t j = kind->first; j < kind->first + kind->count; j++) {
			progress_step();
			found[j].value = 0;
			if (!is_open(inference, kinds->members[j]))
				continue;
			open++;
			if (!is_holder(tags, kinds->members[j]))
				continue;
			found[j] = recognize(inference, &combinations, kinds->members[j]);
			hits += found[j].value != 0;
		}
		for (uint32_t j = kind->first; hits * 2 >= open && j < kind->first + kind->count;
		     j++) {
			heap_object_id object = kinds->members[j];
			uint32_t group;

			if (found[j].value == 0)
				continue;
			if (found[j].prefix != inference_prefix(inference, object)) {
				if (inference->claims.rank[object] != RANK_NONE)
					continue;
				HEAP_TRY(block_prefixes_set(inference, object, found[j].prefix));
			}
			HEAP_TRY(require_group(tags, found[j].place, found[j].value, true, &group));
			join(inference, object, group);
			++*claimed;
		}
	}
	return NULL;
}

// --- the type of a group ---------------------------------------------------------

// Names an address by its symbol, or by the type of the block there; "" if it has neither.
static const char *find_name(const struct inference *inference, uint64_t address)
{
	const struct capture *capture = inference->capture;
	const struct module *module = modules_find(&capture->modules, address);
	const struct heap_symbol *symbol =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_OBJECT,
							     address - module->bias)
				      : NULL;
	heap_object_id object = module ? HEAP_NO_OBJECT : objects_find(&capture->objects, address);

	if (symbol)
		return symbol->name;
	if (object == HEAP_NO_OBJECT)
		return "";
	return heap_types_string(
		&capture->snapshot.types,
		capture->snapshot.types.types[capture->snapshot.type[object]].name);
}

enum group_fit {
	GROUP_FIT_NONE,
	GROUP_FIT_REST, // members are larger
	GROUP_FIT,
};

// Compares a type with the sizes of a group's members.
static enum group_fit fit_group(const struct inference *inference, const struct tag_group *group,
				heap_type_id type)
{
	const uint32_t *members = inference->pointer_tags.members + group->first;
	uint32_t step = group->count / SAMPLES + 1, seen = 0, fitting = 0, larger = 0;

	for (uint32_t i = 0; i < group->count; i += step) {
		uint64_t size = inference_size(inference, members[i]);

		seen++;
		fitting += inference_fit(inference, type, members[i]).fit != LAYOUT_NONE;
		larger += size >= layouts_size(&inference->layouts, type);
	}
	if (fitting * 100 >= seen * PER_CENT)
		return GROUP_FIT;
	return larger * 100 >= seen * PER_CENT ? GROUP_FIT_REST : GROUP_FIT_NONE;
}

// The majority type of the strong claims on members (Boyer and Moore, MJRTY, 1981).
static heap_type_id elect(const struct inference *inference, const struct tag_group *group)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const uint32_t *members = tags->members + group->first;
	heap_type_id elected = HEAP_NO_TYPE;
	uint32_t lead = 0, voters = 0, votes = 0;

	for (int counting = 0; counting < 2; counting++) {
		for (uint32_t i = 0; i < group->count; i++) {
			heap_type_id type = inference->capture->snapshot.type[members[i]];
			uint8_t rank = inference->claims.name_rank[members[i]];

			if (rank > RANK_PASSED_FLEXIBLE || rank == RANK_STRING ||
			    rank == RANK_TAG ||
			    !has_place(inference, type, &tags->places.items[group->place]))
				continue;
			if (counting) {
				voters++;
				votes += type == elected;
			} else if (lead == 0) {
				elected = type;
				lead = 1;
			} else {
				lead += type == elected ? 1 : UINT32_MAX; // or one less
			}
		}
	}
	return votes > 0 && votes * UINT64_C(100) >= voters * (uint64_t)PER_CENT &&
			       fit_group(inference, group, elected) == GROUP_FIT
		       ? elected
		       : HEAP_NO_TYPE;
}

struct receiver_list {
	struct method_receiver list[MAX_RECEIVERS];
	uint32_t count;
};

static void add_receiver(struct receiver_list *receivers, heap_type_id type, uint32_t weight)
{
	for (uint32_t i = 0; i < receivers->count; i++) {
		if (receivers->list[i].type == type) {
			receivers->list[i].weight += weight;
			return;
		}
	}
	if (receivers->count < MAX_RECEIVERS)
		receivers->list[receivers->count++] = (struct method_receiver){ type, weight };
}

// True if other types with the place begin with this one: then it may be just their common prefix.
static bool is_base(const struct inference *inference, heap_type_id type,
		    const struct tag_place *place)
{
	const struct layouts *layouts = &inference->layouts;

	for (heap_type_id other = 1; other < layouts->types->count; other++) {
		if (other != type && layouts_is_indexed(layouts, other, type, 0) &&
		    has_place(inference, other, place))
			return true;
	}
	return false;
}

/*
 * The best of the types that have the place and agree with the sizes. The heaviest wins, but a type that
 * begins with another is preferred to it.
 *
 * @param with_rest  members may be larger than the type
 */
static heap_type_id choose(const struct inference *inference, const struct tag_group *group,
			   const struct receiver_list *receivers, bool with_rest)
{
	const struct layouts *layouts = &inference->layouts;
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct tag_place *place = &tags->places.items[group->place];
	const struct method_receiver *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];

		if (one->weight > most && has_place(inference, one->type, place) &&
		    !is_base(inference, one->type, place))
			most = one->weight;
	}
	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];
		enum group_fit wanted = with_rest ? GROUP_FIT_REST : GROUP_FIT;

		if (!has_place(inference, one->type, place) || one->weight * FEW < most ||
		    (with_rest && one->weight < METHOD_TABLE_PARAMETER) ||
		    fit_group(inference, group, one->type) != wanted)
			continue;
		if (!best || layouts_says_more(layouts, one->type, best->type) ||
		    (!layouts_says_more(layouts, best->type, one->type) &&
		     (one->weight > best->weight ||
		      (one->weight == best->weight &&
		       claims_prefer(layouts, one->type, best->type)))))
			best = one;
	}
	return best ? best->type : HEAP_NO_TYPE;
}

/*
 * The largest leading part of a type that fits into the members of a group. A program may allocate only
 * the first members of a struct if it does not need the others.
 */
static heap_type_id find_beginning(const struct inference *inference, const struct tag_group *group,
				   heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	const struct tag_place *place = &inference->pointer_tags.places.items[group->place];
	heap_type_id found = HEAP_NO_TYPE;
	uint64_t least = layouts_size(layouts, type) / 2;

	for (heap_type_id part = 1; part < layouts->types->count; part++) {
		if (layouts_is_indexed(layouts, type, part, 0) &&
		    layouts_size(layouts, part) > least && has_place(inference, part, place) &&
		    fit_group(inference, group, part) != GROUP_FIT_NONE) {
			found = part;
			least = layouts_size(layouts, part);
		}
	}
	return found;
}

// The same for the type of most receivers, if that is too large.
static heap_type_id choose_beginning(const struct inference *inference,
				     const struct tag_group *group,
				     const struct receiver_list *receivers)
{
	const struct tag_place *place = &inference->pointer_tags.places.items[group->place];
	const struct method_receiver *best = NULL;

	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];

		// Functions that make objects get the tag itself.
		if (one->type != place->pointee && has_place(inference, one->type, place) &&
		    fit_group(inference, group, one->type) == GROUP_FIT_NONE &&
		    (!best || one->weight > best->weight ||
		     (one->weight == best->weight &&
		      claims_prefer(&inference->layouts, one->type, best->type))))
			best = one;
	}
	return best ? find_beginning(inference, group, best->type) : HEAP_NO_TYPE;
}

static void gather_methods(const struct inference *inference, const struct tag_group *group,
			   struct receiver_list *receivers)
{
	const struct method_tables *tables = &inference->pointer_tags.tables;
	const struct method_table *table = method_tables_find(tables, group->value);

	for (uint32_t i = 0; table && i < table->receivers; i++) {
		const struct method_receiver *one =
			&tables->receivers.items[table->first_receiver + i];

		if (layouts_is_compound(&inference->layouts, one->type))
			add_receiver(receivers, one->type, one->weight);
	}
}

// The types that the allocating code of the members handles.
static void gather_sites(const struct inference *inference, const struct tag_group *group,
			 struct receiver_list *receivers)
{
	const struct kinds *kinds = &inference->kinds;
	const uint32_t *members = inference->pointer_tags.members + group->first;
	uint32_t step = group->count / SAMPLES + 1, last = UINT32_MAX;

	for (uint32_t i = 0; i < group->count; i += step) {
		uint32_t kind = kinds_of(inference, members[i]);
		const struct site_types *types = &kinds->site_types[kinds->kinds[kind].site];

		if (kind == last)
			continue;
		last = kind;
		for (uint32_t j = 0; j < types->count; j++)
			add_receiver(receivers, types->list[j].type,
				     types->list[j].is_result ? 2 * METHOD_TABLE_PARAMETER
							      : METHOD_TABLE_PARAMETER);
	}
}

/*
 * The part of a name that related names share: "PyFloat_Type" and "PyFloatObject" have "pyfloat",
 * circle_ops and struct circle have "circle".
 */
static void find_stem(const char *name, char *stem, size_t size)
{
	static const char *const endings[] = { "object", "type",     "class",  "instance",
					       "struct", "context",  "vtable", "methods",
					       "ops",    "info",     "table",  "operations",
					       "funcs",  "functions" };
	size_t length = 0;

	for (; *name && length + 1 < size; name++) {
		if (isalnum((unsigned char)*name))
			stem[length++] = (char)tolower((unsigned char)*name);
	}
	stem[length] = '\0';
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strcmp(stem + length - ending, endings[i]) == 0) {
			stem[length - ending] = '\0';
			return;
		}
	}
}

static bool has_stem(const struct heap_types *types, heap_type_id type, const char *stem)
{
	char own[NAME];

	if (types->types[type].name == 0)
		return false;
	find_stem(heap_types_string(types, types->types[type].name), own, sizeof(own));
	return strcmp(own, stem) == 0;
}

// The types whose names resemble that of the table, or of the table's type.
static void gather_namesakes(const struct inference *inference, const struct tag_group *group,
			     struct receiver_list *receivers)
{
	const struct heap_types *types = inference->layouts.types;
	const struct tag_place *place = &inference->pointer_tags.places.items[group->place];
	const char *name = find_name(inference, group->value);
	char stem[NAME];

	find_stem(name, stem, sizeof(stem));
	if (strlen(stem) < MIN_STEM)
		return;
	// An unnamed struct has the name of its typedef.
	for (heap_type_id type = 1; type < types->count; type++) {
		heap_type_id stripped = layouts_strip(&inference->layouts, type);

		if (layouts_is_compound(&inference->layouts, stripped) &&
		    has_place(inference, stripped, place) && has_stem(types, type, stem))
			add_receiver(receivers, stripped, METHOD_TABLE_PARAMETER);
	}
}

static heap_type_id choose_any(const struct inference *inference, const struct tag_group *group,
			       const struct receiver_list *receivers)
{
	heap_type_id type = choose(inference, group, receivers, false);

	if (type == HEAP_NO_TYPE)
		type = choose_beginning(inference, group, receivers);
	return type != HEAP_NO_TYPE ? type : choose(inference, group, receivers, true);
}

static void set_type(struct tag_group *group, heap_type_id type, uint8_t evidence, enum rank rank)
{
	group->type = type;
	group->evidence = evidence;
	group->rank = (uint8_t)rank;
}

static void find_type(const struct inference *inference, struct tag_group *group)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct tag_place *place = &tags->places.items[group->place];
	const struct method_table *table = method_tables_find(&tags->tables, group->value);
	bool is_block = table && table->object != HEAP_NO_OBJECT;
	struct receiver_list receivers = { .count = 0 };
	heap_type_id elected = elect(inference, group), type;

	gather_methods(inference, group, &receivers);
	type = choose(inference, group, &receivers, false);
	if (type != HEAP_NO_TYPE &&
	    (elected == HEAP_NO_TYPE || layouts_says_more(&inference->layouts, type, elected))) {
		set_type(group, type, HEAP_EVIDENCE_METHODS, RANK_TAG);
		return;
	}
	if (elected != HEAP_NO_TYPE) {
		set_type(group, elected, HEAP_EVIDENCE_TAG, RANK_TAG);
		return;
	}
	// A class that the program makes while it runs may add members that no struct has.
	type = choose(inference, group, &receivers, true);
	if (type != HEAP_NO_TYPE && (is_block || !is_base(inference, type, place))) {
		set_type(group, type, HEAP_EVIDENCE_METHODS, RANK_TAG);
		return;
	}
	type = choose_beginning(inference, group, &receivers);
	if (type != HEAP_NO_TYPE) {
		set_type(group, type, HEAP_EVIDENCE_METHODS, RANK_TAG);
		return;
	}
	receivers.count = 0;
	gather_namesakes(inference, group, &receivers);
	type = choose_any(inference, group, &receivers);
	if (type != HEAP_NO_TYPE) {
		set_type(group, type, HEAP_EVIDENCE_TAG, RANK_TAG);
		return;
	}
	receivers.count = 0;
	gather_sites(inference, group, &receivers);
	type = choose_any(inference, group, &receivers);
	if (type != HEAP_NO_TYPE)
		set_type(group, type, HEAP_EVIDENCE_SITE, RANK_DISCRIMINATOR_LIKELY);
}

HEAP_MUST_CHECK
static struct heap_error *claim_members(struct inference *inference, const struct tag_group *group,
					uint64_t *claimed)
{
	const uint32_t *members = inference->pointer_tags.members + group->first;

	for (uint32_t i = 0; i < group->count; i++) {
		heap_object_id object = members[i];
		uint64_t size = inference_size(inference, object);
		struct layout_claim claim = inference_fit(inference, group->type, object);

		progress_step();
		if (claim.fit == LAYOUT_NONE) {
			if (size < layouts_size(&inference->layouts, group->type))
				continue;
			claim = (struct layout_claim){ LAYOUT_EXACT, group->type, 1 };
		}
		if (inference->claims.rank[object] <= group->rank)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, group->rank,
				    &(struct claim){ object, claim.type, claim.elements,
						     group->evidence, group->rank == RANK_TAG }));
	}
	return NULL;
}

// --- all -------------------------------------------------------------------------

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

HEAP_MUST_CHECK
static struct heap_error *find_groups(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	CLEANUP_FREE struct type_places *of_types =
		calloc(inference->layouts.types->count, sizeof(*of_types));
	struct search search = { inference, of_types };

	if (!of_types)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < tags->places.count; i++)
		tags->places.items[i].blocks = tags->places.items[i].tagged = 0,
		tags->places.items[i].pointers = 0;
	HEAP_TRY(visit_places(&search, count_place));
	if (has_candidate(tags))
		HEAP_TRY(count_others(&search));

	bool any = false;

	for (size_t i = 0; i < tags->places.count; i++) {
		struct tag_place *place = &tags->places.items[i];

		place->is_accepted |=
			has_support(place) &&
			place->tagged * UINT64_C(100) >= place->blocks * (uint64_t)TAGGED_SHARE;
		any |= place->is_accepted;
	}
	if (!any)
		return NULL;
	HEAP_TRY(require_columns(inference));
	return visit_places(&search, join_by_place);
}

// True if enough has been learned since the last search for groups.
static bool is_due(struct inference *inference, bool is_thorough)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	uint64_t known = inference->claims.applied + inference->hints.count +
			 inference->block_prefixes.count;

	if (tags->tables.list.count == 0 || known == tags->applied ||
	    (tags->applied > 0 && !is_thorough &&
	     (known - tags->applied) * MIN_NEWS < inference->capture->objects.count))
		return false;
	tags->applied = known;
	return true;
}

struct heap_error *pointer_tags_apply(struct inference *inference, bool is_thorough,
				      uint64_t *claimed)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	uint64_t joined = 0;

	if (!is_due(inference, is_thorough))
		return NULL;
	if (!tags->holders)
		HEAP_TRY(find_holders(inference));
	HEAP_TRY(find_groups(inference));
	if (tags->groups.count == 0)
		return NULL;
	HEAP_TRY(join_unknown(inference, &joined));
	sort_members(inference);
	for (size_t i = 0; i < tags->groups.count && !progress_is_late(); i++) {
		struct tag_group *group = &tags->groups.items[i];

		if (group->type == HEAP_NO_TYPE || group->rank != RANK_TAG)
			find_type(inference, group);
		if (group->type != HEAP_NO_TYPE)
			HEAP_TRY(claim_members(inference, group, claimed));
	}
	return tags->is_renewed || inference->block_prefixes.is_renewed ? kinds_sort(inference)
									: NULL;
}

// --- names -----------------------------------------------------------------------

// Reads the string of a member called "name" at the start of a block. @return false if there is none
static bool read_member_name(const struct inference *inference, uint64_t address, heap_type_id type,
			     char *name, size_t size, int depth)
{
	const struct heap_types *types = inference->layouts.types;
	const struct heap_type *whole = &types->types[type];

	if (depth == MAX_DEPTH || !layouts_is_compound(&inference->layouts, type))
		return false;
	for (uint32_t i = 0; i < whole->members; i++) {
		const struct heap_member *member = &types->members[whole->first_member + i];
		heap_type_id own = layouts_strip(&inference->layouts, member->type);
		uint64_t pointer = 0;

		if (read_member_name(inference, address + member->offset, own, name, size,
				     depth + 1))
			return true;
		if (types->types[own].kind != HEAP_TYPE_POINTER ||
		    !layouts_is_character(
			    &inference->layouts,
			    layouts_strip(&inference->layouts, types->types[own].target)) ||
		    !strstr(heap_types_string(types, member->name), "name"))
			continue;
		pages_read(inference->pages, address + member->offset, &pointer, sizeof(pointer));
		image_read_string(&inference->capture->image, pointer, name, size);
		return *name != '\0' && strspn(name, PRINTABLE) == strlen(name);
	}
	return false;
}

static uint32_t add_name(struct inference *inference, uint64_t address)
{
	struct capture *capture = inference->capture;
	heap_object_id object = modules_find(&capture->modules, address)
					? HEAP_NO_OBJECT
					: objects_find(&capture->objects, address);
	char name[NAME];

	if (object != HEAP_NO_OBJECT &&
	    read_member_name(inference, inference_address(inference, object),
			     capture->snapshot.type[object], name, sizeof(name), 0))
		return strings_add(&capture->strings, name);
	return strings_add(&capture->strings, find_name(inference, address));
}

struct heap_error *pointer_tags_finish(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	struct capture *capture = inference->capture;

	if (tags->groups.count == 0)
		return NULL;
	capture->snapshot.tags = calloc(tags->groups.count, sizeof(*capture->snapshot.tags));
	if (!capture->snapshot.tags)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < tags->groups.count; i++)
		capture->snapshot.tags[capture->snapshot.tag_count++] = (struct heap_tag){
			.address = tags->groups.items[i].value,
			.name = add_name(inference, tags->groups.items[i].value),
		};
	capture->snapshot.tag = tags->of;
	tags->of = NULL;
	return NULL;
}

struct heap_error *pointer_tags_init(struct pointer_tags *tags, struct capture *capture,
				     const struct head_words *heads)
{
	return method_tables_init(&tags->tables, capture, heads);
}

void pointer_tags_deinit(struct pointer_tags *tags)
{
	method_tables_deinit(&tags->tables);
	heap_array_deinit(&tags->places);
	heap_array_deinit(&tags->groups);
	heap_hash_table_deinit(&tags->by_value);
	free(tags->holders);
	free(tags->of);
	free(tags->members);
}
