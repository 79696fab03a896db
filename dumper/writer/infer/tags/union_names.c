// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/union_names.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/tags/enum_names.h"
#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,
	MIN_NAMED = 3,     // members that enumerators name
	MAX_SKIPPED = 2,   // words of an enumerator before that name
	MAX_MEMBERS = 64,  // of a union, that are looked at
	MAX_VALUES = 1024, // enumerators
};

#define NO_MEMBER UINT32_MAX

// The union that begins at an offset of a struct.
static const struct heap_type *find_union(const struct layouts *layouts, heap_type_id id,
					  uint64_t start, int depth)
{
	const struct heap_type *type = &layouts->types->types[layouts_strip(layouts, id)];

	progress_step();
	if (type->kind == HEAP_TYPE_UNION && start == 0)
		return type;
	if (depth == MAX_DEPTH || !heap_types_has_members(type))
		return NULL;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &layouts->types->members[type->first_member + i];
		const struct heap_type *found = NULL;

		if (start >= member->offset &&
		    start - member->offset < layouts_size(layouts, member->type))
			found = find_union(layouts, member->type, start - member->offset,
					   depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

// The search for the names of one union's members in one enum.
struct naming {
	const struct inference *inference;
	const struct heap_type *whole; // the union
	heap_type_id tag;
	uint32_t members, values;
	bool is_short;                      // names may be short forms of each other
	char names[MAX_MEMBERS][ENUM_NAME]; // of the members, folded
};

// True if an enumerator names a member, by its own name, or where short forms do: "INT" and "i", "STRING" and "str".
static bool names_member(const struct naming *naming, uint32_t member, const char *name)
{
	const char *own = naming->names[member];
	size_t length = strlen(own), other = strlen(name);

	if (!naming->is_short || length == 0)
		return strcmp(own, name) == 0;
	return memcmp(own, name, length < other ? length : other) == 0;
}

// The only member that an enumerator names.
static uint32_t find_member(const struct naming *naming, uint32_t enumerator, int skipped)
{
	char name[ENUM_NAME];
	uint32_t found = NO_MEMBER;

	if (enum_names_core(naming->inference->layouts.types, naming->tag, enumerator, skipped,
			    name) == 0)
		return NO_MEMBER;
	for (uint32_t i = 0; i < naming->members; i++) {
		progress_step();
		if (!names_member(naming, i, name))
			continue;
		if (found != NO_MEMBER)
			return NO_MEMBER;
		found = i;
	}
	return found;
}

// The members that enumerators name. @param count  gets the number of these enumerators
static uint64_t find_named(const struct naming *naming, int skipped, uint32_t *count)
{
	uint64_t named = 0;

	*count = 0;
	for (uint32_t i = 0; i < naming->values; i++) {
		uint32_t member = find_member(naming, i, skipped);

		if (member == NO_MEMBER)
			continue;
		named |= UINT64_C(1) << member;
		++*count;
	}
	return named;
}

// How enumerators name the members of a union.
struct naming_rule {
	uint64_t named;     // the members
	uint32_t count;     // of these
	uint32_t by_values; // the enumerators that name them
	int skipped;        // words
};

// The rule by which most members have names.
static struct naming_rule find_rule(const struct naming *naming)
{
	struct naming_rule best = { 0 };

	for (int skipped = 0; skipped <= MAX_SKIPPED; skipped++) {
		struct naming_rule rule = { .skipped = skipped };

		rule.named = find_named(naming, skipped, &rule.by_values);
		rule.count = (uint32_t)__builtin_popcountll(rule.named);
		if (rule.count > best.count)
			best = rule;
	}
	return best;
}

// True if enough members have names. Short forms may have been found by chance: all members have one, each its own.
static bool is_good_rule(const struct naming *naming, const struct naming_rule *rule)
{
	if (rule->count < MIN_NAMED)
		return false;
	return naming->is_short ? rule->count == naming->members && rule->by_values == rule->count
				: rule->count * 2 >= naming->members;
}

// The pointee of a member's pointer at an offset of the union. @param has_slot  false: there is no pointer
static heap_type_id find_pointee(const struct naming *naming, uint32_t member, uint64_t offset,
				 bool *has_slot)
{
	const struct layouts *layouts = &naming->inference->layouts;
	const struct heap_member *own =
		&layouts->types->members[naming->whole->first_member + member];
	const struct heap_slots *slots =
		heap_slot_table_get(&layouts->slots, layouts_strip(layouts, own->type));
	uint32_t first, end = 0;

	*has_slot = false;
	if (!slots || offset < own->offset)
		return HEAP_NO_TYPE;
	end = heap_slots_at(slots, offset - own->offset, &first);
	*has_slot = end > first;
	return end == first + 1 ? slots->list[first].pointee : HEAP_NO_TYPE;
}

// The pointee on which all members with a pointer there agree that no enumerator names.
static heap_type_id find_rest(const struct naming *naming, uint64_t named, uint64_t offset)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < naming->members; i++) {
		bool has_slot;
		heap_type_id pointee = find_pointee(naming, i, offset, &has_slot);

		if ((named >> i & 1) || !has_slot)
			continue;
		if (pointee == HEAP_NO_TYPE || (found != HEAP_NO_TYPE && found != pointee))
			return HEAP_NO_TYPE;
		found = pointee;
	}
	return found;
}

// Lists the pointees by the values of the tag.
HEAP_MUST_CHECK
static struct heap_error *list_pointees(const struct naming *naming, uint64_t named, int skipped,
					struct union_choice *choice)
{
	const struct heap_types *types = naming->inference->layouts.types;
	uint64_t offset = choice->offset - choice->union_start;
	uint64_t size = heap_types_size(types, naming->tag);
	heap_type_id rest = find_rest(naming, named, offset);

	for (uint32_t i = 0; i < naming->values; i++) {
		uint32_t member = find_member(naming, i, skipped);
		int64_t value =
			types->enumerators[types->types[naming->tag].first_member + i].value;
		bool has_slot;
		heap_type_id pointee = member == NO_MEMBER
					       ? rest
					       : find_pointee(naming, member, offset, &has_slot);

		if (pointee == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(heap_reserve(choice->named, choice->named_capacity,
				      (size_t)choice->named_count + 1));
		choice->named[choice->named_count++] =
			(struct union_meaning){ (uint64_t)value & UINT64_MAX >> (64 - 8 * size),
						pointee, false, false, UNION_LENGTHS };
	}
	return NULL;
}

// Lists the pointees if a number is an enum whose enumerators name members of the union.
HEAP_MUST_CHECK
static struct heap_error *try_number(struct naming *naming, uint32_t number,
				     struct union_choice *choice)
{
	const struct heap_types *types = naming->inference->layouts.types;
	const struct union_number *own = &choice->numbers[number];
	struct naming_rule rule;

	if (own->is_in_union || types->types[own->type].kind != HEAP_TYPE_ENUM || own->size == 0 ||
	    own->size > 8)
		return NULL;
	naming->tag = own->type;
	naming->values = types->types[own->type].members < MAX_VALUES
				 ? types->types[own->type].members
				 : MAX_VALUES;
	naming->is_short = false;
	rule = find_rule(naming);
	if (!is_good_rule(naming, &rule)) {
		naming->is_short = true;
		rule = find_rule(naming);
	}
	if (!is_good_rule(naming, &rule))
		return NULL;
	choice->named_tag = number;
	return list_pointees(naming, rule.named, rule.skipped, choice);
}

struct heap_error *union_names_find(const struct inference *inference, struct union_choice *choice)
{
	const struct heap_types *types = inference->layouts.types;
	struct naming naming = { .inference = inference };

	if (choice->has_names)
		return NULL;
	choice->has_names = true;
	naming.whole = find_union(&inference->layouts, choice->holder, choice->union_start, 0);
	if (!naming.whole || naming.whole->members > MAX_MEMBERS)
		return NULL;
	naming.members = naming.whole->members;
	for (uint32_t i = 0; i < naming.members; i++)
		enum_names_fold(heap_types_string(
					types, types->members[naming.whole->first_member + i].name),
				naming.names[i]);
	for (uint32_t i = 0; i < choice->number_count && choice->named_count == 0; i++)
		HEAP_TRY(try_number(&naming, i, choice));
	return NULL;
}

heap_type_id union_names_ask(const struct inference *inference, const struct union_choice *choice,
			     uint64_t address)
{
	uint64_t value;

	if (choice->named_count == 0)
		return HEAP_NO_TYPE;
	value = union_choices_read(inference, &choice->numbers[choice->named_tag], address);
	for (uint32_t i = 0; i < choice->named_count; i++) {
		if (choice->named[i].value == value)
			return choice->named[i].type;
	}
	return HEAP_NO_TYPE;
}
