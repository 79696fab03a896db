// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/inference.h"

#include "lib/base/pieces.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/prefetch.h"

#include <stdlib.h>

enum {
	PREFETCH_DISTANCE = 20, // edges
	JOIN_DISTANCE = 10,     // typed edges; three times that for the first of three lookups
};

void frontier_begin(struct inference *inference)
{
	struct frontier *frontier = &inference->frontier;

	frontier->pieces.count = 0;
	frontier->has_concerns = held_parts_has_ranges(inference->held);
}

struct heap_error *frontier_add_type(struct inference *inference, heap_type_id type)
{
	const struct heap_repetition *repetition;

	// From here on the threads find both computed.
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	inference->frontier.has_concerns |= held_parts_concern(inference->held, type);
	return NULL;
}

// --- in several threads ----------------------------------------------------------

struct following {
	struct inference *inference;
	const struct claim_queue *claims;
};

// The typed edges of a piece.
struct part {
	struct typed_edge *edges; // [count]
	uint32_t count;
};

static void fetch(const struct inference *inference, uint32_t edge)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	if (edge >= snapshot->edge_count)
		return;
	objects_prefetch_kind(&inference->capture->objects, snapshot->edge_target[edge]);
	claims_prefetch(&inference->claims, snapshot->edge_target[edge]);
}

// Finds the typed ones of an object's edges.
HEAP_MUST_CHECK
static struct heap_error *find_edges(struct inference *inference, heap_object_id object,
				     uint32_t first, uint32_t end, struct part *part)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	bool has_concerns = inference->frontier.has_concerns;
	uint64_t prefix = inference_prefix(inference, object);
	uint64_t size = inference_extent(inference, object);
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, inference_type(inference, object),
				       &repetition));

	bool has_slots = heap_repetition_has_slots(repetition);

	progress_steps(end - first);
	for (uint32_t i = first; i < end; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);
		struct typed_edge *edge = &part->edges[part->count];
		uint32_t slot, behind;

		fetch(inference, i + PREFETCH_DISTANCE);
		snapshot->edge_flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		if (!has_slots || offset < prefix ||
		    !heap_repetition_has_room(repetition, offset - prefix, size))
			continue;

		const struct heap_slots *slots =
			heap_repetition_slots_at(repetition, offset - prefix, &slot, &behind);

		if (!slots && !has_concerns)
			continue;
		*edge = (struct typed_edge){
			.slots = slots ? &slots->list[slot] : NULL,
			.count = slots ? behind - slot : 0,
			.edge = i,
			.object = object,
		};
		if (slots)
			inference_foresee(inference, edge);
		if (!has_concerns)
			snapshot->edge_flags[i] |= HEAP_EDGE_TYPED;
		part->count += has_concerns || !edge->is_futile;
	}
	return NULL;
}

// Several threads read pieces, and none changes data that another one reads.
HEAP_MUST_CHECK
static struct heap_error *find_piece(void *context, size_t number, void *result)
{
	const struct following *following = context;
	struct inference *inference = following->inference;
	const uint32_t *edge_first = inference->capture->snapshot.edge_first;
	const struct frontier_piece *piece = &inference->frontier.pieces.items[number];
	struct part *part = result;

	part->count = 0;
	if (!part->edges)
		part->edges = malloc(FRONTIER_PIECE * sizeof(*part->edges));
	if (!part->edges)
		return heap_error_out_of_memory();
	// Up to the edge of the last claim with which the next piece begins.
	size_t last = piece[1].claim + (piece[1].edge > 0);

	for (size_t i = piece[0].claim; i < last && !progress_is_late();
	     i = claim_queue_next(following->claims, i + 1, last)) {
		uint32_t end = i == piece[1].claim ? piece[1].edge : UINT32_MAX;
		heap_object_id object = claim_queue_object(following->claims, i);

		if (end > edge_first[object + 1])
			end = edge_first[object + 1];
		HEAP_TRY(find_edges(inference, object,
				    i == piece[0].claim ? piece[0].edge : edge_first[object], end,
				    part));
	}
	return NULL;
}

// --- in order --------------------------------------------------------------------

// Prefetches what applying an edge reads and writes: at first of its target, then where its first hint is, and that.
static void fetch_target(const struct inference *inference, const struct part *part, uint32_t at)
{
	const uint32_t *targets = inference->capture->snapshot.edge_target;
	const struct hints *hints = &inference->hints;
	const struct typed_edge *edge;
	heap_object_id target;

	if (at + 3 * JOIN_DISTANCE < part->count) {
		edge = &part->edges[at + 3 * JOIN_DISTANCE];
		target = targets[edge->edge];
		heap_prefetch_to_write(&inference->claims.rank[target]);
		if (edge->is_claim) {
			heap_prefetch_to_write(&inference->capture->names.of[target]);
		} else {
			objects_prefetch_kind(&inference->capture->objects, target);
			hints_prefetch(hints, target);
			kinds_prefetch(inference, target);
			heap_prefetch_to_write(&inference->news[target]);
		}
	}
	if (at + 2 * JOIN_DISTANCE < part->count) {
		edge = &part->edges[at + 2 * JOIN_DISTANCE];
		target = targets[edge->edge];
		if (!edge->is_claim && hints_have(hints, target))
			sparse_column_prefetch_value(&hints->first, target);
	}
	if (at + JOIN_DISTANCE < part->count) {
		edge = &part->edges[at + JOIN_DISTANCE];
		target = targets[edge->edge];
		if (!edge->is_claim && hints_have(hints, target))
			heap_prefetch_to_write(&hints->list[hints_first(hints, target)]);
	}
}

// Applies an edge, if its slot holds something.
HEAP_MUST_CHECK
static struct heap_error *join_held(struct inference *inference, const struct typed_edge *edge,
				    const struct held_value *value)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t offset = snapshot->edge_slot[edge->edge] * UINT64_C(8) -
			  inference_prefix(inference, edge->object);

	if (value->has_owners)
		HEAP_TRY(held_parts_note(inference->held, value->type, value->address, offset,
					 snapshot->edge_target[edge->edge]));
	if ((!edge->is_claim && !edge->is_hint && edge->count == 0) ||
	    !held_parts_has(inference->held, value, offset))
		return NULL;
	snapshot->edge_flags[edge->edge] |= HEAP_EDGE_TYPED;
	return edge->is_futile ? NULL : inference_apply(inference, edge);
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	const struct following *following = context;
	struct inference *inference = following->inference;
	const struct part *part = result;
	struct held_value value = { 0 };

	for (uint32_t i = 0; i < part->count; i++) {
		const struct typed_edge *edge = &part->edges[i];

		fetch_target(inference, part, i);
		if (!inference->frontier.has_concerns) {
			HEAP_TRY(inference_apply(inference, edge));
			continue;
		}
		if (i == 0 || edge->object != edge[-1].object)
			value = inference_value(inference, edge->object);
		HEAP_TRY(join_held(inference, edge, &value));
	}
	return NULL;
}

static void release_piece(void *result)
{
	struct part *part = result;

	free(part->edges);
}

// Without threads and their buffers: most frontiers are this small.
HEAP_MUST_CHECK
static struct heap_error *follow_one(struct following *following)
{
	struct part part = { .edges = following->inference->frontier.own };
	struct heap_error *error = find_piece(following, 0, &part);

	following->inference->frontier.own = part.edges;
	return error ? error : join_piece(following, &part);
}

struct heap_error *frontier_follow(struct inference *inference, const struct claim_queue *claims)
{
	struct frontier *frontier = &inference->frontier;
	struct following following = { inference, claims };
	size_t count = frontier->pieces.count;

	HEAP_TRY(heap_array_append(&frontier->pieces,
				   (struct frontier_piece){ claim_queue_end(claims), 0 }));
	if (count <= 1)
		return count == 0 ? NULL : follow_one(&following);
	return heap_pieces_run(&(struct heap_piece_work){
		.count = count,
		.part_size = sizeof(struct part),
		.work = find_piece,
		.join = join_piece,
		.release = release_piece,
		.context = &following,
	});
}

void frontier_deinit(struct frontier *frontier)
{
	heap_array_deinit(&frontier->pieces);
	free(frontier->own);
}
