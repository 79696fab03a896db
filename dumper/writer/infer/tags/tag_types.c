// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/tag_types.h"

#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/tags/tag_names.h"
#include "dumper/writer/infer/tags/tag_places.h"
#include "dumper/writer/base/progress.h"

#include <ctype.h>
#include <string.h>

enum {
	SAMPLES = 256, // of a group's members
	CONTENTS = 16, // of these, whose contents are read
	PER_CENT = 95, // of samples that must agree
	MAX_RECEIVERS = 64,
	NAME = 256,
	MIN_STEM = 3,      // characters
	LARGEST = 1 << 20, // bytes of an object that has a tag
	FEW = 4,           // times less than the most is too little
	MAX_OWNED = 16,    // members of a group, for all of them to be owned
	MAX_OWNED_EDGES = 256,
};

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

// The majority type of the strong claims on members.
static heap_type_id elect(const struct inference *inference, const struct tag_group *group)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const uint32_t *members = tags->members + group->first;
	struct majority majority = { 0 };
	uint32_t voters = 0, votes = 0;
	heap_type_id elected;

	for (int counting = 0; counting < 2; counting++) {
		for (uint32_t i = 0; i < group->count; i++) {
			heap_type_id type = inference_type(inference, members[i]);
			uint8_t rank = inference->claims.name_rank[members[i]];

			if (rank > RANK_PASSED_FLEXIBLE || rank == RANK_STRING ||
			    rank == RANK_TAG ||
			    !tag_places_have(inference, type, &tags->places.items[group->place]))
				continue;
			if (counting) {
				voters++;
				votes += type == majority.value;
			} else {
				majority_add(&majority, type);
			}
		}
	}
	elected = (heap_type_id)majority.value;
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
		receivers->list[receivers->count++] =
			(struct method_receiver){ .type = type, .weight = weight };
}

// The types of any size that begin with one.
static struct layout_wholes find_wholes(const struct layouts *layouts, heap_type_id type)
{
	return layouts_exact_wholes(layouts, type, 0, UINT64_MAX, UINT64_MAX);
}

// True if other types with the place begin with this one: then it may be just their common prefix.
static bool is_base(const struct inference *inference, heap_type_id type,
		    const struct tag_place *place)
{
	const struct layout_wholes wholes = find_wholes(&inference->layouts, type);

	for (const struct layout_part *at = wholes.at; at < wholes.end; at++) {
		progress_step();
		if (at->whole != type && tag_places_have(inference, at->whole, place))
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

		if (one->weight > most && tag_places_have(inference, one->type, place) &&
		    !is_base(inference, one->type, place))
			most = one->weight;
	}
	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];
		enum group_fit wanted = with_rest ? GROUP_FIT_REST : GROUP_FIT;

		if (!tag_places_have(inference, one->type, place) || one->weight * FEW < most ||
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

	for (size_t i = 0; i < place->types.count; i++) {
		heap_type_id part = place->types.items[i];

		if (layouts_size(layouts, part) > least &&
		    layouts_is_indexed(layouts, type, part, 0) &&
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
		if (one->type != place->pointee && tag_places_have(inference, one->type, place) &&
		    fit_group(inference, group, one->type) == GROUP_FIT_NONE &&
		    (!best || one->weight > best->weight ||
		     (one->weight == best->weight &&
		      claims_prefer(&inference->layouts, one->type, best->type))))
			best = one;
	}
	return best ? find_beginning(inference, group, best->type) : HEAP_NO_TYPE;
}

/*
 * If other types with the place begin with what most receivers are, then programs extend it: functions of the
 * table may handle values of other types that have the place, too, but these are no receivers.
 */
static void drop_strangers(const struct inference *inference, const struct tag_group *group,
			   struct receiver_list *receivers)
{
	const struct tag_place *place = &inference->pointer_tags.places.items[group->place];
	struct method_receiver root = { .type = HEAP_NO_TYPE,
					.weight = METHOD_TABLE_PARAMETER - 1 };
	uint32_t kept = 0;

	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];

		if (one->weight > root.weight && tag_places_have(inference, one->type, place))
			root = *one;
	}
	if (root.type == HEAP_NO_TYPE || !is_base(inference, root.type, place))
		return;
	for (uint32_t i = 0; i < receivers->count; i++) {
		const struct method_receiver *one = &receivers->list[i];

		if (one->type == root.type ||
		    layouts_is_indexed(&inference->layouts, one->type, root.type, 0))
			receivers->list[kept++] = *one;
	}
	receivers->count = kept;
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
	drop_strangers(inference, group, receivers);
}

// True if the contents of hardly any member contradict a type.
static bool agrees_with_contents(const struct inference *inference, const struct tag_group *group,
				 heap_type_id type)
{
	const uint32_t *members = inference->pointer_tags.members + group->first;
	uint32_t step = group->count / CONTENTS + 1, seen = 0, agreeing = 0;
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	for (uint32_t i = 0; i < group->count; i += step) {
		progress_step();
		content_read(inference, members[i], words, &content);
		seen++;
		agreeing += content_score(inference, &content, type, 1) >= 0;
	}
	return agreeing * 100 >= seen * PER_CENT;
}

/*
 * The only type that extends what all receivers are, fits the members, and agrees with their contents: a class may
 * add members, and no functions of its own.
 */
static heap_type_id choose_extension(const struct inference *inference,
				     const struct tag_group *group,
				     const struct receiver_list *receivers)
{
	const struct layouts *layouts = &inference->layouts;
	const struct tag_place *place = &inference->pointer_tags.places.items[group->place];
	heap_type_id base = HEAP_NO_TYPE, found = HEAP_NO_TYPE;
	struct layout_wholes wholes;

	for (uint32_t i = 0; i < receivers->count; i++) {
		heap_type_id type = receivers->list[i].type;

		if (tag_places_have(inference, type, place) &&
		    (base == HEAP_NO_TYPE || layouts_is_indexed(layouts, type, base, 0)))
			base = type;
	}
	if (base == HEAP_NO_TYPE)
		return HEAP_NO_TYPE;
	wholes = find_wholes(layouts, base);
	for (const struct layout_part *at = wholes.at; at < wholes.end; at++) {
		progress_step();
		if (at->whole == found || !tag_places_have(inference, at->whole, place) ||
		    fit_group(inference, group, at->whole) != GROUP_FIT ||
		    !agrees_with_contents(inference, group, at->whole))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = at->whole;
	}
	return found;
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
	const char *name = tag_names_find(inference, group->value);
	char stem[NAME];

	find_stem(name, stem, sizeof(stem));
	if (strlen(stem) < MIN_STEM)
		return;
	// An unnamed struct has the name of its typedef.
	for (size_t i = 0; i < place->types.count; i++) {
		heap_type_id type = place->types.items[i];
		heap_type_id stripped = layouts_strip(&inference->layouts, type);

		if (layouts_size(&inference->layouts, stripped) <= LARGEST &&
		    has_stem(types, type, stem))
			add_receiver(receivers, stripped, METHOD_TABLE_PARAMETER);
	}
}

// @param with_rest  members may be larger than the type
static heap_type_id choose_any(const struct inference *inference, const struct tag_group *group,
			       const struct receiver_list *receivers, bool with_rest)
{
	heap_type_id type = choose(inference, group, receivers, false);

	if (type == HEAP_NO_TYPE)
		type = choose_beginning(inference, group, receivers);
	if (type == HEAP_NO_TYPE && with_rest)
		type = choose(inference, group, receivers, true);
	return type;
}

// Sets a group's type. @return false if none has been found
static bool set_type(struct tag_group *group, heap_type_id type, uint8_t evidence, enum rank rank)
{
	if (type == HEAP_NO_TYPE)
		return false;
	group->type = type;
	group->evidence = evidence;
	group->rank = (uint8_t)rank;
	return true;
}

bool tag_types_is_owned(const struct inference *inference, const struct tag_group *group,
			heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct method_table *table =
		method_tables_find(&inference->pointer_tags.tables, group->value);
	uint32_t first, end;

	if (!table || table->object == HEAP_NO_OBJECT)
		return false;
	first = snapshot->edge_first[table->object];
	end = snapshot->edge_first[table->object + 1];
	for (uint32_t i = first; i < end && i < first + MAX_OWNED_EDGES; i++) {
		progress_step();
		if (snapshot->edge_target[i] == object)
			return true;
	}
	return false;
}

static bool are_owned(const struct inference *inference, const struct tag_group *group)
{
	const uint32_t *members = inference->pointer_tags.members + group->first;

	if (group->count > MAX_OWNED)
		return false;
	for (uint32_t i = 0; i < group->count; i++) {
		if (!tag_types_is_owned(inference, group, members[i]))
			return false;
	}
	return group->count > 0;
}

void tag_types_find(const struct inference *inference, struct tag_group *group)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct tag_place *place = &tags->places.items[group->place];
	const struct method_table *table = method_tables_find(&tags->tables, group->value);
	bool is_block = table && table->object != HEAP_NO_OBJECT;
	struct receiver_list receivers = { .count = 0 };
	heap_type_id elected = elect(inference, group), type;

	if (are_owned(inference, group)) {
		set_type(group, elected, HEAP_EVIDENCE_TAG, RANK_TAG);
		return;
	}
	gather_methods(inference, group, &receivers);
	type = choose(inference, group, &receivers, false);
	if (type != HEAP_NO_TYPE && elected != HEAP_NO_TYPE &&
	    !layouts_says_more(&inference->layouts, type, elected))
		type = HEAP_NO_TYPE;
	if (set_type(group, type, HEAP_EVIDENCE_METHODS, RANK_TAG))
		return;
	group->is_elected = set_type(group, elected, HEAP_EVIDENCE_TAG, RANK_TAG);
	if (group->is_elected || set_type(group, choose_extension(inference, group, &receivers),
					  HEAP_EVIDENCE_METHODS, RANK_TAG))
		return;
	type = choose(inference, group, &receivers, true);
	// A class that the program makes while it runs may add members that no struct has. Functions among other words of a
	// large table, as that of a virtual machine's code, may get something else.
	if (type != HEAP_NO_TYPE && ((!is_block && is_base(inference, type, place)) ||
				     !agrees_with_contents(inference, group, type)))
		type = HEAP_NO_TYPE;
	if (type == HEAP_NO_TYPE)
		type = choose_beginning(inference, group, &receivers);
	if (set_type(group, type, HEAP_EVIDENCE_METHODS, RANK_TAG))
		return;
	receivers.count = 0;
	gather_namesakes(inference, group, &receivers);
	type = choose_any(inference, group, &receivers, true);
	if (set_type(group, type, HEAP_EVIDENCE_TAG, RANK_TAG))
		return;
	receivers.count = 0;
	gather_sites(inference, group, &receivers);
	set_type(group, choose_any(inference, group, &receivers, tags->takes_bases),
		 HEAP_EVIDENCE_SITE, RANK_DISCRIMINATOR_LIKELY);
}
