// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/claims.h"

#include "dumper/writer/base/progress.h"

#include "lib/base/array.h"
#include "lib/base/bits.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_FIRSTS = 16,     // structs in each other
	MAX_IDLE = 64 << 10, // claims that an empty queue keeps room for
};

struct heap_error *claims_init(struct claims *claims, const struct layouts *layouts,
			       heap_object_id objects)
{
	size_t count = (size_t)objects + 1;

	*claims = (struct claims){
		.layouts = layouts,
		.rank = malloc(count),
		.name_rank = malloc(count),
		.waiting = calloc(count, sizeof(*claims->waiting)),
		.waits = calloc(count / 8 + 1, 1),
		.is_sure = calloc(count, sizeof(*claims->is_sure)),
		.is_renamed = calloc(count, sizeof(*claims->is_renamed)),
	};
	if (!claims->rank || !claims->name_rank || !claims->waiting || !claims->waits ||
	    !claims->is_sure || !claims->is_renamed)
		return heap_error_out_of_memory();
	memset(claims->rank, RANK_NONE, count);
	memset(claims->name_rank, RANK_NONE, count);
	return NULL;
}

void claims_deinit(struct claims *claims)
{
	for (unsigned i = 0; i < RANKS; i++)
		free(claims->queues[i].claims);
	free(claims->rank);
	free(claims->name_rank);
	free(claims->waiting);
	free(claims->waits);
	free(claims->is_sure);
	free(claims->is_renamed);
}

// --- preferences -------------------------------------------------------------

// Counts the structs with which a type begins, one inside the other.
static int count_firsts(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_types *types = layouts->types;
	int count = 0;

	while (count < MAX_FIRSTS && layouts_is_compound(layouts, type) &&
	       types->types[type].members > 0) {
		type = heap_types_strip(types,
					types->members[types->types[type].first_member].type);
		count++;
	}
	return count;
}

bool claims_prefer(const struct layouts *layouts, heap_type_id one, heap_type_id other)
{
	int firsts = count_firsts(layouts, one), others = count_firsts(layouts, other);

	return firsts != others ? firsts > others : one < other;
}

// True if a claim wins over another one of equal rank, whatever their order.
static bool is_preferred(const struct layouts *layouts, const struct claim *one,
			 const struct claim *other)
{
	if (one->is_sure != other->is_sure)
		return one->is_sure;
	if (one->type != other->type)
		return claims_prefer(layouts, one->type, other->type);
	if (one->elements != other->elements)
		return one->elements > other->elements;
	return one->evidence < other->evidence;
}

// --- queues ------------------------------------------------------------------

// The claim that waits for an object with the same rank; NULL if it has been applied already.
static struct claim *find_waiting(const struct claims *claims, const struct claim_queue *queue,
				  heap_object_id object)
{
	if (!heap_bit_get(claims->waits, object))
		return NULL;

	uint32_t at = claims->waiting[object];

	return at >= queue->head && at < queue->tail && queue->claims[at].object == object
		       ? &queue->claims[at]
		       : NULL;
}

struct heap_error *claims_add(struct claims *claims, enum rank rank, const struct claim *claim)
{
	struct claim_queue *queue = &claims->queues[rank];

	if (claims->rank[claim->object] < rank)
		return NULL;
	if (claims->rank[claim->object] == rank) {
		struct claim *waiting = find_waiting(claims, queue, claim->object);

		if (waiting && is_preferred(claims->layouts, claim, waiting))
			*waiting = *claim;
		return NULL;
	}
	HEAP_TRY(heap_reserve(queue->claims, queue->capacity, queue->tail + 1));
	claims->waiting[claim->object] = (uint32_t)queue->tail;
	heap_bit_set(claims->waits, claim->object);
	queue->claims[queue->tail++] = *claim;
	claims->rank[claim->object] = (uint8_t)rank;
	return NULL;
}

enum rank claims_best(const struct claims *claims)
{
	enum rank rank = 0;

	while (rank < RANKS && claims->queues[rank].head == claims->queues[rank].tail)
		rank++;
	return rank;
}

void claims_take(struct claims *claims, enum rank rank, size_t *first, size_t *end)
{
	struct claim_queue *queue = &claims->queues[rank];

	*first = queue->head;
	*end = queue->head = queue->tail;
	for (size_t i = *first; i < *end; i++) {
		struct claim *claim = &queue->claims[i];

		if (claims->rank[claim->object] == rank && claims->waiting[claim->object] == i) {
			claims->is_sure[claim->object] = claim->is_sure;
			claims->name_rank[claim->object] = (uint8_t)rank;
			heap_bit_clear(claims->waits, claim->object);
			claims->applied++;
		} else {
			claim->object = HEAP_NO_OBJECT;
		}
	}
	progress_steps((uint32_t)(*end - *first));
}

// Moves the claims that wait to the front of their queue.
static void compact(struct claims *claims, enum rank rank)
{
	struct claim_queue *queue = &claims->queues[rank];
	uint32_t head = (uint32_t)queue->head, waiting = (uint32_t)(queue->tail - queue->head);

	for (uint32_t i = 0; i < waiting; i++) {
		heap_object_id object = queue->claims[head + i].object;

		queue->claims[i] = queue->claims[head + i];
		// Others were superseded: their objects' claims wait in another queue, or further back.
		if (claims->rank[object] == rank && claims->waiting[object] == head + i)
			claims->waiting[object] = i;
	}
	queue->head = 0;
	queue->tail = waiting;
}

void claims_taken(struct claims *claims, enum rank rank)
{
	struct claim_queue *queue = &claims->queues[rank];

	if (queue->head == queue->tail && queue->capacity > MAX_IDLE) {
		free(queue->claims);
		*queue = (struct claim_queue){ 0 };
		return;
	}
	// Fewer are moved than have been applied since the last time.
	if (queue->head >= queue->tail - queue->head)
		compact(claims, rank);
}

void claims_withdraw(struct claims *claims, heap_object_id object)
{
	claims->is_renamed[object] = true;
	claims->rank[object] = claims->name_rank[object] = RANK_NONE;
}
