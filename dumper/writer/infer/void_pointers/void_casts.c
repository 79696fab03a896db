// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/void_casts.h"

#include "dumper/writer/infer/inference.h"

enum {
	MAX_DEPTH = 8,       // of members in members
	LEAST_FRACTIONS = 2, // words
};

// @return false: there are too many
static bool add(struct void_casts *casts, heap_type_id type, int depth)
{
	for (uint32_t i = 0; i < casts->count; i++) {
		if (casts->types[i] == type)
			return true;
	}
	if (casts->count == VOID_CASTS_MAX)
		return false;
	casts->depths[casts->count] = (uint8_t)depth;
	casts->types[casts->count++] = type;
	return true;
}

struct void_casts void_casts_gather(const struct inference *inference, heap_type_id type,
				    uint64_t offset)
{
	const struct layouts *layouts = &inference->layouts;
	struct void_casts result = { .count = 0 };

	for (int depth = 0; depth < MAX_DEPTH && type != HEAP_NO_TYPE; depth++) {
		heap_type_id holder = layouts_strip(layouts, type);
		size_t count;
		const struct cast *casts = casts_find(&inference->casts, holder, offset, &count);

		for (size_t i = 0; i < count; i++) {
			if (!add(&result, casts[i].target, depth))
				return (struct void_casts){ .count = 0 };
		}
		type = layouts_step_in(layouts, holder, &offset);
		// A member is no array of any pointers.
		if (layouts_is_pointer(layouts, type))
			break;
	}
	return result;
}

// The bytes of the container that is a member of a struct, and begins at an offset; 0: none does.
static uint64_t container_size(const struct layouts *layouts, heap_type_id type, uint64_t offset)
{
	for (int depth = 0; depth < MAX_DEPTH && type != HEAP_NO_TYPE; depth++) {
		type = layouts_step_in(layouts, layouts_strip(layouts, type), &offset);
		if (offset == 0)
			return type == HEAP_NO_TYPE ? 0 : layouts_size(layouts, type);
	}
	return 0;
}

// Likewise of one in a variable, or the variable itself.
static uint64_t variable_size(const struct inference *inference, heap_root_id id, uint64_t address)
{
	const struct heap_root *root = &inference->capture->snapshot.roots[id];

	if (address < root->address)
		return 0;
	return address == root->address
		       ? layouts_size(&inference->layouts, root->type)
		       : container_size(&inference->layouts, root->type, address - root->address);
}

// True if a pointer leads to the container that a cast is for, or from there.
static bool is_within(const struct inference *inference, const struct cast *cast,
		      const struct void_origin *origin)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size;

	if (!casts_has_container(cast) || cast->container != layouts_strip(layouts, origin->type))
		return false;
	if (cast->is_pointer || cast->at >= origin->at)
		return cast->at == origin->at;
	size = origin->type != HEAP_NO_TYPE ? container_size(layouts, origin->type, cast->at)
					    : variable_size(inference, origin->root, cast->at);
	return origin->at - cast->at < size;
}

// True if code casts a pointer to a struct, and it is not known for which container. Those of one struct are one behind the other.
static bool is_anywhere(const struct cast *casts, size_t count, size_t i)
{
	return !casts_has_container(&casts[i]) &&
	       (i + 1 == count || casts[i + 1].target != casts[i].target);
}

// Adds the casts of a member in a container. @return false: there are too many
static bool add_within(const struct inference *inference, heap_type_id holder, uint64_t offset,
		       const struct void_origin *origin, struct void_casts *result)
{
	size_t count;
	const struct cast *casts = casts_find(&inference->casts, holder, offset, &count);

	for (size_t i = 0; i < count; i++) {
		if (is_within(inference, &casts[i], origin) && !add(result, casts[i].target, 0))
			return false;
	}
	for (size_t i = 0; i < count && result->count > 0; i++) {
		if (is_anywhere(casts, count, i) &&
		    !add(result, casts[i].target, VOID_CASTS_ANYWHERE))
			return false;
	}
	return true;
}

struct void_casts void_casts_gather_within(const struct inference *inference, heap_type_id type,
					   uint64_t offset, const struct void_origin *origin)
{
	const struct layouts *layouts = &inference->layouts;
	struct void_casts result = { .count = 0 };

	for (int depth = 0; depth < MAX_DEPTH && type != HEAP_NO_TYPE && result.count == 0;
	     depth++) {
		heap_type_id holder = layouts_strip(layouts, type);

		if (!add_within(inference, holder, offset, origin, &result))
			return (struct void_casts){ .count = 0 };
		type = layouts_step_in(layouts, holder, &offset);
		if (layouts_is_pointer(layouts, type))
			break;
	}
	return result;
}

// True if a block has pointers behind a value of a type.
static bool goes_on(const struct inference *inference, heap_type_id type, heap_object_id target)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t end =
		inference_prefix(inference, target) + layouts_size(&inference->layouts, type);
	uint32_t behind = snapshot->edge_first[target + 1];

	// In order of their slots.
	return behind > snapshot->edge_first[target] &&
	       snapshot->edge_slot[behind - 1] * UINT64_C(8) >= end;
}

// The claim of a type on a block; LAYOUT_NONE: the block is of another size. A larger block is none if it has pointers
// that the type does not tell of.
static struct layout_claim fit(const struct inference *inference, heap_type_id type,
			       heap_object_id target)
{
	struct layout_claim claim = inference_fit(inference, type, target);

	if (claim.fit != LAYOUT_NONE ||
	    layouts_size(&inference->layouts, type) > inference_size(inference, target) ||
	    goes_on(inference, type, target))
		return claim;
	return (struct layout_claim){ LAYOUT_SLACK, type, 1 };
}

// True if any block of that size may be of a type: it begins with bytes, as an identifier that code copies from any
// text, and has no pointers.
static bool is_vague(const struct inference *inference, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	return (!slots || slots->count == 0) &&
	       layouts_size(&inference->layouts, type) < VOID_CASTS_RARE &&
	       layouts_is_raw(&inference->layouts, type, 0);
}

// True if a block has fractions where a struct has whole numbers alone: any numbers are such, so that they would not speak
// against it. A random number may look like one.
static bool has_fractions(const struct inference *inference, const struct content *content,
			  heap_type_id type)
{
	uint64_t words = layouts_size(&inference->layouts, type) / sizeof(uint64_t), found = 0;

	for (uint64_t i = 0; i < words && i < content->count; i++)
		found += content_is_fraction(content->words[i]);
	return found >= LEAST_FRACTIONS && layouts_has_integers_alone(&inference->layouts, type);
}

// How well a block may be of a type; less than 0: it may not. A larger block, and one of any size, have to agree better.
//
// @param unset  enums may have old bytes, as members that the program does not use have them
static int score(const struct inference *inference, const struct layout_claim *claim,
		 heap_object_id target, const struct content *content, bool unset)
{
	int result;

	if (claim->fit == LAYOUT_NONE || is_vague(inference, claim->type) ||
	    has_fractions(inference, content, claim->type) ||
	    hints_ask(inference, target, claim->type) == VERDICT_AGAINST)
		return -1;
	if (unset)
		return claim->fit == LAYOUT_EXACT
			       ? content_score_unset(inference, content, claim->type)
			       : -1;
	result = content_score(inference, content, claim->type, claim->elements);
	// Any size is one of a flexible struct.
	return claim->fit == LAYOUT_SLACK || layouts_is_flexible(&inference->layouts, claim->type)
		       ? result - 1
		       : result;
}

// Chooses among the casts of one struct, [first, end): the best one.
static struct void_cast_choice choose(const struct inference *inference,
				      const struct void_casts *casts, uint32_t first, uint32_t end,
				      heap_object_id target, const struct content *content,
				      bool unset)
{
	struct void_cast_choice result = { .claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 } };
	int best = -1;

	for (uint32_t i = first; i < end; i++) {
		struct layout_claim claim = fit(inference, casts->types[i], target);
		int found = score(inference, &claim, target, content, unset);
		bool is_equal = claim.fit == result.claim.fit && found == best;
		bool is_better = claim.fit < result.claim.fit ||
				 (claim.fit == result.claim.fit && found > best);

		if (found < 0)
			continue;
		result.is_ambiguous = is_equal || (result.is_ambiguous && !is_better);
		if (!is_better)
			continue;
		result.claim = claim;
		best = found;
	}
	result.is_likely = best > 0 || (result.claim.fit < LAYOUT_SLACK &&
					inference_size(inference, target) >= VOID_CASTS_RARE);
	return result;
}

// Chooses among the casts of the innermost struct that has any for the target.
static struct void_cast_choice choose_innermost(const struct inference *inference,
						const struct void_casts *casts,
						heap_object_id target,
						const struct content *content, bool unset)
{
	struct void_cast_choice result = { .claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 } };

	for (uint32_t first = 0, end; first < casts->count && result.claim.fit == LAYOUT_NONE;
	     first = end) {
		for (end = first; end < casts->count && casts->depths[end] == casts->depths[first];)
			end++;
		result = choose(inference, casts, first, end, target, content, unset);
	}
	return result;
}

struct void_cast_choice void_casts_choose(const struct inference *inference,
					  const struct void_casts *casts, heap_object_id target,
					  uint64_t *words)
{
	struct void_cast_choice result;
	struct content content;

	content_read(inference, target, words, &content);
	result = choose_innermost(inference, casts, target, &content, false);
	if (result.claim.fit == LAYOUT_NONE)
		result = choose_innermost(inference, casts, target, &content, true);
	if (result.is_ambiguous)
		result.claim = (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	return result;
}
