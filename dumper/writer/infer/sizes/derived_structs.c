// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/derived_structs.h"

#include "dumper/writer/infer/inference.h"

enum {
	FAMILY = 3,          // larger structs that begin with a base, at least
	LARGEST_MORE = 4096, // bytes that these have more
	MANY_SMALLER = 128,  // structs that begin with a base: contents do not tell so many apart
};

// @return the struct that begins with a base, or HEAP_NO_TYPE
static heap_type_id find_derived(const struct inference *inference, heap_object_id object,
				 heap_type_id base)
{
	const struct layouts *layouts = &inference->layouts;
	const struct site_types *types = inference_site_types(inference, object);
	uint64_t size = inference_size(inference, object);

	for (uint32_t i = 0; i < types->count; i++) {
		heap_type_id type = types->list[i].type;

		if ((types->list[i].is_result || types->list[i].is_passed) && type != base &&
		    layouts_is_compound(layouts, type) && layouts_size(layouts, type) <= size &&
		    layouts_has(layouts, type, base, 0))
			return type;
	}
	return HEAP_NO_TYPE;
}

struct layout_claim derived_structs_extend(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim, enum layout_fit fit)
{
	heap_type_id type = find_derived(inference, object, claim->type);

	return type == HEAP_NO_TYPE ? *claim : (struct layout_claim){ fit, type, 1 };
}

// True for a struct of one member that is another struct, and no base class.
static bool is_wrapper(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_type *type = &layouts->types->types[id];

	return type->kind == HEAP_TYPE_STRUCT && type->members == 1 &&
	       !(layouts->types->members[type->first_member].flags & HEAP_MEMBER_BASE);
}

// The only struct of a base's size that begins with it, and that the code handles. HEAP_NO_TYPE: there are none, or several,
// or the base itself is what a variable with the new block points to.
static heap_type_id find_only(const struct inference *inference, heap_object_id object,
			      heap_type_id base)
{
	const struct layouts *layouts = &inference->layouts;
	const struct site_types *types = inference_site_types(inference, object);
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < types->count; i++) {
		const struct site_type *own = &types->list[i];

		if (own->type == base && (own->is_result || own->is_passed))
			return HEAP_NO_TYPE;
		if (own->type == base || own->type == found || !is_wrapper(layouts, own->type) ||
		    layouts_size(layouts, own->type) != layouts_size(layouts, base) ||
		    !layouts_has(layouts, own->type, base, 0))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = own->type;
	}
	return found;
}

// True if several larger structs begin with a base: each kind of object has a type of its own, and none is the base itself.
static bool has_family(const struct layouts *layouts, heap_type_id base)
{
	uint64_t size = layouts_size(layouts, base);
	const struct layout_wholes same = layouts_exact_wholes(layouts, base, 0, size, 0);
	const struct layout_wholes all =
		layouts_exact_wholes(layouts, base, 0, size + LARGEST_MORE, LARGEST_MORE);

	return (all.end - all.at) - (same.end - same.at) >= FAMILY;
}

// Where no code is known that allocates a block: the only struct that is a base and nothing more.
static heap_type_id find_lone(const struct layouts *layouts, heap_type_id base)
{
	const struct layout_wholes same =
		layouts_exact_wholes(layouts, base, 0, layouts_size(layouts, base), 0);
	heap_type_id found = HEAP_NO_TYPE;

	for (const struct layout_part *part = same.at; part < same.end; part++) {
		if (part->whole == base || part->whole == found)
			continue;
		if (found != HEAP_NO_TYPE || !is_wrapper(layouts, part->whole))
			return HEAP_NO_TYPE;
		found = part->whole;
	}
	return found;
}

struct layout_claim derived_structs_wrap(const struct inference *inference, heap_object_id object,
					 const struct layout_claim *claim)
{
	heap_type_id type;

	if (claim->fit != LAYOUT_EXACT || claim->elements != 1 ||
	    !inference->layouts.facts[claim->type].is_beginning)
		return *claim;
	type = inference_has_sites(inference) ? find_only(inference, object, claim->type)
					      : find_lone(&inference->layouts, claim->type);
	return type == HEAP_NO_TYPE || !has_family(&inference->layouts, claim->type)
		       ? *claim
		       : (struct layout_claim){ claim->fit, type, 1 };
}

// The structs that begin with a base, and are no larger than a block.
static struct layout_wholes find_smaller(const struct inference *inference, heap_object_id object,
					 heap_type_id base)
{
	return layouts_smaller_wholes(&inference->layouts, base, 0,
				      inference_size(inference, object) + 1);
}

bool derived_structs_may_be(const struct inference *inference, heap_object_id object,
			    const struct layout_claim *claim)
{
	struct layout_wholes smaller;

	if (inference_has_sites(inference) || claim->fit != LAYOUT_FLEXIBLE ||
	    !inference->layouts.facts[claim->type].is_beginning)
		return false;
	smaller = find_smaller(inference, object, claim->type);
	return smaller.at < smaller.end;
}

// True if the first of a base's elements is a pointer to a struct, and leads to a block of its size: those behind it may not be
// in use, and be what an earlier block left.
static bool has_element(const struct inference *inference, heap_object_id object, heap_type_id base)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct layout_facts *facts = &layouts->facts[base];
	heap_type_id element = layouts_strip(layouts, facts->element), pointee;
	struct layout_claim claim;
	uint32_t edge;

	if (!layouts_is_pointer(layouts, element))
		return false;
	pointee = layouts_strip(layouts, layouts->types->types[element].target);
	edge = heap_edge_at(snapshot, object, inference_prefix(inference, object) + facts->start);
	if (!layouts_is_compound(layouts, pointee) || edge == UINT32_MAX ||
	    snapshot->edge_interior[edge] != 0)
		return false;
	claim = inference_fit(inference, pointee, snapshot->edge_target[edge]);
	return claim.fit == LAYOUT_EXACT && claim.elements == 1;
}

struct layout_claim derived_structs_choose(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct layout_claim result = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	struct layout_wholes smaller;
	struct content content;
	int best = -1;

	if (!derived_structs_may_be(inference, object, claim))
		return *claim;
	content_read(inference, object, words, &content);
	if (content_score(inference, &content, claim->type, claim->elements) >= 0 ||
	    has_element(inference, object, claim->type))
		return *claim;
	smaller = find_smaller(inference, object, claim->type);
	if (smaller.end - smaller.at > MANY_SMALLER)
		return result;
	for (const struct layout_part *part = smaller.at; part < smaller.end; part++) {
		int score = content_score(inference, &content, part->whole, 1);

		if (score < best || part->whole == claim->type)
			continue;
		result = score > best && score > 0
				 ? (struct layout_claim){ LAYOUT_SLACK, part->whole, 1 }
				 : (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
		best = score;
	}
	return best < 0 ? *claim : result;
}
