// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/claims.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_FIRSTS = 16, // structs in each other
};

struct heap_error *claims_init(struct claims *claims, const struct layouts *layouts,
			       struct names *names, heap_object_id objects)
{
	size_t count = (size_t)objects + 1;

	*claims = (struct claims){
		.layouts = layouts,
		.names = names,
		.rank = malloc(count),
		.name_rank = malloc(count),
		.waits = calloc(count / 8 + 1, 1),
		.is_renamed = calloc(count, sizeof(*claims->is_renamed)),
	};
	if (!claims->rank || !claims->name_rank || !claims->waits || !claims->is_renamed)
		return heap_error_out_of_memory();
	for (unsigned i = 0; i < RANKS; i++)
		claims->queues[i] = claim_queue_make(objects);
	claims->taken = claim_queue_make(objects);
	memset(claims->rank, RANK_NONE, count);
	memset(claims->name_rank, RANK_NONE, count);
	return NULL;
}

void claims_deinit(struct claims *claims)
{
	for (unsigned i = 0; i < RANKS; i++)
		claim_queue_deinit(&claims->queues[i]);
	claim_queue_deinit(&claims->taken);
	free(claims->rank);
	free(claims->name_rank);
	free(claims->waits);
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
static bool is_preferred(const struct layouts *layouts, const struct name *one,
			 const struct name *other)
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

// The threads of frontier.h read ranks and these bits while one of them adds claims.
static bool waits(const struct claims *claims, heap_object_id object)
{
	return __atomic_load_n(&claims->waits[object / 8], __ATOMIC_RELAXED) >> object % 8 & 1;
}

static void set_waits(struct claims *claims, heap_object_id object)
{
	uint8_t *byte = &claims->waits[object / 8];

	__atomic_store_n(byte, (uint8_t)(*byte | 1 << object % 8), __ATOMIC_RELAXED);
}

// Other threads change the other bits.
static void clear_waits(struct claims *claims, heap_object_id object)
{
	__atomic_fetch_and(&claims->waits[object / 8], (uint8_t) ~(1 << object % 8),
			   __ATOMIC_RELAXED);
}

// The name that an object waits for.
static const struct name *awaited(const struct claims *claims, heap_object_id object)
{
	return names_get(claims->names, names_awaited(claims->names, object));
}

bool claims_are_futile(const struct claims *claims, enum rank rank, heap_object_id object)
{
	enum rank own = claims_rank(claims, object);

	return own < rank || (own == rank && !waits(claims, object));
}

struct heap_error *claims_add(struct claims *claims, enum rank rank, const struct claim *claim)
{
	const struct name name = { claim->elements, claim->evidence, claim->is_sure, claim->type };
	heap_object_id object = claim->object;
	uint32_t number;

	if (claims->rank[object] < rank)
		return NULL;
	if (claims->rank[object] == rank &&
	    (!waits(claims, object) ||
	     !is_preferred(claims->layouts, &name, awaited(claims, object))))
		return NULL;
	HEAP_TRY(names_find(claims->names, &name, &number));
	if (claims->rank[object] == rank)
		return names_await(claims->names, object, number);
	HEAP_TRY(names_await(claims->names, object, number));
	HEAP_TRY(claim_queue_add(&claims->queues[rank], object));
	claims->changes++;
	// Before the rank: claims_are_futile() reads them in the other order.
	set_waits(claims, object);
	__atomic_store_n(&claims->rank[object], (uint8_t)rank, __ATOMIC_RELEASE);
	return NULL;
}

enum rank claims_best(const struct claims *claims)
{
	enum rank rank = 0;

	while (rank < RANKS && claims->queues[rank].count == 0)
		rank++;
	return rank;
}

// Drops the objects from a list that are in it once more, further back.
static void drop_doubles(struct claims *claims, struct claim_queue *queue)
{
	for (size_t i = queue->count; i-- > 0;) {
		heap_object_id object = queue->list[i];

		// Those that no longer wait, or have been met, are marked by the same bit.
		if (waits(claims, object))
			clear_waits(claims, object);
		else
			claim_queue_drop(queue, i);
	}
	for (size_t i = 0; i < queue->count; i++) {
		if (queue->list[i] != HEAP_NO_OBJECT)
			set_waits(claims, queue->list[i]);
	}
}

const struct claim_queue *claims_take(struct claims *claims, enum rank rank)
{
	struct claim_queue *taken = &claims->taken, empty = *taken;

	*taken = claims->queues[rank];
	claims->queues[rank] = empty;
	if (claims->may_be_double && !taken->bits)
		drop_doubles(claims, taken);
	return taken;
}

const struct name *claims_settle(struct claims *claims, enum rank rank, size_t position)
{
	heap_object_id object = claim_queue_object(&claims->taken, position);

	if (claims->rank[object] != rank || !waits(claims, object)) {
		claim_queue_drop(&claims->taken, position);
		return NULL;
	}

	names_give(claims->names, object, names_awaited(claims->names, object));
	claims->name_rank[object] = (uint8_t)rank;
	clear_waits(claims, object);
	return names_of(claims->names, object);
}

void claims_taken(struct claims *claims)
{
	claim_queue_clear(&claims->taken);
}

void claims_rest(struct claims *claims)
{
	if (claims_best(claims) == RANK_NONE)
		names_end_waiting(claims->names);
}

void claims_withdraw(struct claims *claims, heap_object_id object)
{
	claims->is_renamed[object] = true;
	claims->may_be_double |= claims_best(claims) != RANK_NONE;
	claims->changes++;
	claims->rank[object] = claims->name_rank[object] = RANK_NONE;
}
