// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Follows typed slots: each becomes a claim on its target, or a hint.
 */
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/arrays/pointer_tables.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/parts/chunk_pages.h"
#include "dumper/writer/infer/classes/counted.h"
#include "dumper/writer/infer/sizes/smaller_targets.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	WORD = 8,
	DOUBTFUL_SIZE = 1024, // bytes
	FOREIGN = 8,          // one of so many words is no pointer
	FIRST_EDGES = 16,     // of the end of a table
};

// True if a pointer leads to the start of a block that cannot be what it should be: objects with virtual functions begin
// with a pointer to a table outside the heap. So do not those whose constructor has not run, and what lies where one was.
static bool lacks_table(const struct inference *inference, heap_type_id pointee,
			const struct pointer *pointer)
{
	const struct capture *capture = inference->capture;
	uint64_t word;

	if (pointee == HEAP_NO_TYPE || !layouts_is_start(pointer->interior) ||
	    !layouts_is_polymorphic(&inference->layouts, pointee) ||
	    inference_size(inference, pointer->target) < sizeof(word))
		return false;
	pages_read(inference->pages, inference_address(inference, pointer->target), &word,
		   sizeof(word));
	return word != 0 && (!image_find(&capture->image, word) ||
			     objects_find(&capture->objects, word) != HEAP_NO_OBJECT);
}

// The slots of a union at one place: any of them may be meant.
HEAP_MUST_CHECK
static struct heap_error *hint_at_all(struct inference *inference, const struct heap_slot *slots,
				      uint32_t count, const struct pointer *pointer)
{
	struct pointer one = *pointer;

	for (uint32_t i = 0; i < count; i++) {
		one.may_be_bytes = slots[i].may_be_bytes;
		if (slots[i].pointee != HEAP_NO_TYPE &&
		    !lacks_table(inference, slots[i].pointee, pointer))
			HEAP_TRY(hints_add(inference, slots[i].pointee, &one, true));
	}
	return NULL;
}

// An array behind its count, if the count agrees with the block's size.
static struct layout_claim fit_counted(const struct inference *inference, heap_type_id element,
				       heap_object_id object)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t stride = heap_types_size(inference->layouts.types, element);
	uint64_t count, size = inference_size(inference, object) - COUNTED_START;
	bool is_sure = objects->flags[object] & HEAPSNAP_BLOCK_NEW_ARRAY;
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };

	if ((!is_sure && inference_has_sites(inference)) || !inference->counted ||
	    element >= inference->counted_types || inference->counted[element] == HEAP_NO_TYPE)
		return claim;
	pages_read(inference->pages, inference_address(inference, object), &count, sizeof(count));
	// Where it is not known who has allocated the block, a 1 may as well count references to what is behind it.
	if (count > size / stride || size - count * stride > inference_slack(inference, object) ||
	    (count < 2 && !is_sure))
		return claim;
	return (struct layout_claim){ is_sure ? LAYOUT_EXACT : LAYOUT_FLEXIBLE,
				      inference->counted[element], count + 1 };
}

// True if the block has room for the pointee of a pointer into its middle. Without, the pointer is stale,
// or leads to a link that only seems to be in a node: it says nothing of any type of the block.
static bool has_room(const struct inference *inference, heap_type_id pointee,
		     const struct pointer *pointer, uint64_t size)
{
	return layouts_is_start(pointer->interior) ||
	       (pointer->interior <= size &&
		layouts_size(&inference->layouts, pointee) <= size - pointer->interior);
}

static enum rank rank_of(enum layout_fit fit, const struct pointer *pointer)
{
	if (pointer->local)
		return RANK_LOCAL;
	if (pointer->is_sure)
		return fit == LAYOUT_EXACT ? RANK_EXACT : RANK_FLEXIBLE;
	return fit == LAYOUT_EXACT ? RANK_PASSED_EXACT : RANK_PASSED_FLEXIBLE;
}

// A double (*)[3] leads to doubles, of which a block has any number.
static heap_type_id row_element(const struct inference *inference, heap_type_id pointee)
{
	const struct heap_type *type = &inference->layouts.types->types[pointee];

	return type->kind == HEAP_TYPE_ARRAY && !(type->flags & HEAP_TYPE_FLEXIBLE)
		       ? layouts_element(&inference->layouts, pointee)
		       : pointee;
}

// The claim that the tag of a pointer's target makes; LAYOUT_NONE: it has none, or names a struct of another size.
static struct layout_claim fit_tagged(const struct inference *inference, heap_type_id pointee,
				      const struct pointer *pointer)
{
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	heap_type_id type = layouts_strip(&inference->layouts, pointee);
	struct layout_claim claim;

	// Few types have a tag. For the others the target's address, a cache miss away, is not read.
	if (!layouts_is_start(pointer->interior) || !enum_tags_have(&inference->enum_tags, type))
		return none;
	type = enum_tags_read(inference, type, inference_address(inference, pointer->target));
	claim = inference_fit(inference, type, pointer->target);
	return claim.fit == LAYOUT_NONE &&
			       enum_tags_may_be_in_larger(inference, type, pointer->target)
		       ? (struct layout_claim){ LAYOUT_EXACT, type, 1 }
		       : claim;
}

// True for a large block that is said to be a struct of any size that ends in pointers: one that the program cuts up
// may begin with such a struct, and what lies behind would be taken for its pointers.
static bool is_doubtful(const struct inference *inference, const struct layout_claim *claim,
			heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_facts *facts = &layouts->facts[claim->type];

	return facts->is_flexible && inference_size(inference, object) >= DOUBTFUL_SIZE &&
	       layouts_is_pointer(layouts, layouts_strip(layouts, facts->element));
}

// True if many of those words are no addresses.
static bool contradicts(const struct inference *inference, const struct layout_claim *claim,
			heap_object_id object)
{
	uint64_t first = inference->layouts.facts[claim->type].start / WORD;
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	size_t foreign = 0;

	content_read(inference, object, words, &content);
	for (size_t i = first; i < content.count; i++)
		foreign += words[i] != 0 && !image_find(&inference->capture->image, words[i]);
	progress_steps((uint32_t)content.count);
	return foreign * FOREIGN > content.count;
}

// Makes a block a pool that begins with a struct.
HEAP_MUST_CHECK
static struct heap_error *begin_pool(struct inference *inference, heap_type_id type,
				     const struct pointer *pointer)
{
	HEAP_TRY(hints_add(inference, type, pointer, false));
	return pools_have(&inference->pools, pointer->target)
		       ? NULL
		       : pools_doubt(inference, pointer->target);
}

// True for a block that was taken for an array, until its parts showed that the array is but one of them.
static bool is_cut(const struct inference *inference, heap_object_id object)
{
	return pools_have(&inference->pools, object) && inference->claims.is_renamed[object];
}

// As a claim if it points to the start and the sizes agree, or as a hint.
struct heap_error *inference_apply_pointer(struct inference *inference, heap_type_id pointee,
					   const struct pointer *pointer)
{
	uint64_t size = inference_size(inference, pointer->target);
	struct layout_claim claim = fit_tagged(inference, pointee, pointer);

	if (lacks_table(inference, pointee, pointer))
		return NULL;
	if (claim.fit != LAYOUT_NONE)
		return claims_add(&inference->claims, RANK_TAG,
				  &(struct claim){ pointer->target, claim.type, claim.elements,
						   HEAP_EVIDENCE_TAG, pointer->is_sure });
	if (layouts_is_start(pointer->interior))
		claim = inference_fit(inference, pointee, pointer->target);
	else if (pointer->interior == COUNTED_START)
		claim = fit_counted(inference, pointee, pointer->target);
	if (claim.fit == LAYOUT_FLEXIBLE && pools_contain(inference, pointer->target, claim.type))
		claim.fit = LAYOUT_NONE;
	if (claim.fit == LAYOUT_FLEXIBLE)
		claim = derived_structs_choose(inference, pointer->target, &claim);
	if (claim.fit == LAYOUT_SLACK)
		return claims_add(&inference->claims, RANK_EMBEDDED,
				  &(struct claim){ pointer->target, claim.type, 1,
						   HEAP_EVIDENCE_EMBEDDING, false });
	if (claim.fit == LAYOUT_EXACT && claim.elements > 1 && is_cut(inference, pointer->target))
		claim.fit = LAYOUT_NONE;
	if (claim.fit == LAYOUT_FLEXIBLE && is_doubtful(inference, &claim, pointer->target) &&
	    contradicts(inference, &claim, pointer->target))
		return begin_pool(inference, claim.type, pointer);
	if (claim.fit == LAYOUT_EXACT &&
	    inference_is_ambiguous(inference, claim.type, pointer->target))
		claim.fit = LAYOUT_NONE;
	claim = derived_structs_wrap(inference, pointer->target, &claim);
	if (claim.fit == LAYOUT_NONE &&
	    smaller_targets_may_be(inference, pointee, pointer->interior, pointer->target))
		HEAP_TRY(smaller_targets_claim(inference, pointee, pointer));
	if (claim.fit == LAYOUT_NONE && larger_blocks_have(inference, pointee, pointer))
		return claims_add(&inference->claims, RANK_SLACK,
				  &(struct claim){ pointer->target,
						   layouts_strip(&inference->layouts, pointee), 1,
						   HEAP_EVIDENCE_POINTER, false });
	if (claim.fit == LAYOUT_NONE)
		return pointee == HEAP_NO_TYPE || !has_room(inference, pointee, pointer, size)
			       ? NULL
			       : hints_add(inference, row_element(inference, pointee), pointer,
					   false);
	return claims_add(&inference->claims, rank_of(claim.fit, pointer),
			  &(struct claim){ pointer->target, claim.type, claim.elements,
					   HEAP_EVIDENCE_POINTER, pointer->is_sure });
}

// Applies one slot of a union whose tag is known.
HEAP_MUST_CHECK
static struct heap_error *apply_meant(struct inference *inference,
				      const struct union_pointee *meant,
				      const struct pointer *pointer)
{
	struct layout_claim claim = { LAYOUT_ARRAY, meant->type, meant->elements };

	if (!layouts_is_start(pointer->interior) ||
	    !inference_has_length(inference, pointer->target, meant->type, meant->elements))
		claim = meant->is_array ? inference_fit_weakly(inference, meant->type,
							       pointer->interior, pointer->target)
					: (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	if (claim.fit != LAYOUT_ARRAY)
		return inference_apply_pointer(inference, meant->type, pointer);
	return claims_add(&inference->claims, rank_of(LAYOUT_FLEXIBLE, pointer),
			  &(struct claim){ pointer->target, claim.type, claim.elements,
					   HEAP_EVIDENCE_POINTER, pointer->is_sure });
}

// Narrows the slots at an offset of the pointer's holder down to those of the alternative that a std::variant holds.
static void narrow(const struct inference *inference, const struct pointer *pointer,
		   uint64_t offset, const struct heap_slot **slots, uint32_t *count)
{
	heap_type_id type = held_parts_alternative(inference->held, pointer->holder_type,
						   pointer->holder, &offset);
	const struct heap_slots *own =
		type == HEAP_NO_TYPE ? NULL : heap_slot_table_get(&inference->layouts.slots, type);
	uint32_t first, end;

	if (!own)
		return;
	end = heap_slots_at(own, offset, &first);
	if (end == first)
		return;
	*slots = own->list + first;
	*count = end - first;
}

// The type of a trait object, by the table that the word behind the pointer leads to.
HEAP_MUST_CHECK
static struct heap_error *find_trait_object(struct inference *inference, heap_type_id pointee,
					    uint64_t offset, const struct pointer *pointer,
					    heap_type_id *result)
{
	uint64_t words[2];

	*result = HEAP_NO_TYPE;
	if (!trait_objects_concern(inference->layouts.types, pointee) || pointer->holder == 0)
		return NULL;
	pages_read(inference->pages, pointer->holder + offset, words, sizeof(words));
	if (words[0] != inference_address(inference, pointer->target) + pointer->interior)
		return NULL;
	return trait_objects_find(&inference->trait_objects, inference->capture, words[1], result);
}

// Applies a slot with one pointee. A trait object is all of its block, whatever others begin as it does.
HEAP_MUST_CHECK
static struct heap_error *apply_one(struct inference *inference, heap_type_id pointee,
				    uint64_t offset, const struct pointer *pointer)
{
	heap_type_id object;
	struct layout_claim claim;

	HEAP_TRY(find_trait_object(inference, pointee, offset, pointer, &object));
	if (object == HEAP_NO_TYPE)
		return inference_apply_pointer(inference, pointee, pointer);
	claim = inference_fit(inference, object, pointer->target);
	if (!layouts_is_start(pointer->interior) || claim.fit != LAYOUT_EXACT ||
	    claim.elements != 1)
		return inference_apply_pointer(inference, object, pointer);
	return claims_add(&inference->claims, rank_of(claim.fit, pointer),
			  &(struct claim){ pointer->target, claim.type, 1, HEAP_EVIDENCE_POINTER,
					   pointer->is_sure });
}

// True if a pointer leads to a table of pointers that do not lead to what those of a type do: one tag may go with
// tables of several kinds.
static bool is_other_table(const struct inference *inference, heap_type_id type,
			   const struct pointer *pointer)
{
	return layouts_is_start(pointer->interior) &&
	       !pools_have(&inference->pools, pointer->target) &&
	       pointer_tables_lead_astray(inference, pointer->target, type);
}

// True for a block of which pointers cannot tell more. What is stored behind a header is not known by the header's tag.
static bool is_certain(const struct inference *inference, heap_object_id object)
{
	enum rank rank = inference->claims.rank[object];

	return rank < RANK_EXACT && (rank != RANK_TAG || !storage_headers_name(inference, object));
}

// Applies the slots at an offset of the pointer's holder.
HEAP_MUST_CHECK
static struct heap_error *apply_all(struct inference *inference, const struct heap_slot *slots,
				    uint32_t count, uint64_t offset, const struct pointer *pointer)
{
	uint32_t prefix = inference_prefix(inference, pointer->target);
	struct pointer behind = *pointer;

	if (is_certain(inference, pointer->target) || pointer->interior < prefix)
		return NULL;
	behind.interior -= prefix;
	if (count > 1)
		narrow(inference, pointer, offset, &slots, &count);
	if (count > 1 || slots->pointee == HEAP_NO_TYPE || slots->may_be_bytes) {
		struct union_pointee pointee;

		HEAP_TRY(union_tags_ask(inference, pointer, offset, &pointee));
		if (pointee.type != HEAP_NO_TYPE &&
		    !is_other_table(inference, pointee.type, &behind)) {
			behind.is_sure &= pointee.is_sure;
			return apply_meant(inference, &pointee, &behind);
		}
	}
	if (count == 1 && !slots->may_be_bytes)
		return apply_one(inference, slots->pointee, offset, &behind);
	return hint_at_all(inference, slots, count, &behind);
}

struct heap_error *inference_follow(struct inference *inference,
				    const struct heap_repetition *repetition, uint64_t offset,
				    const struct pointer *pointer, uint8_t *flags)
{
	uint32_t first, end;
	const struct heap_slots *slots = heap_repetition_slots_at(repetition, offset, &first, &end);

	if (!slots)
		return NULL;
	*flags |= HEAP_EDGE_TYPED;
	return apply_all(inference, slots->list + first, end - first, offset, pointer);
}

static struct pointer pointer_of(const struct inference *inference, const struct typed_edge *edge)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	return (struct pointer){
		.target = snapshot->edge_target[edge->edge],
		.interior = snapshot->edge_interior[edge->edge],
		.is_sure = names_is_sure(&inference->capture->names, edge->object),
	};
}

struct heap_error *inference_apply(struct inference *inference, const struct typed_edge *edge)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t offset = snapshot->edge_slot[edge->edge] * UINT64_C(8) -
			  inference_prefix(inference, edge->object);
	struct pointer pointer = pointer_of(inference, edge);

	if (edge->is_claim)
		return claims_add(&inference->claims, edge->rank,
				  &(struct claim){ pointer.target, edge->type, edge->elements,
						   HEAP_EVIDENCE_POINTER, pointer.is_sure });
	if (edge->is_hint) {
		if (is_certain(inference, pointer.target))
			return NULL;
		pointer.interior -= inference_prefix(inference, pointer.target);
		return hints_add(inference, edge->type, &pointer, false);
	}
	pointer.holder_type = inference_type(inference, edge->object);
	pointer.holder = inference_address(inference, edge->object);
	if (edge->count == 1 && flagged_pointers_concern(inference, edge->slots->pointee,
							 pointer.target, pointer.interior))
		return flagged_pointers_add(inference, edge->slots->pointee, &pointer);
	return apply_all(inference, edge->slots, edge->count, offset, &pointer);
}

void inference_foresee(const struct inference *inference, struct typed_edge *edge)
{
	const struct pointer pointer = pointer_of(inference, edge);
	enum rank rank = claims_rank(&inference->claims, pointer.target);
	uint32_t prefix = inference_prefix(inference, pointer.target);
	struct layout_claim claim;

	edge->is_futile = (rank < RANK_EXACT && rank != RANK_TAG) || pointer.interior < prefix;
	if (edge->is_futile || edge->count != 1 || edge->slots->pointee == HEAP_NO_TYPE ||
	    edge->slots->may_be_bytes ||
	    enum_tags_have(&inference->enum_tags,
			   layouts_strip(&inference->layouts, edge->slots->pointee)) ||
	    !layouts_is_start(pointer.interior - prefix) ||
	    trait_objects_concern(inference->layouts.types, edge->slots->pointee) ||
	    layouts_is_polymorphic(&inference->layouts, edge->slots->pointee) ||
	    flagged_pointers_concern(inference, edge->slots->pointee, pointer.target,
				     pointer.interior) ||
	    pools_have(&inference->pools, pointer.target))
		return;
	claim = inference_fit(inference, edge->slots->pointee, pointer.target);
	if (claim.fit == LAYOUT_FLEXIBLE &&
	    (is_doubtful(inference, &claim, pointer.target) ||
	     derived_structs_may_be(inference, pointer.target, &claim)))
		return;
	if (claim.fit == LAYOUT_NONE &&
	    (smaller_targets_may_be(inference, edge->slots->pointee, pointer.interior - prefix,
				    pointer.target) ||
	     larger_blocks_may_have(inference, edge->slots->pointee,
				    &(struct pointer){ .target = pointer.target,
						       .interior = pointer.interior - prefix })))
		return;
	edge->is_hint = claim.fit == LAYOUT_NONE ||
			(claim.fit == LAYOUT_EXACT &&
			 inference_is_ambiguous(inference, claim.type, pointer.target));
	if (edge->is_hint) {
		edge->type = row_element(inference, edge->slots->pointee);
		return;
	}
	claim = derived_structs_wrap(inference, pointer.target, &claim);
	edge->is_claim = true;
	edge->rank = (uint8_t)rank_of(claim.fit, &pointer);
	edge->type = claim.type;
	edge->elements = claim.elements;
	edge->is_futile = claims_are_futile(&inference->claims, edge->rank, pointer.target);
}

struct heap_error *inference_root_value(struct inference *inference, const struct heap_root *root,
					struct root_value *result)
{
	heap_root_id number = (heap_root_id)(root - inference->capture->snapshot.roots);

	*result = (struct root_value){ .type = HEAP_NO_TYPE };
	if (heap_bit_get(inference->unset, number))
		return NULL;
	result->type = layouts_element(&inference->layouts, root->type);
	if (result->type == HEAP_NO_TYPE)
		return NULL;
	result->held = held_parts_value(inference->held, root->type, root->address, HEAP_NO_OBJECT);
	return heap_repetitions_find(&inference->repetitions, result->type, &result->repetition);
}

uint64_t inference_chunk_slack(const struct inference *inference, heap_object_id object)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t size = inference_size(inference, object);

	if (size >= 2 && objects->flags[object] & ARENA_SLOT)
		return chunk_pages_slack(objects_size(objects, object));
	if (size < 2 || !(objects->flags[object] & ARENA_ROUNDED))
		return layouts_slack(&inference->layouts, size);
	return size <= ARENA_LEAST ? size - 1 : (size - 1) / 2;
}

bool inference_type_has(const struct inference *inference, heap_type_id type, heap_type_id part,
			uint64_t interior)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_facts *facts = &layouts->facts[type];
	uint64_t stride = facts->size;

	if (facts->is_flexible && interior >= facts->start) {
		type = layouts_strip(layouts, facts->element);
		stride = layouts_size(layouts, type);
		interior -= facts->start;
	}
	if (stride > 0)
		interior %= stride;
	return layouts_has(layouts, type, part, interior) ||
	       (interior == 0 && enum_tags_is_beginning(inference, part, type));
}

bool inference_leads_to(const struct inference *inference, heap_object_id object,
			heap_object_id other)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	for (uint32_t i = first; i < end && i < first + FIRST_EDGES; i++) {
		if (snapshot->edge_target[i] == other)
			return true;
	}
	return false;
}

bool inference_has(const struct inference *inference, heap_object_id object, heap_type_id part,
		   uint64_t interior)
{
	return inference_type_has(inference, inference_type(inference, object), part, interior);
}

bool inference_is_raw(const struct inference *inference, heap_object_id object, uint64_t interior)
{
	return inference_type(inference, object) == HEAP_NO_TYPE ||
	       layouts_is_raw(&inference->layouts, inference_type(inference, object), interior);
}

struct heap_error *inference_count_types(struct inference *inference, const uint32_t **result)
{
	const struct names *names = &inference->capture->names;
	const struct claims *claims = &inference->claims;
	struct type_counts *counts = &inference->type_counts;
	CLEANUP_FREE uint32_t *of_names = NULL;

	if (!counts->list || counts->types != inference->layouts.types->count ||
	    counts->applied != claims->applied || counts->changes != claims->changes) {
		free(counts->list);
		*counts = (struct type_counts){
			.list = calloc((size_t)inference->layouts.types->count + 1,
				       sizeof(*counts->list)),
			.types = inference->layouts.types->count,
			.applied = claims->applied,
			.changes = claims->changes,
		};
		if (!counts->list)
			return heap_error_out_of_memory();
		HEAP_TRY(names_count(names, inference->capture->objects.count, &of_names));
		for (uint32_t i = 0; i < names->count; i++)
			counts->list[names_get(names, i)->type] += of_names[i];
		progress_steps(inference->capture->objects.count);
	}
	*result = counts->list;
	return NULL;
}

void inference_unname(struct inference *inference, heap_object_id object)
{
	claims_withdraw(&inference->claims, object);
	inference->kinds.kinds[kinds_of(inference, object)].named = 0;
	names_take(&inference->capture->names, object);
}
