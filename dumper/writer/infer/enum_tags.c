// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/inference.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,
	LAST_OFFSET = 64,   // of a tag
	MIN_NAMED = 3,      // structs that enumerators name, for an enum to be a tag
	NAME = 64,          // bytes of a name; longer ones are cut
	SKIPPED_WORDS = 2,  // before what names a struct in an enumerator
	SAMPLE = 64,        // enumerators that affixes are looked for with
	AFFIXES = 128,      // different ones, at most
	MIN_CORE = 3,       // letters of an enumerator's name that an affix is beside
	MAX_STRUCTS = 4096, // with one enum
	MAX_ENUMERATORS = 4096,
	LARGEST_TAG_ONLY = 8, // bytes of a struct that is a tag and nothing more
};

// --- tags of structs --------------------------------------------------------------------------

// A struct with a tag, by one of its names.
struct named {
	heap_type_id tag, type;
	uint32_t offset;
	char name[NAME];
};

struct named_structs HEAP_ARRAY(struct named);

// Keeps letters and digits alone, in lower case. @return the length
static size_t fold(const char *name, char *folded)
{
	size_t length = 0;

	for (; *name && length + 1 < NAME; name++) {
		if (isalnum((unsigned char)*name))
			folded[length++] = (char)tolower((unsigned char)*name);
	}
	folded[length] = '\0';
	return length;
}

// The search for tags. Many members may have one type, and be at one place: a type that has no tag is visited once
// per depth.
struct tag_search {
	const struct heap_types *types;
	uint8_t *tagless; // [types] no tag from MAX_DEPTH - value on
};

// Finds the first enum in the header of a struct. @return HEAP_NO_TYPE if there is none
static heap_type_id find_tag(const struct tag_search *search, heap_type_id id, int depth,
			     uint32_t *offset)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[id];

	if (MAX_DEPTH - depth <= search->tagless[id] ||
	    (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS))
		return HEAP_NO_TYPE;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own = heap_types_strip(types, member->type), found;
		uint32_t inner = 0;

		progress_step();
		if (member->offset > LAST_OFFSET)
			break;
		if (member->flags & (HEAP_MEMBER_BIT_FIELD | HEAP_MEMBER_VIRTUAL_BASE))
			continue;
		found = types->types[own].kind == HEAP_TYPE_ENUM
				? own
				: find_tag(search, own, depth + 1, &inner);
		if (found == HEAP_NO_TYPE || types->types[found].members < MIN_NAMED)
			continue;
		*offset = (uint32_t)member->offset + inner;
		return found;
	}
	search->tagless[id] = (uint8_t)(MAX_DEPTH - depth);
	return HEAP_NO_TYPE;
}

static const char *without_scope(const char *name)
{
	const char *scope = strrchr(name, ':');

	return scope ? scope + 1 : name;
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
		const struct heap_type *type = &types->types[id];
		heap_type_id stripped = layouts_strip(layouts, id);
		struct named named = { .type = stripped };

		if ((id != stripped && type->kind != HEAP_TYPE_TYPEDEF) || type->name == 0 ||
		    !layouts_is_compound(layouts, stripped))
			continue;
		named.tag = find_tag(&search, stripped, 0, &named.offset);
		if (named.tag == HEAP_NO_TYPE ||
		    fold(without_scope(heap_types_string(types, type->name)), named.name) == 0)
			continue;
		HEAP_TRY(heap_array_append(list, named));
	}
	return NULL;
}

static int compare_places(const struct named *a, const struct named *b)
{
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = compare_places(a, b);

	if (order == 0)
		order = strcmp(a->name, b->name);
	return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

// --- names of enumerators ---------------------------------------------------------------------

// The part of enumerators' names that names a struct, and the rest of the struct's name.
struct naming_rule {
	int skipped;    // words
	bool is_before; // the affix
	char affix[NAME];
	uint32_t count; // enumerators
};

// The structs with one tag at one place.
struct run {
	const struct heap_types *types;
	const struct named *list;
	size_t count;
};

// The name of an enumerator without its first words. @return its length
static size_t fold_core(const struct run *run, uint32_t enumerator, int skipped, char *folded)
{
	const struct heap_type *tag = &run->types->types[run->list->tag];
	const char *name = without_scope(heap_types_string(
		run->types, run->types->enumerators[tag->first_member + enumerator].name));

	for (; skipped > 0; skipped--) {
		const char *next = strchr(name, '_');

		if (!next)
			return 0;
		name = next + 1;
	}
	return fold(name, folded);
}

// The only struct of a name; HEAP_NO_TYPE: there is none, or several.
static heap_type_id find_struct(const struct run *run, const char *name)
{
	size_t at = heap_partition_point(i, 0, run->count, strcmp(run->list[i].name, name) < 0);
	heap_type_id found = HEAP_NO_TYPE;

	for (; at < run->count && strcmp(run->list[at].name, name) == 0; at++) {
		if (found != HEAP_NO_TYPE && found != run->list[at].type)
			return HEAP_NO_TYPE;
		found = run->list[at].type;
	}
	progress_step();
	return found;
}

// The struct that an enumerator names by a rule.
static heap_type_id apply_rule(const struct run *run, const struct naming_rule *rule,
			       uint32_t enumerator)
{
	char core[NAME], name[2 * NAME];

	if (fold_core(run, enumerator, rule->skipped, core) == 0)
		return HEAP_NO_TYPE;
	strcpy(name, rule->is_before ? rule->affix : core);
	strcat(name, rule->is_before ? core : rule->affix);
	return find_struct(run, name);
}

static uint32_t enumerators_of(const struct run *run)
{
	uint32_t count = run->types->types[run->list->tag].members;

	return count < MAX_ENUMERATORS ? count : MAX_ENUMERATORS;
}

static void count_named(const struct run *run, struct naming_rule *rule)
{
	rule->count = 0;
	for (uint32_t i = 0; i < enumerators_of(run); i++)
		rule->count += apply_rule(run, rule, i) != HEAP_NO_TYPE;
}

// Counts an affix. @return how many there are then
static uint32_t count_affix(struct naming_rule *rules, uint32_t count, int skipped, bool is_before,
			    const char *affix, size_t length)
{
	uint32_t at = 0;

	while (at < count &&
	       (rules[at].skipped != skipped || rules[at].is_before != is_before ||
		strlen(rules[at].affix) != length || strncmp(rules[at].affix, affix, length) != 0))
		at++;
	if (at == AFFIXES)
		return count;
	if (at == count) {
		rules[count] = (struct naming_rule){ skipped, is_before, "", 0 };
		memcpy(rules[count++].affix, affix, length);
	}
	rules[at].count++;
	return count;
}

// Finds the affix that the names of most structs have beside the name of an enumerator.
static void find_affix(const struct run *run, struct naming_rule *rules, struct naming_rule *best)
{
	uint32_t count = 0, sample = enumerators_of(run) < SAMPLE ? enumerators_of(run) : SAMPLE;
	char core[NAME];

	for (uint32_t i = 0; i < sample * (SKIPPED_WORDS + 1); i++) {
		int skipped = (int)(i % (SKIPPED_WORDS + 1));
		size_t length = fold_core(run, i / (SKIPPED_WORDS + 1), skipped, core);

		for (size_t j = 0; length >= MIN_CORE && j < run->count; j++) {
			const char *name = run->list[j].name;
			size_t own = strlen(name);

			progress_step();
			if (own <= length)
				continue;
			if (memcmp(name, core, length) == 0)
				count = count_affix(rules, count, skipped, false, name + length,
						    own - length);
			if (memcmp(name + own - length, core, length) == 0)
				count = count_affix(rules, count, skipped, true, name,
						    own - length);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (rules[i].count > best->count)
			*best = rules[i];
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_rule(const struct run *run, struct naming_rule *best)
{
	CLEANUP_FREE struct naming_rule *rules = NULL;

	*best = (struct naming_rule){ 0 };
	for (int skipped = 0; skipped <= SKIPPED_WORDS; skipped++) {
		struct naming_rule rule = { .skipped = skipped };

		count_named(run, &rule);
		if (rule.count > best->count)
			*best = rule;
	}
	if (best->count >= MIN_NAMED)
		return NULL;
	rules = malloc(AFFIXES * sizeof(*rules));
	if (!rules)
		return heap_error_out_of_memory();
	find_affix(run, rules, best);
	count_named(run, best);
	return NULL;
}

// --- the tags ---------------------------------------------------------------------------------

static uint64_t mask_of(uint32_t size)
{
	return size >= sizeof(uint64_t) ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
}

// Notes which structs the enumerators of a tag name.
HEAP_MUST_CHECK
static struct heap_error *add_values(struct enum_tags *tags, const struct run *run,
				     const struct naming_rule *rule, uint32_t size)
{
	const struct heap_type *tag = &run->types->types[run->list->tag];

	for (uint32_t i = 0; i < enumerators_of(run); i++) {
		heap_type_id type = apply_rule(run, rule, i);
		int64_t value = run->types->enumerators[tag->first_member + i].value;

		if (type != HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(
				&tags->values,
				((struct enum_tag_value){
					run->list->tag, (uint64_t)value & mask_of(size), type })));
	}
	return NULL;
}

// Takes an enum for a tag if its enumerators name the structs that have it at one place.
HEAP_MUST_CHECK
static struct heap_error *consider(struct enum_tags *tags, const struct run *run)
{
	uint64_t size = heap_types_size(run->types, run->list->tag);
	struct naming_rule rule;

	if (run->count < MIN_NAMED || run->count > MAX_STRUCTS || size == 0 ||
	    size > sizeof(uint64_t) || tags->places.count == UINT16_MAX)
		return NULL;
	HEAP_TRY(find_rule(run, &rule));
	if (rule.count < MIN_NAMED)
		return NULL;
	HEAP_TRY(add_values(tags, run, &rule, (uint32_t)size));
	HEAP_TRY(heap_array_append(
		&tags->places,
		((struct enum_tag_place){ run->list->tag, run->list->offset, (uint32_t)size })));
	for (size_t i = 0; i < run->count; i++)
		tags->place_of[run->list[i].type] = (uint16_t)tags->places.count;
	return NULL;
}

static int compare_values(const void *left, const void *right)
{
	const struct enum_tag_value *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

struct heap_error *enum_tags_init(struct enum_tags *tags, const struct layouts *layouts)
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
		     end < list.count && compare_places(&list.items[first], &list.items[end]) == 0;)
			end++;
		HEAP_TRY(consider(
			tags, &(struct run){ layouts->types, list.items + first, end - first }));
	}
	if (tags->values.count > 0)
		qsort(tags->values.items, tags->values.count, sizeof(*tags->values.items),
		      compare_values);
	return NULL;
}

void enum_tags_deinit(struct enum_tags *tags)
{
	free(tags->place_of);
	heap_array_deinit(&tags->places);
	heap_array_deinit(&tags->values);
}

// --- what tags tell ---------------------------------------------------------------------------

// The only struct that a tag's value names.
static heap_type_id find_value(const struct enum_tags *tags, heap_type_id tag, uint64_t value)
{
	const struct enum_tag_value *values = tags->values.items;
	const struct enum_tag_value key = { tag, value, HEAP_NO_TYPE };
	size_t at = heap_partition_point(i, 0, tags->values.count,
					 compare_values(&values[i], &key) < 0);
	heap_type_id found = HEAP_NO_TYPE;

	for (; at < tags->values.count && values[at].tag == tag && values[at].value == value;
	     at++) {
		if (found != HEAP_NO_TYPE && found != values[at].type)
			return HEAP_NO_TYPE;
		found = values[at].type;
	}
	return found;
}

static heap_type_id read_place(const struct inference *inference,
			       const struct enum_tag_place *place, uint64_t address)
{
	uint64_t value = 0;

	pages_read(inference->pages, address + place->offset, &value, place->size);
	return find_value(&inference->enum_tags, place->tag, value);
}

heap_type_id enum_tags_read(const struct inference *inference, heap_type_id type, uint64_t address)
{
	const struct enum_tags *tags = &inference->enum_tags;
	heap_type_id found;

	if (!enum_tags_have(tags, type))
		return HEAP_NO_TYPE;
	found = read_place(inference, &tags->places.items[tags->place_of[type] - 1], address);
	return layouts_size(&inference->layouts, found) >= layouts_size(&inference->layouts, type)
		       ? found
		       : HEAP_NO_TYPE;
}

bool enum_tags_is_beginning(const struct inference *inference, heap_type_id part,
			    heap_type_id whole)
{
	const struct enum_tags *tags = &inference->enum_tags;

	return enum_tags_have(tags, part) && tags->place_of[part] == tags->place_of[whole] &&
	       layouts_size(&inference->layouts, part) <= LARGEST_TAG_ONLY;
}

struct layout_claim enum_tags_fit(const struct inference *inference, heap_object_id object,
				  uint64_t *words)
{
	const struct enum_tags *tags = &inference->enum_tags;

	for (size_t i = 0; i < tags->places.count; i++) {
		heap_type_id type = read_place(inference, &tags->places.items[i],
					       inference_address(inference, object));
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
