// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Conflicts: typed slots that contradict the names of their targets.
 *
 * A stale pointer, a union's other member, a void * that was cast: each may have named a block
 * first. Once all names are set, all slots are applied again, each for or against the name.
 * The remaining conflicts are stored in the snapshot.
 */
#include "dumper/writer/infer/conflicts.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>
#include <string.h>

enum {
	PREFETCH_DISTANCE = 12, // edges
};

struct weights {
	uint32_t *support;       // [objects] slots that agree; NULL: this pass finds conflicts
	uint32_t *votes_against; // [objects] slots that agree with conflict_type, if that fits
	uint8_t *contested;      // [objects / 8 + 1] bits.h: conflict_type fits
	bool has_contested;
	uint64_t *words; /**< [CONTENT_WORDS] */
};

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

// Notes the slots at one place, which speak against the type of their target. @param against  the last
static void note_conflict(struct inference *inference, struct weights *weights, uint32_t count,
			  heap_object_id target, heap_type_id against,
			  const struct layout_claim *claim)
{
	bool fits = claim->fit != LAYOUT_NONE;

	inference->capture->snapshot.conflicts[target]++;
	inference->has_conflicts = true;
	if (count == 1)
		note_conflict_type(inference, weights, target, fits ? claim->type : against, fits);
}

/*
 * Weighs the evidence of the slots at one place for the type of their target. Nearly all agree with
 * it, which does not matter where no conflicting type fits. So a first pass finds conflicts, and a
 * second one support for the names in conflict.
 */
static void weigh(struct inference *inference, struct weights *weights,
		  const struct heap_slot *slots, uint32_t count, heap_object_id target,
		  uint64_t interior)
{
	struct capture *capture = inference->capture;
	const struct layouts *layouts = &inference->layouts;
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	heap_type_id against = HEAP_NO_TYPE;

	if (interior < inference_prefix(inference, target))
		return;
	interior -= inference_prefix(inference, target);
	if (layouts_is_start(interior))
		interior = 0;
	for (uint32_t i = 0; i < count; i++) {
		heap_type_id pointee = slots[i].pointee;

		if (!layouts_is_compound(layouts, pointee))
			return;
		if (capture->snapshot.type[target] == pointee ||
		    inference_has(inference, target, pointee, interior)) {
			if (weights->support)
				weights->support[target]++;
			return;
		}
		if (interior > 0 && inference_is_raw(inference, target, interior))
			return;
		against = pointee;
		if (interior == 0)
			claim = inference_fit(inference, pointee, target);
	}
	if (!weights->support)
		note_conflict(inference, weights, count, target, against, &claim);
}

HEAP_MUST_CHECK
static struct heap_error *weigh_slot(struct inference *inference, struct weights *weights,
				     const struct heap_repetition *repetition,
				     const struct held_value *value, uint64_t offset,
				     heap_object_id target, uint64_t interior)
{
	uint32_t first, end;
	const struct heap_slots *slots;

	if ((weights->support && !heap_bit_get(weights->contested, target)) ||
	    inference->claims.rank[target] == RANK_NONE ||
	    !held_parts_has(inference->held, value, offset))
		return NULL;
	slots = heap_repetition_slots_at(repetition, offset, &first, &end);
	if (slots)
		weigh(inference, weights, slots->list + first, end - first, target, interior);
	return NULL;
}

static void fetch(const struct inference *inference, heap_object_id object)
{
	heap_prefetch(&inference->claims.rank[object]);
	heap_prefetch(&inference->capture->snapshot.type[object]);
}

HEAP_MUST_CHECK
static struct heap_error *weigh_objects(struct inference *inference, struct weights *weights)
{
	const struct capture *capture = inference->capture;
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		const struct heap_repetition *repetition;
		uint64_t prefix = inference_prefix(inference, i);

		if (capture->snapshot.type[i] == HEAP_NO_TYPE ||
		    snapshot->edge_first[i] == snapshot->edge_first[i + 1])
			continue;
		const struct held_value value = inference_value(inference, i);

		HEAP_TRY(heap_repetitions_find(&inference->repetitions, value.type, &repetition));
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			progress_step();
			if (j + PREFETCH_DISTANCE < snapshot->edge_count)
				fetch(inference, snapshot->edge_target[j + PREFETCH_DISTANCE]);
			if ((uint64_t)snapshot->edge_slot[j] * 8 >= prefix)
				HEAP_TRY(weigh_slot(inference, weights, repetition, &value,
						    (uint64_t)snapshot->edge_slot[j] * 8 - prefix,
						    snapshot->edge_target[j],
						    snapshot->edge_interior[j]));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *weigh_roots(struct inference *inference, struct weights *weights)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		progress_step();
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		heap_type_id type = inference_root_type(inference, root);
		const struct heap_repetition *repetition;

		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));

		const struct held_value value = held_parts_value(inference->held, root->type,
								 root->address, HEAP_NO_OBJECT);

		HEAP_TRY(weigh_slot(inference, weights, repetition, &value, edge->offset,
				    edge->target, edge->interior));
	}
	return NULL;
}

// True if the conflicting type wins.
static bool is_outvoted(const struct inference *inference, const struct weights *weights,
			heap_object_id object)
{
	const struct capture *capture = inference->capture;
	struct layout_claim claim;
	struct content content;

	if (weights->votes_against[object] <= weights->support[object] ||
	    inference->claims.rank[object] < RANK_EXACT || inference->claims.is_renamed[object])
		return false;
	claim = inference_fit(inference, capture->snapshot.conflict_type[object], object);
	content_read(inference, object, weights->words, &content);
	return claim.fit != LAYOUT_NONE &&
	       content_score(inference, &content, claim.type, claim.elements) >= 0;
}

HEAP_MUST_CHECK
static struct heap_error *rename_outvoted(struct inference *inference,
					  const struct weights *weights, uint64_t *renamed)
{
	struct capture *capture = inference->capture;

	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		if (!heap_bit_get(weights->contested, i) || !is_outvoted(inference, weights, i))
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
	HEAP_TRY(weigh_objects(inference, weights));
	return weigh_roots(inference, weights);
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
