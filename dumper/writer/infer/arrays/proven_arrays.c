// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/proven_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/arrays/hinted_elements.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sampler.h"
#include "lib/base/cleanup.h"

enum {
	WORD = 8,
	LEAST_SIZE = 1024, // bytes of an array
	MIN_ELEMENTS = 16,
	MIN_POINTERS = 32, // at the places of the type's pointers
	MAX_TYPES = 64,    // that are tried for a block, each with all pointers in it
	REGIONS = 4,       // of the array, each of which must have some of these
	STRAY = 64, // of so many pointers, one may stand elsewhere, or have a target of another type
	CAST = 4,   // for each pointer, so many may be kept as numbers
	MAX_DEPTH = 8, // of a member
	LEAST_ADDRESS = 1 << 16,
	CHECKED =
		1
		<< 16, // pointers of an array whose targets are looked at, in memory's least handy order
};

// The pointers in a supposed array.
struct tally {
	uint64_t agreeing;
	uint64_t cast;      // where the type has a number in which an address has room
	uint64_t elsewhere; // where the type has no pointer
	uint64_t
		linked; // of the agreeing ones: they lead from an element to one of this or such a block
	uint64_t astray;  // likewise, but to a place between two elements
	uint64_t checked; // of the agreeing ones; all, unless they are too many
	uint64_t misled;  // of these: their targets are known to be of other types
	uint32_t regions; // a bit each
};

// True if an object is known to be a struct without that part.
static bool is_other(const struct inference *inference, heap_type_id pointee, heap_object_id target,
		     uint64_t interior)
{
	uint64_t prefix = inference_prefix(inference, target);

	if (!layouts_is_compound(&inference->layouts, pointee) ||
	    !claims_are_good(&inference->claims, target) || interior < prefix)
		return false;
	interior = layouts_is_start(interior - prefix) ? 0 : interior - prefix;
	return !inference_has(inference, target, pointee, interior) &&
	       !inference_is_raw(inference, target, interior);
}

// True if a type has a number as wide as an address at an offset of its values. Interpreters keep pointers in such.
static bool has_wide_number(const struct layouts *layouts, heap_type_id type, uint64_t offset)
{
	const struct heap_type *number;
	heap_type_id member = type;

	offset %= layouts_size(layouts, type);
	for (int depth = 0; depth < MAX_DEPTH && member != HEAP_NO_TYPE; depth++) {
		type = member;
		member = layouts_step_in(layouts, type, &offset);
	}
	number = &layouts->types->types[layouts_strip(layouts, type)];
	return offset == 0 && number->kind == HEAP_TYPE_BASE && number->size == WORD &&
	       !(number->flags & HEAP_TYPE_FLOAT);
}

// Notes where a pointer from an element to another one leads.
static void note_link(const struct inference *inference, heap_type_id type, heap_object_id object,
		      uint32_t edge, struct tally *tally)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct objects *objects = &inference->capture->objects;
	heap_object_id target = snapshot->edge_target[edge];
	uint64_t interior = snapshot->edge_interior[edge];
	uint64_t prefix = inference_prefix(inference, target);

	if (objects_kind(objects, target) != objects_kind(objects, object))
		return;
	if (interior >= prefix &&
	    (interior - prefix) % layouts_size(&inference->layouts, type) == 0)
		tally->linked++;
	else
		tally->astray++;
}

// Sorts the pointers in a block by how they agree with an array that begins there.
static struct tally count_pointers(const struct inference *inference, heap_type_id type,
				   const struct heap_repetition *repetition, heap_object_id object,
				   uint64_t size)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t prefix = inference_prefix(inference, object);
	bool is_rounded = inference->capture->objects.flags[object] & ARENA_ROUNDED;
	uint64_t sure = is_rounded ? size / 2 : size; // bytes that the program has asked for
	uint32_t edge = heap_edge_from(snapshot, object, prefix);
	uint32_t edges_end = snapshot->edge_first[object + 1];
	uint64_t edges = edges_end - edge;
	struct sampler sampler = sampler_of(edges / CHECKED + 1);
	heap_type_id own = layouts_strip(&inference->layouts, type);
	struct tally tally = { 0 };
	uint64_t noted = 0; // where the region of the last offset ends

	for (uint32_t i = edge; i < edges_end; i++) {
		uint64_t offset = snapshot->edge_slot[i] * (uint64_t)WORD - prefix;
		uint32_t first, end;
		const struct heap_slots *slots =
			heap_repetition_slots_at(repetition, offset, &first, &end);

		progress_step();
		if (!slots || first == end) {
			if (has_wide_number(&inference->layouts, type, offset))
				tally.cast++;
			else
				tally.elsewhere++;
			// The others cannot make up for so many, and need not be visited.
			if (tally.elsewhere * STRAY > edges)
				break;
			continue;
		}
		tally.agreeing++;
		if (offset >= noted && offset < sure) {
			uint64_t region = offset * REGIONS / sure;

			tally.regions |= UINT32_C(1) << region;
			noted = ((region + 1) * sure + REGIONS - 1) / REGIONS;
		}
		if (end - first == 1 &&
		    layouts_strip(&inference->layouts, slots->list[first].pointee) == own)
			note_link(inference, type, object, i, &tally);
		if (!sampler_takes(&sampler))
			continue;
		tally.checked++;
		tally.misled += end - first == 1 &&
				is_other(inference, slots->list[first].pointee,
					 snapshot->edge_target[i], snapshot->edge_interior[i]);
	}
	return tally;
}

// True if there are no more pointers where the type has none than chance puts there, or numbers hold the others, and elements
// lead to elements: what lies behind the header of a chunk has pointers at any place.
static bool are_at_home(const struct tally *tally)
{
	if (tally->cast * STRAY > tally->agreeing &&
	    (tally->linked < MIN_POINTERS || tally->astray * STRAY > tally->linked ||
	     tally->cast > tally->agreeing * CAST))
		return false;
	return tally->elsewhere * STRAY <= tally->agreeing;
}

static bool is_convincing(const struct tally *tally)
{
	return tally->agreeing >= MIN_POINTERS && tally->regions == (1u << REGIONS) - 1 &&
	       are_at_home(tally) && tally->misled * STRAY <= tally->checked;
}

// The words of a supposed array that are being looked at.
struct words {
	const struct heap_repetition *repetition;
	uint64_t address; // of the array
	uint64_t prefix;  // of the block before it
	uint32_t edge, edges_end;
};

// True if each word of a part that would be a pointer is null or an address. Edges are addresses, and need no reading.
static bool part_has_addresses(const struct inference *inference, struct words *words,
			       uint64_t offset, uint64_t end_offset)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (; offset + WORD <= end_offset; offset += WORD) {
		uint32_t first, end;
		uint64_t word;

		progress_step();
		if (words->edge < words->edges_end &&
		    snapshot->edge_slot[words->edge] * (uint64_t)WORD == words->prefix + offset) {
			words->edge++;
			continue;
		}
		if (!heap_repetition_slots_at(words->repetition, offset, &first, &end) ||
		    first == end)
			continue;
		pages_read(inference->pages, words->address + offset, &word, sizeof(word));
		if (word != 0 &&
		    (word < LEAST_ADDRESS || !image_find(&inference->capture->image, word)))
			return false;
	}
	return true;
}

// Does so for all of them. Memory that was never touched is null, and may be much more than there is.
static bool has_addresses(const struct inference *inference,
			  const struct heap_repetition *repetition, heap_object_id object,
			  uint64_t size)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t prefix = inference_prefix(inference, object), until;
	struct words words = { repetition, inference_address(inference, object), prefix,
			       heap_edge_from(snapshot, object, prefix),
			       snapshot->edge_first[object + 1] };
	uint64_t at = words.address, end = words.address + size;

	while ((at = image_skip_untouched(&inference->capture->image, at, end, &until)) < end) {
		if (!part_has_addresses(inference, &words, at - words.address,
					until - words.address))
			return false;
		at = until;
	}
	return true;
}

// Fits an array of a type to a block. @return false: it can be none
static bool fit_array(const struct inference *inference, heap_type_id type, heap_object_id object,
		      struct layout_claim *result)
{
	const struct layouts *layouts = &inference->layouts;

	*result = inference_fit_weakly(inference, type, 0, object);
	return (result->fit == LAYOUT_ARRAY || result->fit == LAYOUT_SLACK) &&
	       result->type == type && result->elements >= MIN_ELEMENTS &&
	       !layouts_is_flexible(layouts, type) && !layouts_is_link(layouts, type) &&
	       !enum_tags_refute_array(inference, type, inference_address(inference, object),
				       result->elements);
}

// The array of a hint's type that a block is, if it proves to be; else its fit is LAYOUT_NONE.
HEAP_MUST_CHECK
static struct heap_error *prove(struct inference *inference, const struct hint *hint,
				struct layout_claim *result)
{
	const struct heap_repetition *repetition;
	struct layout_claim claim;
	uint64_t size;
	struct tally tally;

	result->fit = LAYOUT_NONE;
	if (!fit_array(inference, hint->type, hint->object, &claim))
		return NULL;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, hint->type, &repetition));
	if (!heap_repetition_has_slots(repetition))
		return NULL;
	size = layouts_size(&inference->layouts, hint->type) * claim.elements;
	tally = count_pointers(inference, hint->type, repetition, hint->object, size);
	if (is_convincing(&tally) && has_addresses(inference, repetition, hint->object, size))
		*result = claim;
	return NULL;
}

// The same of a slab to whose elements pointers lead, perhaps to none of them first.
HEAP_MUST_CHECK
static struct heap_error *prove_slab(struct inference *inference,
				     const struct hinted_elements *elements, heap_object_id object,
				     struct layout_claim *result)
{
	heap_type_id type = hinted_elements_find(elements, object);
	const struct heap_repetition *repetition;
	struct layout_claim claim;
	struct tally tally;

	result->fit = LAYOUT_NONE;
	if (type == HEAP_NO_TYPE || !fit_array(inference, type, object, &claim))
		return NULL;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	tally = count_pointers(inference, type, repetition, object,
			       layouts_size(&inference->layouts, type) * claim.elements);
	if (are_at_home(&tally) && hinted_elements_agree(inference, object, type, claim.elements))
		*result = claim;
	return NULL;
}

// True if a block has a pointer where the first element of an array would have one.
HEAP_MUST_CHECK
static struct heap_error *begins_like(struct inference *inference, heap_type_id type,
				      heap_object_id object, bool *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t prefix = inference_prefix(inference, object);
	uint32_t edge = heap_edge_from(snapshot, object, prefix);
	const struct heap_repetition *repetition;
	uint32_t first, end;

	*result = false;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	for (; edge < snapshot->edge_first[object + 1] && !*result; edge++) {
		uint64_t offset = snapshot->edge_slot[edge] * (uint64_t)WORD - prefix;

		progress_step();
		if (offset >= repetition->stride)
			break;
		*result = heap_repetition_slots_at(repetition, offset, &first, &end);
	}
	return NULL;
}

// True if a hint tells of one of the elements behind the first one. Links of free blocks and local variables do not.
static bool is_of_element(const struct inference *inference, const struct hint *hint)
{
	uint64_t size = layouts_size(&inference->layouts, hint->type);

	return !hint->is_passing && !hint->either && size > 0 && hint->interior % size == 0 &&
	       layouts_is_compound(&inference->layouts, hint->type);
}

static bool is_tried(const heap_type_id *tried, uint32_t count, heap_type_id type)
{
	for (uint32_t i = 0; i < count; i++) {
		if (tried[i] == type)
			return true;
	}
	return false;
}

// Tries the types of which pointers lead to the block's start, or behind it.
//
// @param proofs  gets the number of those that it proves to be, up to 2; 2 as well if there are too many to try: which of
//                them come first differs between runs
HEAP_MUST_CHECK
static struct heap_error *prove_hinted(struct inference *inference, heap_object_id object,
				       bool is_at_start, struct layout_claim *result,
				       uint32_t *proofs)
{
	heap_type_id tried[MAX_TYPES];
	uint32_t count = 0;

	*proofs = 0;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		struct layout_claim claim;
		bool begins = true;

		progress_step();
		if (layouts_is_start(hint->interior) != is_at_start ||
		    is_tried(tried, count, hint->type) ||
		    !(is_at_start || is_of_element(inference, hint)))
			continue;
		if (count == MAX_TYPES) {
			*proofs = 2;
			break;
		}
		tried[count++] = hint->type;
		if (!is_at_start)
			HEAP_TRY(begins_like(inference, hint->type, object, &begins));
		claim.fit = LAYOUT_NONE;
		if (begins)
			HEAP_TRY(prove(inference, hint, &claim));
		if (claim.fit == LAYOUT_NONE)
			continue;
		*result = claim;
		if (++*proofs > 1)
			break;
	}
	return NULL;
}

// Claims a block for the only array that it proves to be.
HEAP_MUST_CHECK
static struct heap_error *claim_block(struct inference *inference,
				      const struct hinted_elements *elements, heap_object_id object,
				      uint64_t *claimed)
{
	struct layout_claim found;
	uint32_t proofs;

	HEAP_TRY(prove_hinted(inference, object, true, &found, &proofs));
	if (proofs == 0) {
		HEAP_TRY(prove_slab(inference, elements, object, &found));
		proofs = found.fit != LAYOUT_NONE;
	}
	if (proofs == 0)
		HEAP_TRY(prove_hinted(inference, object, false, &found, &proofs));
	if (proofs != 1)
		return NULL;
	++*claimed;
	return claims_add(&inference->claims, RANK_PASSED_FLEXIBLE,
			  &(struct claim){ object, found.type, found.elements,
					   HEAP_EVIDENCE_POINTER, false });
}

// The next block from one on that pointers lead to, and that may be an array.
static heap_object_id next_block(const struct inference *inference, heap_object_id object)
{
	const heap_object_id count = inference->capture->objects.count;

	for (; object < count && !progress_is_late(); object++) {
		progress_step();
		object = inference_next_hinted(inference, object, count);
		if (object < count && claims_lack(&inference->claims, object) &&
		    inference_size(inference, object) >= LEAST_SIZE)
			return object;
	}
	return count;
}

struct heap_error *proven_arrays_claim(struct inference *inference, uint64_t *claimed)
{
	const heap_object_id count = inference->capture->objects.count;
	CLEANUP(hinted_elements_deinit) struct hinted_elements elements = { 0 };

	for (heap_object_id i = next_block(inference, 0); i < count;
	     i = next_block(inference, i + 1))
		HEAP_TRY(hinted_elements_note(&elements, inference, i));
	for (heap_object_id i = next_block(inference, 0); i < count;
	     i = next_block(inference, i + 1))
		HEAP_TRY(claim_block(inference, &elements, i, claimed));
	return NULL;
}
