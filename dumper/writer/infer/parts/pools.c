// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Pools: blocks that the program divides itself, such as slabs, obstacks and arenas.
 *
 * Such a block has no type, but typed slots point to places in it: each is a part, of the slot's
 * pointee type. Parts have slots of their own, which lead to other blocks, and to other
 * parts of the same one, so that a list whose nodes all lie in one pool is found from its head.
 */
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sizes/larger_targets.h"
#include "dumper/writer/infer/parts/pool_arrays.h"
#include "dumper/writer/infer/sizes/rounded_sizes.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MIN_OF_ITSELF = 4,  // stale pointers may lead to some
	LEAST_STRIDE = 16,  // bytes: of smaller elements a whole number fits too often
	FEW_HINTS = 64,     // on a block: to find where a part ends
	LEAST_ELEMENTS = 4, // likewise: two links behind a word are most of a small struct
};

HEAP_MUST_CHECK
static struct heap_error *note_changed(struct pools *pools, uint32_t part)
{
	HEAP_TRY(heap_reserve(pools->changed, pools->changed_capacity,
			      (size_t)pools->changed_count + 1));
	pools->changed[pools->changed_count++] = part;
	return NULL;
}

struct heap_error *pools_follow(struct inference *inference, const struct heap_part *part)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t size = heap_types_size(inference->layouts.types, part->type);
	uint64_t address =
		objects_address(&inference->capture->objects, part->object) + part->offset;
	uint64_t end = part->offset + size * part->elements;
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, part->type, &repetition));
	for (uint32_t i = heap_edge_from(snapshot, part->object, part->offset);
	     i < snapshot->edge_first[part->object + 1]; i++) {
		uint64_t slot = (uint64_t)snapshot->edge_slot[i] * 8;
		uint64_t offset = slot - part->offset;

		progress_step();
		if (slot >= end)
			break;
		HEAP_TRY(inference_follow(inference, repetition, offset,
					  &(struct pointer){
						  .target = snapshot->edge_target[i],
						  .interior = snapshot->edge_interior[i],
						  .holder_type = part->type,
						  .holder = address + offset / size * size,
					  },
					  &snapshot->edge_flags[i]));
	}
	return NULL;
}

static uint32_t find_part(const struct pools *pools, uint64_t hash, heap_object_id object,
			  uint64_t offset)
{
	return heap_hash_find(&pools->by_place, hash, i,
			      pools->parts[i].object == object && pools->parts[i].offset == offset);
}

heap_type_id pools_type_at(const struct pools *pools, heap_object_id object, uint64_t offset)
{
	uint32_t found = find_part(pools, heap_hash_pair(object, offset), object, offset);

	return found == HEAP_HASH_NONE ? HEAP_NO_TYPE : pools->parts[found].type;
}

// True if what lies at a place of an object may be a value of a type.
static bool may_be_at(const struct inference *inference, heap_object_id object, uint64_t offset,
		      heap_type_id type)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	return content_read_value(inference, object, offset, type, words, &content) &&
	       content_score(inference, &content, type, 1) >= 0 &&
	       !content_contradicts(inference, &content, type);
}

// The type of the part that a hint names: that which the enum tag there tells, if there is room for it. Memory that is
// something else may look like a tag, zeros above all.
static heap_type_id tagged_type(const struct inference *inference, const struct hint *hint,
				uint64_t offset)
{
	const struct objects *objects = &inference->capture->objects;
	heap_type_id type =
		enum_tags_read(inference, layouts_strip(&inference->layouts, hint->type),
			       objects_address(objects, hint->object) + offset);

	return type != HEAP_NO_TYPE && !layouts_is_flexible(&inference->layouts, type) &&
			       may_be_at(inference, hint->object, offset, type)
		       ? type
		       : hint->type;
}

// True if a hint on a pool tells of a part of it. Pointers alone make no pool.
static bool is_part(const struct inference *inference, const struct hint *hint)
{
	return pool_hints_is_part(inference, hint) || pool_arrays_begin(inference, hint);
}

// Appends a part of which none was known at its place.
HEAP_MUST_CHECK
static struct heap_error *append_part(struct inference *inference, uint64_t hash,
				      const struct heap_part *part)
{
	struct pools *pools = &inference->pools;

	HEAP_TRY(heap_reserve(pools->parts, pools->capacity, (size_t)pools->count + 1));
	HEAP_TRY(
		heap_array_append(&pools->first_edges, heap_edge_from(&inference->capture->snapshot,
								      part->object, part->offset)));
	HEAP_TRY(heap_hash_add(&pools->by_place, hash, pools->count));
	pools->parts[pools->count++] = *part;
	return NULL;
}

// Notes the part that a hint names. Its slots are followed once all hints of the same level have
// been applied, since their order differs between runs.
HEAP_MUST_CHECK
static struct heap_error *add_part(struct inference *inference, const struct hint *hint)
{
	struct pools *pools = &inference->pools;
	uint64_t offset = hint->interior & ~UINT32_C(7);
	heap_type_id type = tagged_type(inference, hint, offset);
	struct heap_part part = { hint->object, offset, type, 1, HEAP_EVIDENCE_NONE };
	uint64_t size = layouts_size(&inference->layouts, type);

	if (size > objects_size(&inference->capture->objects, hint->object) - offset)
		return NULL;

	uint64_t hash = heap_hash_pair(hint->object, offset);
	uint32_t found = find_part(pools, hash, hint->object, offset);

	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(append_part(inference, hash, &part));
		return note_changed(pools, pools->count - 1);
	}

	struct heap_part *known = &pools->parts[found];
	bool is_changed = known->evidence == HEAP_EVIDENCE_NONE; // in this level, already

	// A pointer there may be the first member of a struct, which says more. A union that only delays a
	// constructor says no more than what it constructs.
	if (part.type == known->type ||
	    layouts_whole_member(&inference->layouts, part.type) == known->type ||
	    pool_arrays_is(inference, &part) ||
	    !(pool_arrays_is(inference, known) ||
	      claims_prefer(&inference->layouts, part.type, known->type)))
		return NULL;
	// A part that has been followed gives way only to one that has it as its first part.
	if (!is_changed && !layouts_says_more(&inference->layouts, part.type, known->type))
		return NULL;
	*known = part;
	return is_changed ? NULL : note_changed(pools, found);
}

// True if no hint says that there is a struct at another place of a part's block.
static bool is_alone(const struct inference *inference, const struct heap_part *part)
{
	for (uint32_t at = hints_first(&inference->hints, part->object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (pool_hints_is_part(inference, hint) &&
		    (hint->interior & ~UINT32_C(7)) != part->offset)
			return false;
	}
	return true;
}

// True if what lies behind a part reads like more of its type.
static bool reads_like(const struct inference *inference, const struct heap_part *part,
		       uint64_t stride, uint64_t more)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read_part(inference, part->object, part->offset + stride, stride * more, words,
			  &content);
	return content_score(inference, &content,
			     layouts_whole_member(&inference->layouts, part->type), more) > 0;
}

// Where the next part behind one begins, of a block with few hints; else the block's end.
static uint64_t next_place(const struct inference *inference, const struct heap_part *part)
{
	uint64_t end = objects_size(&inference->capture->objects, part->object), next = end;
	uint32_t seen = 0;

	for (uint32_t at = hints_first(&inference->hints, part->object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (++seen > FEW_HINTS)
			return end;
		if (hint->interior > part->offset && hint->interior < next &&
		    is_part(inference, hint))
			next = hint->interior;
	}
	return next;
}

// Extends the only part of a block to an array up to its end: hash tables have their slots behind a byte for each.
static void extend(const struct inference *inference, struct heap_part *part)
{
	uint64_t stride = layouts_size(&inference->layouts, part->type);
	uint64_t room = objects_size(&inference->capture->objects, part->object) - part->offset;
	uint64_t elements = stride > 0 ? room / stride : 0;

	if (pool_arrays_is(inference, part)) {
		part->elements = pool_arrays_measure(inference, part, next_place(inference, part));
		return;
	}
	if (part->offset > 0 && elements >= LEAST_ELEMENTS && stride >= LEAST_STRIDE &&
	    heap_block_may_hold(inference->layouts.block_sizes, part->offset + room,
				part->offset + elements * stride) &&
	    inference->claims.rank[part->object] == RANK_NONE &&
	    !(inference->capture->objects.flags[part->object] & ARENA_CHUNK) &&
	    !free_lists_have(&inference->free_lists, part->type) &&
	    !layouts_is_flexible(&inference->layouts, part->type) && is_alone(inference, part) &&
	    reads_like(inference, part, stride, elements - 1))
		part->elements = elements;
}

// Follows the parts that are new or have a new type.
HEAP_MUST_CHECK
static struct heap_error *follow_changed(struct inference *inference, uint64_t *cut)
{
	struct pools *pools = &inference->pools;

	for (uint32_t i = 0; i < pools->changed_count; i++) {
		struct heap_part *part = &pools->parts[pools->changed[i]];

		part->evidence = HEAP_EVIDENCE_POINTER;
		extend(inference, part);
		// Chunks of one size have nothing else in common. Nor have blocks that begin with a struct.
		if (inference->claims.rank[part->object] == RANK_NONE && part->offset > 0 &&
		    !(inference->capture->objects.flags[part->object] & ARENA_CHUNK))
			pools->is_pool_kind[objects_kind(&inference->capture->objects,
							 part->object)] = true;
		HEAP_TRY(pools_follow(inference, part));
	}
	*cut += pools->changed_count;
	pools->changed_count = 0;
	return NULL;
}

// The requirements for a block to be a pool.
enum need {
	NEED_SEVERAL, // parts at different places
	NEED_BEHIND,  // one, but behind the start
	NEED_ONE,     // one: blocks of its kind are pools
};

// True if the hints on a block meet the requirements.
static bool meets(const struct inference *inference, const struct pool_summary *summary,
		  enum need need)
{
	if (summary->place == UINT32_MAX)
		return false;
	// For a struct that ends in bytes, one part there is enough.
	if (need == NEED_ONE || inference->claims.rank[summary->object] != RANK_NONE)
		return true;
	return need == NEED_BEHIND ? summary->is_behind : summary->has_several;
}

// Applies all hints on a new pool.
HEAP_MUST_CHECK
static struct heap_error *cut_pool(struct inference *inference, heap_object_id object)
{
	if (inference->claims.rank[object] == RANK_NONE)
		HEAP_TRY(names_set(&inference->capture->names, object, HEAP_NO_TYPE, 0,
				   HEAP_EVIDENCE_POOL));
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		progress_step();
		if (is_part(inference, &inference->hints.list[at]))
			HEAP_TRY(add_part(inference, &inference->hints.list[at]));
	}
	return NULL;
}

// --- structures that would contain themselves -------------------------------------------------

// True if a place in the flexible array of a block's type is such a struct itself.
static bool contains_itself(const struct inference *inference, heap_object_id object,
			    heap_type_id type)
{
	const struct layout_facts *facts = &inference->layouts.facts[type];

	if (!facts->is_flexible)
		return false;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->type == type && !hint->either && hint->interior >= facts->start)
			return true;
	}
	return false;
}

bool pools_contain(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	return pools_have(&inference->pools, object) && contains_itself(inference, object, type);
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct inference *inference)
{
	const struct objects *objects = &inference->capture->objects;
	struct pools *pools = &inference->pools;

	if (!pools->is_pool)
		pools->is_pool = calloc((size_t)objects->count + 1, sizeof(*pools->is_pool));
	if (!pools->is_pool_kind)
		pools->is_pool_kind =
			calloc((size_t)objects->kinds.count + 1, sizeof(*pools->is_pool_kind));
	return pools->is_pool && pools->is_pool_kind ? NULL : heap_error_out_of_memory();
}

struct heap_error *pools_doubt(struct inference *inference, heap_object_id object)
{
	HEAP_TRY(prepare(inference));
	inference_unname(inference, object);
	inference->pools.is_pool[object] = true;
	return cut_pool(inference, object);
}

// Takes the name from a page of structs with flexible arrays: each of them may be as large as the page.
HEAP_MUST_CHECK
static struct heap_error *doubt_flexible(struct inference *inference,
					 const struct pool_summary *summary)
{
	heap_object_id object = summary->object;
	heap_type_id type = inference_type(inference, object);
	uint32_t kind = objects_kind(&inference->capture->objects, object);

	if (inference->claims.name_rank[object] < RANK_EXACT ||
	    inference->claims.is_renamed[object] ||
	    summary->of_itself < (inference->pools.is_pool_kind[kind] ? 1 : MIN_OF_ITSELF))
		return NULL;
	inference_unname(inference, object);
	inference->pools.is_pool[object] = true;
	HEAP_TRY(hints_add(inference, type, &(struct pointer){ .target = object }, false));
	return cut_pool(inference, object);
}

// --- cutting ------------------------------------------------------------------------------------

// The struct whose variable gets the site's blocks, if it is smaller than the block.
static heap_type_id find_result(const struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;
	const struct site_types *site_types =
		&inference->kinds.site_types[capture->maker_of_kind[objects_kind(&capture->objects,
										 object)]];

	for (uint32_t i = 0; i < site_types->count; i++) {
		heap_type_id type = site_types->list[i].type;

		progress_step();

		if (site_types->list[i].is_result &&
		    layouts_is_compound(&inference->layouts, type) &&
		    heap_types_size(inference->layouts.types, type) <
			    objects_size(&capture->objects, object))
			return type;
	}
	return HEAP_NO_TYPE;
}

// Adds that struct as a part at the block's start, like a slot, and what earlier slots lead to.
HEAP_MUST_CHECK
static struct heap_error *begin_with_results(struct inference *inference)
{
	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	for (heap_object_id i = claims_next(claims, RANK_NONE, 0, count); i < count;
	     i = claims_next(claims, RANK_NONE, i + 1, count)) {
		heap_type_id type =
			!inference->pools.is_pool[i] && inference_prefix(inference, i) == 0
				? find_result(inference, i)
				: HEAP_NO_TYPE;

		if (type == HEAP_NO_TYPE || !rounded_sizes_allow(inference, i, type))
			continue;
		inference->pools.is_pool[i] = true;
		HEAP_TRY(hints_add(inference, type, &(struct pointer){ .target = i }, false));
		HEAP_TRY(cut_pool(inference, i));
	}
	return NULL;
}

// The offset of the first part of a block; 0 if there is none.
static uint64_t first_place(const struct inference *inference, heap_object_id object)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (pool_hints_is_part(inference, hint) && hint->interior < first)
			first = hint->interior;
	}
	return first == UINT64_MAX ? 0 : first;
}

// Adds the struct that precedes the first part of a pool.
HEAP_MUST_CHECK
static struct heap_error *hint_header(struct inference *inference, heap_object_id object)
{
	uint64_t place = first_place(inference, object);
	heap_type_id header = HEAP_NO_TYPE;

	if (place > 0)
		HEAP_TRY(block_prefixes_header(inference, object, place, &header));
	if (header == HEAP_NO_TYPE)
		return NULL;
	return hints_add(inference, header, &(struct pointer){ .target = object }, false);
}

// False if a block is of a type that leaves no room for parts.
static bool may_be_pool(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id type = inference_type(inference, object);

	return type == HEAP_NO_TYPE || layouts_is_flexible(layouts, type) ||
	       layouts_has_raw(layouts, type);
}

HEAP_MUST_CHECK
static struct heap_error *cut_if_pool(struct inference *inference, heap_object_id object,
				      bool at_the_end)
{
	struct pools *pools = &inference->pools;
	enum need need = at_the_end ? NEED_BEHIND : NEED_SEVERAL;
	struct pool_summary summary;

	if (pools->is_pool_kind[objects_kind(&inference->capture->objects, object)])
		need = NEED_ONE;

	// A claim may have named a pool since, as it began with a struct of any size.
	if (pools->is_pool[object] && inference_type(inference, object) == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(pool_hints_summarize(inference, &pools->summaries, object, &summary));
	HEAP_TRY(doubt_flexible(inference, &summary));
	// Weighing its hints will name an array.
	if (pools->is_pool[object] ||
	    !(meets(inference, &summary, need) ||
	      (at_the_end && larger_targets_beginning(inference, object) != HEAP_NO_TYPE)) ||
	    (!at_the_end && pool_summary_is_array(inference, &summary)) ||
	    rounded_sizes_has(inference, object))
		return NULL;
	pools->is_pool[object] = true;
	HEAP_TRY(block_prefixes_clear(inference, object));
	HEAP_TRY(hint_header(inference, object));
	return cut_pool(inference, object);
}

struct heap_error *pools_cut(struct inference *inference, bool at_the_end, uint64_t *cut)
{
	struct pools *pools = &inference->pools;
	uint32_t objects = inference->capture->objects.count;
	bool is_next = false; // all that was hinted before has been read

	HEAP_TRY(prepare(inference));
	pool_summaries_clear(&pools->summaries);
	if (at_the_end)
		HEAP_TRY(begin_with_results(inference));
	for (heap_object_id i = hints_next(&inference->hints, 0, objects);
	     i < objects && !progress_is_late();
	     i = hints_next(&inference->hints, i + 1, objects)) {
		progress_step();
		if (may_be_pool(inference, i))
			HEAP_TRY(cut_if_pool(inference, i, at_the_end));
	}
	// Parts lead to parts, and to more pools: what has been hinted since is read in turn,
	// level by level.
	while (!progress_is_late() &&
	       (pools->changed_count > 0 || pools->hints_seen < inference->hints.count)) {
		uint32_t first = pools->hints_seen, end = inference->hints.count;

		for (; pools->hints_seen < end; pools->hints_seen++) {
			const struct hint *hint = &inference->hints.list[pools->hints_seen];

			progress_step();
			if (pools->is_pool[hint->object] && is_part(inference, hint))
				HEAP_TRY(add_part(inference, hint));
		}
		for (uint32_t i = first; is_next && i < end; i++)
			HEAP_TRY(cut_if_pool(inference, inference->hints.list[i].object,
					     at_the_end));
		is_next = true;
		HEAP_TRY(follow_changed(inference, cut));
	}
	return NULL;
}

// --- arrays -------------------------------------------------------------------

// Nothing weaker names the block: that the code handles bytes, for one.
struct heap_error *pools_add_array(struct inference *inference, const struct heap_part *array)
{
	struct pools *pools = &inference->pools;
	struct claims *claims = &inference->claims;
	uint64_t hash = heap_hash_pair(array->object, array->offset);

	HEAP_TRY(prepare(inference));
	HEAP_TRY(append_part(inference, hash, array));
	pools->is_pool[array->object] = true;
	claims->rank[array->object] = claims->name_rank[array->object] = RANK_EMBEDDED;
	claims->changes++;
	return names_set(&inference->capture->names, array->object, HEAP_NO_TYPE, 0,
			 HEAP_EVIDENCE_POOL);
}

// --- the end -----------------------------------------------------------------

static int compare_parts(const void *left, const void *right)
{
	const struct heap_part *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

// True if a part is the beginning of a block that may be a larger struct by its size.
static bool may_be_larger(const struct inference *inference, const struct heap_part *part)
{
	return find_result(inference, part->object) != part->type &&
	       layouts_is_begun_by(&inference->layouts, part->type,
				   inference_size(inference, part->object),
				   inference_slack(inference, part->object));
}

// Names a block whose only part fills it, but for what the program has rounded up.
//
// @param is_named  false if it is a pool
HEAP_MUST_CHECK
static struct heap_error *name_by_part(const struct inference *inference,
				       const struct heap_part *part, bool *is_named)
{
	heap_object_id object = part->object;

	*is_named = part->offset == 0 && inference_type(inference, object) == HEAP_NO_TYPE &&
		    rounded_sizes_fit(inference, object, part->type) &&
		    !may_be_larger(inference, part);
	if (!*is_named)
		return NULL;
	return names_set(&inference->capture->names, object, part->type, 1,
			 find_result(inference, object) == part->type ? HEAP_EVIDENCE_SITE
								      : HEAP_EVIDENCE_POINTER);
}

// Names those blocks, and drops their parts. @param kept  gets the number of parts that are left
HEAP_MUST_CHECK
static struct heap_error *name_rounded(const struct inference *inference, struct heap_part *parts,
				       uint32_t count, uint32_t *kept)
{
	*kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_alone = (i == 0 || parts[i - 1].object != parts[i].object) &&
				(i + 1 == count || parts[i + 1].object != parts[i].object);
		bool is_named = false;

		progress_step();
		if (is_alone)
			HEAP_TRY(name_by_part(inference, &parts[i], &is_named));
		if (!is_named)
			parts[(*kept)++] = parts[i];
	}
	return NULL;
}

// An array of pointers ends where the next part begins.
static void measure_array(const struct inference *inference, struct heap_part *array,
			  const struct heap_part *next, const struct heap_part *end)
{
	uint64_t limit = objects_size(&inference->capture->objects, array->object);

	if (next < end && next->object == array->object && next->offset < limit)
		limit = next->offset;
	if (array->elements > 1 && array->offset + array->elements * 8 > limit)
		array->elements = limit > array->offset + 8 ? (limit - array->offset) / 8 : 1;
}

struct heap_error *pools_finish(struct inference *inference)
{
	struct pools *pools = &inference->pools;
	struct capture *capture = inference->capture;
	const struct heap_part *last = NULL;
	uint32_t count = 0;

	if (pools->count > 0)
		qsort(pools->parts, pools->count, sizeof(*pools->parts), compare_parts);
	for (uint32_t i = 0; i < pools->count; i++) {
		const struct heap_part *part = &pools->parts[i];

		// A better claim may have come since. Parts inside other parts are dropped.
		if (!pool_hints_is_free(inference, part->object, part->offset, part->type) ||
		    (last && last->object == part->object &&
		     part->offset - last->offset <
			     last->elements *
				     heap_types_size(inference->layouts.types, last->type)))
			continue;
		pools->parts[count] = *part;
		if (pool_arrays_is(inference, part))
			measure_array(inference, &pools->parts[count], part + 1,
				      pools->parts + pools->count);
		last = &pools->parts[count++];
	}
	HEAP_TRY(name_rounded(inference, pools->parts, count, &capture->snapshot.part_count));
	capture->snapshot.parts = pools->parts;
	pools->parts = NULL;
	return NULL;
}

void pools_deinit(struct pools *pools)
{
	free(pools->is_pool);
	free(pools->changed);
	free(pools->is_pool_kind);
	free(pools->parts);
	heap_array_deinit(&pools->first_edges);
	heap_hash_table_deinit(&pools->by_place);
	pool_summaries_clear(&pools->summaries);
}
