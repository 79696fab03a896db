// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/headed_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/holders.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	WORD = 8,
	MAX_GAP = 16, // bytes between the header and its array
	CHECKED = 64, // elements
};

// Two neighbouring pointers of a value into one block: to its start, and behind its header.
struct pair {
	heap_object_id target;
	uint64_t interior; // of the second one
	uint64_t address;  // of the first one
};

struct search {
	struct inference *inference;
	struct holders holders; // of types with such pointers
	uint64_t *words;        // [CONTENT_WORDS + 1]
	uint64_t *cut;
};

static void release(struct search *search)
{
	holders_deinit(&search->holders);
	free(search->words);
}

// --- blocks --------------------------------------------------------------------

// The only pointee of the slot at an offset; HEAP_NO_TYPE: there is none, or there are several.
static heap_type_id pointee_at(const struct heap_repetition *repetition, uint64_t offset)
{
	uint32_t first, end;
	const struct heap_slots *slots = heap_repetition_slots_at(repetition, offset, &first, &end);

	return slots && end - first == 1 ? slots->list[first].pointee : HEAP_NO_TYPE;
}

// True if a type may be a header that ends right before an offset.
static bool may_be_header(const struct layouts *layouts, heap_type_id type, uint64_t end)
{
	uint64_t size = layouts_size(layouts, type);

	return layouts_is_compound(layouts, type) && !layouts_is_flexible(layouts, type) &&
	       size > 0 && size <= end && end - size < MAX_GAP;
}

// Numbers lead nowhere, and are known as what lies behind a prefix.
static bool may_be_element(const struct layouts *layouts, heap_type_id type)
{
	return (layouts_is_compound(layouts, type) || layouts_is_pointer(layouts, type)) &&
	       !layouts_is_flexible(layouts, type) && layouts_size(layouts, type) > 0;
}

// True if nothing says more of a block than that it begins with the header.
static bool may_be_cut(const struct inference *inference, heap_object_id object,
		       heap_type_id header)
{
	heap_type_id type = inference_type(inference, object);

	return !pools_have(&inference->pools, object) && inference_prefix(inference, object) == 0 &&
	       !(inference->capture->objects.flags[object] & (ARENA_CHUNK | ARENA_UNUSED)) &&
	       claims_rank(&inference->claims, object) >= RANK_EXACT &&
	       !inference->claims.is_renamed[object] && (type == HEAP_NO_TYPE || type == header);
}

// True if no element of an array contradicts its type.
static bool agrees(const struct search *search, const struct heap_part *array)
{
	const struct inference *inference = search->inference;
	uint64_t stride = layouts_size(&inference->layouts, array->type);
	uint64_t count = array->elements < CHECKED ? array->elements : CHECKED;
	struct content content;

	for (uint64_t i = 0; i < count; i++) {
		progress_step();
		content_read_part(inference, array->object, array->offset + i * stride, stride,
				  search->words, &content);
		if (content_score(inference, &content, array->type, 1) < 0)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *cut(const struct search *search, const struct heap_part *header,
			      const struct heap_part *array)
{
	struct inference *inference = search->inference;

	if (inference_type(inference, array->object) != HEAP_NO_TYPE)
		HEAP_TRY(pools_doubt(inference, array->object));
	++*search->cut;
	HEAP_TRY(pools_add_array(inference, header));
	HEAP_TRY(pools_add_array(inference, array));
	HEAP_TRY(pools_follow(inference, header));
	return pools_follow(inference, array);
}

// Judges a block to which a value has two pointers.
//
// @param offset  of the first one in the value
HEAP_MUST_CHECK
static struct heap_error *judge(const struct search *search, const struct pair *pair,
				const struct heap_repetition *repetition, uint64_t offset)
{
	struct inference *inference = search->inference;
	const struct layouts *layouts = &inference->layouts;
	struct heap_part header = { .object = pair->target,
				    .type = layouts_strip(layouts, pointee_at(repetition, offset)),
				    .elements = 1,
				    .evidence = HEAP_EVIDENCE_POINTER };
	struct heap_part array = header;
	uint64_t count = 0, room = inference_size(inference, pair->target) - pair->interior;

	array.type = layouts_element(layouts, pointee_at(repetition, offset + WORD));
	array.offset = pair->interior;
	if (!may_be_element(layouts, array.type) ||
	    !may_be_header(layouts, header.type, array.offset) ||
	    pointee_at(repetition, offset + 2 * WORD) != HEAP_NO_TYPE ||
	    !may_be_cut(inference, pair->target, header.type))
		return NULL;
	pages_read(inference->pages, pair->address + 2 * WORD, &count, sizeof(count));
	if (count == 0 || count > room / layouts_size(layouts, array.type))
		return NULL;
	array.elements = count;
	return agrees(search, &array) ? cut(search, &header, &array) : NULL;
}

// --- holders ---------------------------------------------------------------------

// Visits the pointers of values of a type in an object.
HEAP_MUST_CHECK
static struct heap_error *visit_values(const struct search *search, heap_object_id holder,
				       heap_type_id type, uint64_t start, uint64_t end)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t address = objects_address(&inference->capture->objects, holder);
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	for (uint32_t i = heap_edge_from(snapshot, holder, start);
	     i + 1 < snapshot->edge_first[holder + 1]; i++) {
		uint64_t slot = snapshot->edge_slot[i] * UINT64_C(8);
		struct pair pair = { snapshot->edge_target[i], snapshot->edge_interior[i + 1],
				     address + slot };

		progress_step();
		if (slot + 2 * WORD >= end)
			break;
		if (snapshot->edge_interior[i] == 0 && pair.interior > 0 &&
		    snapshot->edge_target[i + 1] == pair.target &&
		    snapshot->edge_slot[i + 1] == snapshot->edge_slot[i] + 1 &&
		    heap_repetition_has_room(repetition, slot - start, end - start))
			HEAP_TRY(judge(search, &pair, repetition, slot - start));
	}
	return NULL;
}

// Visits the parts of blocks that are cut already.
HEAP_MUST_CHECK
static struct heap_error *visit_parts(const struct search *search)
{
	const struct inference *inference = search->inference;
	const struct pools *pools = &inference->pools;

	for (uint32_t i = 0; i < pools->count && !progress_is_late(); i++) {
		const struct heap_part part = pools->parts[i];
		uint64_t size = layouts_size(&inference->layouts, part.type);

		progress_step();
		if (search->holders.are_types[part.type])
			HEAP_TRY(visit_values(search, part.object, part.type, part.offset,
					      part.offset + part.elements * size));
	}
	return NULL;
}

// Local variables may not be set yet.
HEAP_MUST_CHECK
static struct heap_error *visit_roots(const struct search *search)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i + 1 < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		struct pair pair = { edge->target, edge[1].interior, root->address + edge->offset };
		struct root_value value;

		progress_step();
		if (root->kind == HEAP_ROOT_LOCAL || edge->interior != 0 || pair.interior == 0 ||
		    edge[1].root != edge->root || edge[1].target != edge->target ||
		    edge[1].offset != edge->offset + WORD)
			continue;
		HEAP_TRY(inference_root_value(inference, root, &value));
		if (value.type != HEAP_NO_TYPE && heap_repetition_has_slots(value.repetition))
			HEAP_TRY(judge(search, &pair, value.repetition, edge->offset));
	}
	return NULL;
}

// True if the pointer of a slot may lead to a header, and that of the next one to an array of something else behind it. Links
// to and fro, as most structs have, lead to one type.
static bool is_pair(const struct layouts *layouts, const struct heap_slot *slot)
{
	heap_type_id header = layouts_strip(layouts, slot[0].pointee);
	heap_type_id element = layouts_element(layouts, slot[1].pointee);

	return slot[1].offset == slot[0].offset + WORD && header != element &&
	       layouts_is_compound(layouts, header) && may_be_element(layouts, element);
}

// True if values of a type have such pointers, with a word behind them that is none.
static bool has_pair(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);
	uint64_t size = layouts_size(layouts, type);

	for (uint32_t i = 0; slots && i + 1 < slots->count; i++) {
		const struct heap_slot *slot = &slots->list[i];

		progress_step();
		if (slot->offset + 3 * WORD <= size && is_pair(layouts, slot) &&
		    (i + 2 == slots->count || slot[2].offset != slot->offset + 2 * WORD))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *note_types(struct search *search)
{
	const struct layouts *layouts = &search->inference->layouts;

	HEAP_TRY(holders_init(&search->holders, search->inference));
	for (heap_type_id type = 1; type < layouts->types->count; type++)
		search->holders.are_types[type] =
			layouts_is_compound(layouts, type) && has_pair(layouts, type);
	holders_begin(&search->holders);
	return NULL;
}

struct heap_error *headed_arrays_cut(struct inference *inference, uint64_t *cut)
{
	CLEANUP(release)
	struct search search = { .inference = inference,
				 .words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words)),
				 .cut = cut };
	const struct holders *holders = &search.holders;

	if (!search.words)
		return heap_error_out_of_memory();
	HEAP_TRY(note_types(&search));
	HEAP_TRY(visit_roots(&search));
	HEAP_TRY(visit_parts(&search));
	for (heap_object_id i = holders_next(holders, 0);
	     i < holders->objects && !progress_is_late(); i = holders_next(holders, i + 1)) {
		uint64_t prefix = inference_prefix(inference, i);

		HEAP_TRY(visit_values(&search, i, inference_type(inference, i), prefix,
				      prefix + inference_size(inference, i)));
	}
	return NULL;
}
