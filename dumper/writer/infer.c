// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Type inference, by claims.
 *
 * A typed slot that points to a block claims that the block is something of the pointee's
 * type. How well that agrees with the block's size is the claim's fit (layout.h). Claims
 * are heard best fit first, from one queue per fit; a block that is named passes claims on
 * through its own typed slots, which go back into the queues; so it goes on until all
 * queues are empty.
 *
 *	roots ─▶ claims ─▶ queue[EXACT]  ─▶ name the block ─▶ its slots' claims ─▶ queues
 *	                   queue[ARRAY]…
 *
 * What makes this hard, and what is done about it:
 *
 * (a) The whole is unknown to the pointer: a T * may point to the first member of a larger
 *     struct, or into a list's link in its middle. Such claims only count when just one
 *     type of the block's size has a T there, and they wait until all exact ones are heard.
 * (b) Weak claims spread: what a wrongly named block points to is named wrongly as well. A
 *     better fit that comes later replaces the name and passes on new claims, but what the
 *     wrong name has said of others stands until something better is said of them. The
 *     order of the queues keeps this rare: no weak claim is heard while a strong one waits.
 * (c) Unions: a slot may have several pointee types. Only if the size agrees exactly with
 *     one of them alone does it claim anything.
 *
 * Every block is renamed at most once per kind of fit, so the work is linear in the edges.
 */
#include "dumper/writer/infer.h"

#include "dumper/writer/layout.h"
#include "lib/cleanup.h"

#include <stdlib.h>
#include <string.h>

// The ranks of names, best first: the program's word, the vtable's, then by fit.
enum {
	RANK_DECLARED,
	RANK_VTABLE,
	RANK_FIT,
	RANK_NONE = RANK_FIT + LAYOUT_NONE,
	RANKS = RANK_NONE,
};

enum {
	AHEAD = 12, // edges, and claims, whose memory is asked for before they are looked at
};

struct claim {
	heap_object_id object;
	heap_type_id type;
	uint64_t elements;
	uint8_t evidence;
};

struct queue {
	struct claim *claims; // [head, tail) wait
	size_t head, tail, capacity;
};

struct inference {
	struct capture *capture;
	struct layouts layouts;
	struct queue queues[RANKS];
	uint8_t *rank;    // [objects] of its name
	uint8_t *pending; // [objects] the best rank that waits for it
};

HEAP_MUST_CHECK
static struct heap_error *push(struct inference *inference, unsigned rank,
			       const struct claim *claim)
{
	struct queue *queue = &inference->queues[rank];

	if (inference->rank[claim->object] <= rank)
		return NULL;
	if (queue->tail == queue->capacity) {
		size_t capacity = queue->capacity ? queue->capacity * 2 : 4096;
		void *larger = realloc(queue->claims, capacity * sizeof(*queue->claims));

		if (!larger)
			return heap_error_out_of_memory();
		queue->claims = larger;
		queue->capacity = capacity;
	}
	queue->claims[queue->tail++] = *claim;
	inference->rank[claim->object] = (uint8_t)rank;
	return NULL;
}

static uint8_t evidence_of(enum layout_fit fit)
{
	return fit == LAYOUT_EMBEDDED ? HEAP_EVIDENCE_EMBEDDING : HEAP_EVIDENCE_POINTER;
}

struct testimony {
	struct inference *inference;
	heap_object_id object;
};

// The slots at an offset: [*first, result).
static uint32_t find_slots(const struct layout_slots *slots, uint64_t offset, uint32_t *first)
{
	uint32_t low = 0, high = slots->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (slots->slots[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low < slots->count && slots->slots[low].offset == offset)
		low++;
	return low;
}

// Whether an object's pointers are where a type has pointers, and lead to blocks in which
// there is room for what they should point to.
static bool agrees(void *context, heap_type_id type)
{
	const struct testimony *testimony = context;
	struct inference *inference = testimony->inference;
	const struct edges *edges = &inference->capture->edges;
	const struct heap_types *types = inference->layouts.types;
	const struct layout_slots *slots = layouts_slots(&inference->layouts, type);
	heap_object_id object = testimony->object;

	for (uint32_t i = edges->first[object]; slots && i < edges->first[object + 1]; i++) {
		uint32_t first;
		uint32_t end = find_slots(slots, (uint64_t)edges->slot[i] * 8, &first);
		uint64_t room = inference->capture->objects.size[edges->target[i]];

		if (first == end)
			return false;
		if (end - first == 1 && edges->interior[i] < 8 &&
		    heap_types_size(types, slots->slots[first].pointee) > room)
			return false;
	}
	return slots != NULL;
}

// The claim of all the slots at one offset: one, unless they are a union's.
static struct layout_claim hear(struct inference *inference, const struct layout_slot *slots,
				uint32_t count, uint64_t interior, heap_object_id target)
{
	struct testimony testimony = { inference, target };
	const struct layout_witness witness = { agrees, &testimony };
	uint64_t size = inference->capture->objects.size[target];
	struct layout_claim best = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	uint32_t equals = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct layout_claim claim = layouts_fit(&inference->layouts, slots[i].pointee,
							interior, size, &witness);

		if (count > 1 && claim.fit != LAYOUT_EXACT)
			continue;
		if (claim.fit < best.fit)
			best = claim;
		if (claim.fit != LAYOUT_NONE)
			equals++;
	}
	if (equals > 1)
		best.fit = LAYOUT_NONE;
	return best;
}

// A slot points to an object: marks the edge, and lets the slot claim what it can.
HEAP_MUST_CHECK
static struct heap_error *follow(struct inference *inference, const struct layout_slots *slots,
				 uint64_t offset, heap_object_id target, uint64_t interior,
				 uint8_t *flags)
{
	uint32_t low;
	uint32_t high = find_slots(slots, offset, &low);

	if (low == high)
		return NULL;
	*flags |= HEAP_EDGE_TYPED;

	struct layout_claim claim =
		hear(inference, slots->slots + low, high - low, interior, target);

	if (claim.fit == LAYOUT_NONE)
		return NULL;
	return push(inference, RANK_FIT + claim.fit,
		    &(struct claim){ target, claim.type, claim.elements, evidence_of(claim.fit) });
}

// How a value repeats: arrays of one type, or a header with a flexible array behind it.
struct repetition {
	const struct layout_slots *slots;
	uint64_t stride;
	const struct layout_slots *flexible_slots; // NULL: none
	uint64_t flexible_offset;
	uint64_t flexible_stride;
};

HEAP_MUST_CHECK
static struct heap_error *work_out(struct inference *inference, heap_type_id type,
				   struct repetition *result)
{
	const struct heap_types *types = inference->layouts.types;
	struct repetition repetition = { .slots = layouts_slots(&inference->layouts, type),
					 .stride = heap_types_size(types, type) };
	heap_type_id element;

	if (!repetition.slots)
		return heap_error_out_of_memory();
	if (heap_types_flexible(types, type, &repetition.flexible_offset, &element)) {
		element = heap_types_strip(types, element);
		repetition.flexible_stride = heap_types_size(types, element);
		if (repetition.flexible_stride > 0) {
			repetition.flexible_slots = layouts_slots(&inference->layouts, element);
			if (!repetition.flexible_slots)
				return heap_error_out_of_memory();
		}
	}
	*result = repetition;
	return NULL;
}

static bool has_slots(const struct repetition *repetition)
{
	return repetition->slots->count > 0 ||
	       (repetition->flexible_slots && repetition->flexible_slots->count > 0);
}

HEAP_MUST_CHECK
static struct heap_error *follow_at(struct inference *inference,
				    const struct repetition *repetition, uint64_t offset,
				    heap_object_id target, uint64_t interior, uint8_t *flags)
{
	if (repetition->flexible_slots && offset >= repetition->flexible_offset)
		return follow(inference, repetition->flexible_slots,
			      (offset - repetition->flexible_offset) % repetition->flexible_stride,
			      target, interior, flags);
	if (repetition->stride > 0)
		offset %= repetition->stride;
	return follow(inference, repetition->slots, offset, target, interior, flags);
}

HEAP_MUST_CHECK
static struct heap_error *follow_object(struct inference *inference, heap_object_id object)
{
	struct edges *edges = &inference->capture->edges;
	const uint64_t *sizes = inference->capture->objects.size;
	struct repetition repetition;
	struct heap_error *error =
		work_out(inference, inference->capture->type[object], &repetition);

	for (uint32_t i = edges->first[object]; !error && i < edges->first[object + 1]; i++) {
		if (i + AHEAD < edges->count) {
			__builtin_prefetch(&sizes[edges->target[i + AHEAD]]);
			__builtin_prefetch(&inference->rank[edges->target[i + AHEAD]]);
		}
		edges->flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
		if (has_slots(&repetition))
			error = follow_at(inference, &repetition, (uint64_t)edges->slot[i] * 8,
					  edges->target[i], edges->interior[i], &edges->flags[i]);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *follow_roots(struct inference *inference)
{
	struct roots *roots = &inference->capture->roots;
	const struct heap_types *types = inference->layouts.types;
	struct heap_error *error = NULL;

	for (uint64_t i = 0; !error && i < roots->edge_count; i++) {
		struct heap_root_edge *edge = &roots->edges[i];
		heap_type_id type = heap_types_strip(types, roots->roots[edge->root].type);
		struct repetition repetition;

		while (types->types[type].kind == HEAP_TYPE_ARRAY)
			type = heap_types_strip(types, types->types[type].target);
		if (type == HEAP_NO_TYPE)
			continue;
		error = work_out(inference, type, &repetition);
		if (!error && has_slots(&repetition))
			error = follow_at(inference, &repetition, edge->offset, edge->target,
					  edge->interior, &edge->flags);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *apply(struct inference *inference, unsigned rank,
				const struct claim *claim)
{
	struct capture *capture = inference->capture;

	// A better claim may have come after this one was queued.
	if (inference->rank[claim->object] < rank)
		return NULL;
	capture->type[claim->object] = claim->type;
	capture->elements[claim->object] = claim->elements;
	capture->evidence[claim->object] = claim->evidence;
	return follow_object(inference, claim->object);
}

static void fetch(const struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;

	__builtin_prefetch(&capture->type[object], 1);
	__builtin_prefetch(&capture->elements[object], 1);
	__builtin_prefetch(&capture->evidence[object], 1);
	__builtin_prefetch(&capture->edges.first[object]);
}

// Hears the best claim that waits. @return false if there is none
static bool next_claim(struct inference *inference, unsigned *rank, struct claim *result)
{
	for (*rank = 0; *rank < RANKS; (*rank)++) {
		struct queue *queue = &inference->queues[*rank];

		if (queue->head < queue->tail) {
			if (queue->head + AHEAD < queue->tail)
				fetch(inference, queue->claims[queue->head + AHEAD].object);
			*result = queue->claims[queue->head++];
			if (queue->head == queue->tail)
				queue->head = queue->tail = 0;
			return true;
		}
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *claim_classes(struct inference *inference, const heap_type_id *classes)
{
	const struct objects *objects = &inference->capture->objects;
	struct heap_error *error = NULL;

	for (heap_object_id object = 0; !error && object < objects->count; object++) {
		heap_type_id type = classes[object];

		if (type == HEAP_NO_TYPE ||
		    heap_types_size(inference->layouts.types, type) > objects->size[object])
			continue;
		error = push(inference, RANK_VTABLE,
			     &(struct claim){ object, type, 1, HEAP_EVIDENCE_VTABLE });
	}
	return error;
}

// What the program has said itself, by heapsnap_set_type().
HEAP_MUST_CHECK
static struct heap_error *claim_labels(struct inference *inference)
{
	const struct capture *capture = inference->capture;
	const struct objects *objects = &capture->objects;
	const struct heap_types *types = inference->layouts.types;
	struct heap_error *error = NULL;

	for (uint64_t i = 0; !error && i < capture->process.label_slots; i++) {
		struct heapsnap_label label;
		char name[256];

		if (!image_read(&capture->image, capture->process.labels + i * sizeof(label),
				&label, sizeof(label)) ||
		    label.block == 0)
			continue;

		heap_object_id object = objects_find(objects, label.block);

		if (object == HEAP_NO_OBJECT || objects->address[object] != label.block ||
		    !(objects->flags[object] & HEAPSNAP_BLOCK_LABELLED))
			continue;
		image_read_string(&capture->image, label.type, name, sizeof(name));

		heap_type_id type = heap_types_find(types, name, 0);
		uint64_t size = heap_types_size(types, heap_types_strip(types, type));

		if (type == HEAP_NO_TYPE || size == 0 || size > objects->size[object])
			continue;
		error = push(inference, RANK_DECLARED,
			     &(struct claim){ object, heap_types_strip(types, type),
					      objects->size[object] / size,
					      HEAP_EVIDENCE_DECLARED });
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct inference *inference, const heap_type_id *classes)
{
	struct heap_error *error = claim_labels(inference);
	struct claim claim;
	unsigned rank;

	if (!error)
		error = claim_classes(inference, classes);
	if (!error)
		error = follow_roots(inference);
	while (!error && next_claim(inference, &rank, &claim))
		error = apply(inference, rank, &claim);
	return error;
}

struct heap_error *infer_types(struct capture *capture, const heap_type_id *classes)
{
	size_t count = (size_t)capture->objects.count + 1;
	CLEANUP_FREE uint8_t *rank = malloc(count);
	struct inference inference = { .capture = capture, .rank = rank };

	capture->type = calloc(count, sizeof(*capture->type));
	capture->elements = calloc(count, sizeof(*capture->elements));
	capture->evidence = calloc(count, sizeof(*capture->evidence));
	if (!rank || !capture->type || !capture->elements || !capture->evidence)
		return heap_error_out_of_memory();
	memset(rank, RANK_NONE, count);

	struct heap_error *error = layouts_init(&inference.layouts, &capture->types);

	if (error)
		return error;
	error = run(&inference, classes);
	for (unsigned i = 0; i < RANKS; i++)
		free(inference.queues[i].claims);
	layouts_deinit(&inference.layouts);
	return error;
}
