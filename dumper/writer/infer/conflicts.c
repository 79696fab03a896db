// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Conflicts: typed slots that contradict the names of their targets.
 *
 * A stale pointer, a union's other member, a void * that was cast: each may have named a block
 * first. Once all names are set, all slots are applied again, each for or against the name.
 * The remaining conflicts are stored in the snapshot.
 *
 * Threads weigh the slots, piece by piece, and one at a time notes their evidence.
 */
#include "dumper/writer/infer/conflicts.h"

#include "lib/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/stale_vtables.h"
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/prefetch.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	PREFETCH_DISTANCE = 12, // edges
	MAX_BASES = 4,          // of a type, one in the other
	PIECE = 32 << 10,       // edges
};

struct weights {
	uint32_t *support;       // [objects] slots that agree; NULL: this pass finds conflicts
	uint32_t *votes_against; // [objects] slots that agree with conflict_type, if that fits
	uint8_t *contested;      // [objects / 8 + 1] bits.h: conflict_type fits
	bool has_contested;
	uint64_t *words; /**< [CONTENT_WORDS] */
};

// A slot that speaks against the type of its target.
struct conflict {
	heap_object_id target;
	heap_type_id type; // that it speaks for
	bool fits;
	bool is_only; // the only slot at its place
};

// Edges of an object.
struct edges {
	heap_object_id object;
	uint32_t first, end;
};

// The evidence of the slots of a piece.
struct part {
	struct HEAP_ARRAY(struct conflict) conflicts;
	struct HEAP_ARRAY(heap_object_id) supported; // once per slot
	struct HEAP_ARRAY(struct edges) later; // whose objects' contents tell which of them count
};

struct weighing {
	struct inference *inference;
	struct weights *weights;
};

// True if an object has but a weak name, as an array of structs.
static bool is_weak_array(const struct inference *inference, heap_object_id object)
{
	return inference->claims.name_rank[object] >= RANK_ARRAY &&
	       inference->claims.name_rank[object] < RANK_NONE &&
	       layouts_is_compound(&inference->layouts, inference_type(inference, object));
}

// Keeps the preferred one of the conflicting types that fit, whatever their order.
static void note_conflict_type(struct inference *inference, struct weights *weights,
			       heap_object_id target, heap_type_id type, bool fits)
{
	heap_type_id *conflict_type = &inference->capture->snapshot.conflict_type[target];
	uint32_t *votes = &weights->votes_against[target];

	if (!fits && *votes > 0)
		return;
	if (*conflict_type == HEAP_NO_TYPE || (fits && *votes == 0) ||
	    (*conflict_type != type && claims_prefer(&inference->layouts, type, *conflict_type))) {
		*conflict_type = type;
		*votes = 0;
	}
	*votes += fits && *conflict_type == type;
	if (*votes == 0)
		return;
	heap_bit_set(weights->contested, target);
	weights->has_contested = true;
}

static void note_conflict(struct inference *inference, struct weights *weights,
			  const struct conflict *conflict)
{
	inference->capture->snapshot.conflicts[conflict->target]++;
	inference->has_conflicts = true;
	if (is_weak_array(inference, conflict->target)) {
		heap_bit_set(weights->contested, conflict->target);
		weights->has_contested = true;
	}
	if (conflict->is_only)
		note_conflict_type(inference, weights, conflict->target, conflict->type,
				   conflict->fits);
}

// True for a node of the standard library's list, which begins with the link for which its neighbours take it. The
// list itself begins with such a link, too, and may be a block of its own.
static bool is_list_node(const struct heap_types *types, heap_type_id id)
{
	static const char *const names[] = { "std::_List_node<", "std::__1::__list_node<" };
	const char *name = heap_types_string(types, types->types[id].name);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

// True if a block has, at a place inside it, what a type begins with: its base, or the link with which its list ends.
// A container's pointers to nodes lead to that, too.
static bool has_beginning(const struct inference *inference, heap_object_id target,
			  heap_type_id pointee, uint64_t interior)
{
	const struct heap_types *types = inference->layouts.types;

	if (interior == 0 && !is_list_node(types, pointee))
		return false;
	for (int depth = 0; depth < MAX_BASES; depth++) {
		const struct heap_type *type = &types->types[pointee];

		if (!layouts_is_compound(&inference->layouts, pointee) ||
		    type->kind == HEAP_TYPE_UNION || type->members == 0 ||
		    types->members[type->first_member].offset != 0)
			return false;
		pointee =
			layouts_strip(&inference->layouts, types->members[type->first_member].type);
		if (layouts_is_compound(&inference->layouts, pointee) &&
		    inference_has(inference, target, pointee, interior))
			return true;
	}
	return false;
}

// The only type among those of a union's slots that explains a stale vtable pointer in their target.
static heap_type_id find_stale(const struct inference *inference, const struct heap_slot *slots,
			       uint32_t count, heap_object_id target)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < count; i++) {
		if (!stale_vtables_explain(inference, target, slots[i].pointee))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = slots[i].pointee;
	}
	return found;
}

/*
 * Weighs the evidence of the slots at one place for the type of their target. Nearly all agree with
 * it, which does not matter where no conflicting type fits. So a first pass finds conflicts, and a second
 * one support for the names in conflict.
 */
HEAP_MUST_CHECK
static struct heap_error *weigh(const struct inference *inference, bool finds_support,
				const struct heap_slot *slots, uint32_t count,
				heap_object_id target, uint64_t interior, struct part *part)
{
	const struct capture *capture = inference->capture;
	const struct layouts *layouts = &inference->layouts;
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	heap_type_id against = HEAP_NO_TYPE;

	// UINT32_MAX: so far into the target, or farther.
	if (interior < inference_prefix(inference, target) || interior == UINT32_MAX)
		return NULL;
	interior -= inference_prefix(inference, target);
	if (layouts_is_start(interior))
		interior = 0;
	for (uint32_t i = 0; i < count; i++) {
		heap_type_id pointee = slots[i].pointee;

		if (!layouts_is_compound(layouts, pointee))
			return NULL;
		if (names_type(&capture->names, target) == pointee ||
		    inference_has(inference, target, pointee, interior))
			return finds_support ? heap_array_append(&part->supported, target) : NULL;
		if ((interior > 0 && inference_is_raw(inference, target, interior)) ||
		    has_beginning(inference, target, pointee, interior))
			return NULL;
		against = pointee;
		if (interior == 0)
			claim = inference_fit(inference, pointee, target);
	}
	if (finds_support)
		return NULL;

	bool fits = claim.fit != LAYOUT_NONE;
	heap_type_id stale = count == 1 || interior > 0
				     ? HEAP_NO_TYPE
				     : find_stale(inference, slots, count, target);

	if (stale != HEAP_NO_TYPE)
		return heap_array_append(&part->conflicts,
					 (struct conflict){ target, stale, true, true });
	return heap_array_append(
		&part->conflicts,
		(struct conflict){ target, fits ? claim.type : against, fits, count == 1 });
}

HEAP_MUST_CHECK
static struct heap_error *weigh_slot(const struct weighing *weighing,
				     const struct heap_repetition *repetition,
				     const struct held_value *value, uint64_t offset,
				     heap_object_id target, uint64_t interior, struct part *part)
{
	const struct inference *inference = weighing->inference;
	const struct weights *weights = weighing->weights;
	uint32_t first, end;
	const struct heap_slots *slots;

	if (weights->support && !heap_bit_get(weights->contested, target))
		return NULL;
	slots = heap_repetition_slots_at(repetition, offset, &first, &end);
	// Most agree, which matters only to a name in conflict. The target's rank, a cache miss away, is not read then.
	if (!slots || (!weights->support && end - first == 1 &&
		       slots->list[first].pointee == inference_type(inference, target)))
		return NULL;
	if (inference->claims.rank[target] == RANK_NONE ||
	    !held_parts_has(inference->held, value, offset) ||
	    flagged_pointers_tell_type(inference, value->type, interior))
		return NULL;
	return weigh(inference, weights->support != NULL, slots->list + first, end - first, target,
		     interior, part);
}

// --- in several threads ----------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *weigh_edges(const struct weighing *weighing, const struct edges *edges,
				      const struct held_value *value, struct part *part)
{
	struct inference *inference = weighing->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t prefix = inference_prefix(inference, edges->object);
	uint64_t size = inference_extent(inference, edges->object);
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, value->type, &repetition));
	progress_steps(edges->end - edges->first);
	for (uint32_t i = edges->first; i < edges->end; i++) {
		uint64_t place = snapshot->edge_slot[i] * UINT64_C(8);

		if (i + PREFETCH_DISTANCE < snapshot->edge_count)
			heap_prefetch(&inference->capture->names
					       .of[snapshot->edge_target[i + PREFETCH_DISTANCE]]);
		if (place >= prefix && heap_repetition_has_room(repetition, place - prefix, size))
			HEAP_TRY(weigh_slot(weighing, repetition, value, place - prefix,
					    snapshot->edge_target[i], snapshot->edge_interior[i],
					    part));
	}
	return NULL;
}

// The types of all objects are known to the repetitions and to the held parts.
HEAP_MUST_CHECK
static struct heap_error *weigh_piece(void *context, size_t number, void *result)
{
	const struct weighing *weighing = context;
	const struct heap_snapshot *snapshot = &weighing->inference->capture->snapshot;
	heap_object_id objects = weighing->inference->capture->objects.count;
	uint32_t at = (uint32_t)(number * PIECE), left = snapshot->edge_count - at;
	uint32_t end = at + (left < PIECE ? left : PIECE);
	struct part *part = result;
	// The last object whose edges begin at the first one or before.
	heap_object_id object =
		heap_partition_point(i, 0, objects, snapshot->edge_first[i] <= at) - 1;

	part->conflicts.count = part->supported.count = part->later.count = 0;
	for (; at < end; object++) {
		uint32_t next = snapshot->edge_first[object + 1];
		struct edges edges = { object, at, next < end ? next : end };

		at = edges.end;
		if (edges.first == edges.end ||
		    inference_type(weighing->inference, object) == HEAP_NO_TYPE)
			continue;

		const struct held_value value = inference_value(weighing->inference, object);

		if (value.has_choices)
			HEAP_TRY(heap_array_append(&part->later, edges));
		else
			HEAP_TRY(weigh_edges(weighing, &edges, &value, part));
	}
	return NULL;
}

// --- in order --------------------------------------------------------------------

static void note_part(const struct weighing *weighing, struct part *part)
{
	for (size_t i = 0; i < part->conflicts.count; i++)
		note_conflict(weighing->inference, weighing->weights, &part->conflicts.items[i]);
	for (size_t i = 0; i < part->supported.count; i++)
		weighing->weights->support[part->supported.items[i]]++;
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	const struct weighing *weighing = context;
	struct part *part = result;

	for (size_t i = 0; i < part->later.count; i++) {
		const struct edges *edges = &part->later.items[i];
		const struct held_value value = inference_value(weighing->inference, edges->object);

		HEAP_TRY(weigh_edges(weighing, edges, &value, part));
	}
	note_part(weighing, part);
	return NULL;
}

static void release_piece(void *result)
{
	struct part *part = result;

	heap_array_deinit(&part->conflicts);
	heap_array_deinit(&part->supported);
	heap_array_deinit(&part->later);
}

// Has the repetitions and the held parts know the types of all objects, so that threads only read them.
HEAP_MUST_CHECK
static struct heap_error *visit_types(struct inference *inference)
{
	const struct heap_repetition *repetition;
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(inference, &counts));
	for (heap_type_id id = 1; id < inference->layouts.types->count; id++) {
		if (counts[id] == 0)
			continue;
		held_parts_concern(inference->held, id);
		HEAP_TRY(heap_repetitions_find(&inference->repetitions, id, &repetition));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *weigh_objects(struct weighing *weighing)
{
	size_t edges = weighing->inference->capture->snapshot.edge_count;

	HEAP_TRY(visit_types(weighing->inference));
	return heap_pieces_run(&(struct heap_piece_work){
		.count = (edges + PIECE - 1) / PIECE,
		.part_size = sizeof(struct part),
		.work = weigh_piece,
		.join = join_piece,
		.release = release_piece,
		.context = weighing,
	});
}

HEAP_MUST_CHECK
static struct heap_error *weigh_roots(const struct weighing *weighing, struct part *part)
{
	struct inference *inference = weighing->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		progress_step();
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		struct root_value value;

		HEAP_TRY(inference_root_value(inference, root, &value));
		if (value.type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(weigh_slot(weighing, value.repetition, &value.held, edge->offset,
				    edge->target, edge->interior, part));
	}
	note_part(weighing, part);
	return NULL;
}

// --- the verdict -----------------------------------------------------------------

// True if the contents of an object contradict its name, and agree with the conflicting type: the unused rows of an
// array lead to as many blocks as those in use, but to none of its type.
static bool is_refuted(const struct inference *inference, const struct content *content, int other)
{
	heap_object_id object = content->object;
	heap_type_id type = inference_type(inference, object);
	int own = content_score(inference, content, type,
				names_of(&inference->capture->names, object)->elements);

	return own < 0 && own < other && content_contradicts(inference, content, type);
}

// True if the conflicting type wins.
static bool is_outvoted(const struct inference *inference, const struct weights *weights,
			heap_object_id object)
{
	const struct capture *capture = inference->capture;
	struct layout_claim claim;
	struct content content;
	int score;

	if (weights->votes_against[object] == 0 || inference->claims.is_renamed[object])
		return false;
	if (inference->claims.rank[object] < RANK_EXACT)
		return weights->support[object] == 0 &&
		       stale_vtables_explain(inference, object,
					     capture->snapshot.conflict_type[object]);
	claim = inference_fit(inference, capture->snapshot.conflict_type[object], object);
	if (claim.fit == LAYOUT_NONE)
		return false;
	content_read(inference, object, weights->words, &content);
	score = content_score(inference, &content, claim.type, claim.elements);
	return score >= 0 && (weights->votes_against[object] > weights->support[object] ||
			      is_refuted(inference, &content, score));
}

// True if an object's own pointers lead to places in it where its type has something else: operands in front of the
// struct that has them look like an array that goes on up to the end of the block.
HEAP_MUST_CHECK
static struct heap_error *contradicts_itself(struct inference *inference, heap_object_id object,
					     bool *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct layouts *layouts = &inference->layouts;
	uint64_t prefix = inference_prefix(inference, object);
	const struct heap_repetition *repetition;
	int against = 0;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, inference_type(inference, object),
				       &repetition));
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t slot = snapshot->edge_slot[i] * UINT64_C(8);
		const struct heap_slots *slots;
		uint32_t first, end;

		progress_step();
		if (snapshot->edge_target[i] != object || slot < prefix ||
		    snapshot->edge_interior[i] < prefix)
			continue;
		slots = heap_repetition_slots_at(repetition, slot - prefix, &first, &end);
		if (!slots || end != first + 1 ||
		    !layouts_is_compound(layouts, slots->list[first].pointee))
			continue;
		against += inference_has(inference, object, slots->list[first].pointee,
					 snapshot->edge_interior[i] - prefix)
				   ? -1
				   : 1;
	}
	*result = against > 0;
	return NULL;
}

// Makes a pool of an array that more slots contradict than support, its own among them.
HEAP_MUST_CHECK
static struct heap_error *doubt_array(struct inference *inference, const struct weights *weights,
				      heap_object_id object, uint64_t *renamed)
{
	bool is_doubtful = false;

	if (is_weak_array(inference, object) && !inference->claims.is_renamed[object] &&
	    inference_prefix(inference, object) == 0 &&
	    inference->capture->snapshot.conflicts[object] > weights->support[object])
		HEAP_TRY(contradicts_itself(inference, object, &is_doubtful));
	if (!is_doubtful)
		return NULL;
	inference->claims.is_renamed[object] = true;
	++*renamed;
	return pools_doubt(inference, object);
}

HEAP_MUST_CHECK
static struct heap_error *rename_outvoted(struct inference *inference,
					  const struct weights *weights, uint64_t *renamed)
{
	struct capture *capture = inference->capture;

	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		if (!heap_bit_get(weights->contested, i))
			continue;
		HEAP_TRY(doubt_array(inference, weights, i, renamed));
		if (!is_outvoted(inference, weights, i))
			continue;

		struct layout_claim claim =
			inference_fit(inference, capture->snapshot.conflict_type[i], i);

		inference->claims.is_renamed[i] =
			true; // once: what it says of others may come back
		inference->claims.rank[i] = RANK_NONE;
		++*renamed;
		HEAP_TRY(claims_add(&inference->claims, RANK_EXACT,
				    &(struct claim){ i, claim.type, claim.elements,
						     HEAP_EVIDENCE_POINTER, false }));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *weigh_all(struct inference *inference, struct weights *weights)
{
	CLEANUP(release_piece) struct part part = { .later = { 0 } };
	struct weighing weighing = { inference, weights };

	HEAP_TRY(weigh_objects(&weighing));
	return weigh_roots(&weighing, &part);
}

// Clears the conflicts of the previous pass. Untouched memory stays untouched.
static void forget_conflicts(struct inference *inference)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	size_t count = (size_t)inference->capture->objects.count + 1;

	if (!inference->has_conflicts)
		return;
	memset(snapshot->conflict_type, 0, count * sizeof(*snapshot->conflict_type));
	memset(snapshot->conflicts, 0, count * sizeof(*snapshot->conflicts));
	inference->has_conflicts = false;
}

struct heap_error *conflicts_weigh(struct inference *inference, uint64_t *renamed)
{
	size_t count = (size_t)inference->capture->objects.count + 1;
	CLEANUP_FREE uint32_t *support = NULL;
	CLEANUP_FREE uint32_t *votes_against = calloc(count, sizeof(*votes_against));
	CLEANUP_FREE uint8_t *contested = calloc(count / 8 + 1, 1);
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	struct weights weights = { NULL, votes_against, contested, false, words };

	if (!votes_against || !contested || !words)
		return heap_error_out_of_memory();
	forget_conflicts(inference);
	HEAP_TRY(weigh_all(inference, &weights));
	if (!weights.has_contested)
		return NULL;
	weights.support = support = calloc(count, sizeof(*support));
	if (!support)
		return heap_error_out_of_memory();
	HEAP_TRY(weigh_all(inference, &weights));
	return rename_outvoted(inference, &weights, renamed);
}
