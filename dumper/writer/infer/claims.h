// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CLAIMS_H
#define CLAIMS_H

/**
 * Claims: "this block is a T". The best claim on a block waits in the queue of its rank until it
 * is applied, that is, until the block gets that name.
 *
 * A queue is applied as a whole, best rank first, and claims that are made meanwhile wait for the
 * next time. Of two claims of one rank the preferred one stays, so the order in which they are
 * made, which is that of addresses and differs in each run, does not matter.
 */

#include "dumper/writer/infer/claim_queue.h"
#include "dumper/writer/infer/layout.h"
#include "dumper/writer/scan/names.h"
#include "lib/base/prefetch.h"

#include <string.h>

/** The ranks of names, best first. */
enum rank {
	RANK_DECLARED, /**< set by the program */
	RANK_VTABLE,
	RANK_TAG,           /**< its pointer tag belongs to a group whose type is known */
	RANK_EXACT,         /**< a typed slot points to its start, and the size is the type's */
	RANK_FLEXIBLE,      /**< likewise, of a header and elements */
	RANK_LOCAL,         /**< either of these by a local variable, which may not be set yet */
	RANK_STRING,        /**< a char * points to its start, and it reads like text */
	RANK_DISCRIMINATOR, /**< its discriminator has the value of blocks whose types are known */
	RANK_DISCRIMINATOR_LIKELY,
	RANK_PASSED_EXACT,    /**< as RANK_EXACT, but the holder of the slot has a weaker name */
	RANK_PASSED_FLEXIBLE, /**< likewise */
	RANK_EMBEDDED,        /**< the only type of its size that has the hinted parts */
	RANK_SITE,            /**< the type that the allocating code handles */
	RANK_VOTE,            /**< the type of its siblings */
	RANK_ARRAY,           /**< a whole number of a slot's pointee */
	RANK_TEXT,
	RANK_SLACK,   /**< elements and a rest */
	RANK_ELEMENT, /**< a typed slot points to an element in its middle */
	RANK_NONE,
	RANKS = RANK_NONE,
};

struct claim {
	heap_object_id object;
	heap_type_id type;
	uint64_t elements : 55;
	uint64_t evidence : 8;
	uint64_t is_sure : 1; /**< no guess between a root and this claim */
};

struct claims {
	const struct layouts *layouts;
	struct names *names;
	struct claim_queue queues[RANKS]; /**< of objects: what is claimed of them is in names */
	struct claim_queue taken;         /**< those that are being applied */
	uint8_t *rank;      /**< [objects] of its name, or of the best claim that waits for it */
	uint8_t *name_rank; /**< [objects] of its name */
	uint8_t *waits; /**< [objects / 8 + 1] a bit each: its last claim has not been taken yet */
	bool *is_renamed;   /**< [objects] its name was withdrawn once: that happens only once */
	uint64_t applied;   /**< claims that have named objects */
	uint64_t changes;   /**< how often a rank has changed */
	bool may_be_double; /**< an object may be in a queue twice: a name was withdrawn meanwhile */
};

/** @param layouts, names  must outlive it. claims_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *claims_init(struct claims *claims, const struct layouts *layouts,
			       struct names *names, heap_object_id objects);

void claims_deinit(struct claims *claims);

/** Puts a claim into the queue of its rank, unless the object has a name as good. */
HEAP_MUST_CHECK
struct heap_error *claims_add(struct claims *claims, enum rank rank, const struct claim *claim);

/** The rank of the best claim that waits; RANK_NONE if there is none. */
enum rank claims_best(const struct claims *claims);

/** Takes all claims of a rank that wait, to be applied. Until claims_taken() no others may be taken. */
const struct claim_queue *claims_take(struct claims *claims, enum rank rank);

/**
 * Notes that a claim is being applied. Several threads may call it for claims of different words
 * (claim_queue.h) that were taken.
 *
 * @param position  of the claim; its object is dropped if a better one has superseded it
 * @return NULL if it was superseded
 */
const struct name *claims_settle(struct claims *claims, enum rank rank, size_t position);

/** Ends what claims_take() began, and frees its result. */
void claims_taken(struct claims *claims);

/** Frees what waiting claims need, as no claim waits. */
void claims_rest(struct claims *claims);

/** The rank of an object's name, or of the best claim that waits for it. Thread-safe. */
static inline enum rank claims_rank(const struct claims *claims, heap_object_id object)
{
	return __atomic_load_n(&claims->rank[object], __ATOMIC_ACQUIRE);
}

/**
 * True if claims_add() would ignore a claim on an object, whatever it says. Thread-safe: claims may be
 * added meanwhile. True stays true until a name is withdrawn.
 */
bool claims_are_futile(const struct claims *claims, enum rank rank, heap_object_id object);

/** Prefetches what claims_are_futile() reads. */
static inline void claims_prefetch(const struct claims *claims, heap_object_id object)
{
	heap_prefetch(&claims->rank[object]);
	heap_prefetch(&claims->waits[object / 8]);
}

/** Withdraws an object's name, at most once per object: see is_renamed. */
void claims_withdraw(struct claims *claims, heap_object_id object);

/**
 * The first object from one on whose rank is @p rank, or @p end: RANK_NONE finds those that nothing claims. Faster
 * by far than to visit each object, where few are of that rank.
 */
static inline heap_object_id claims_next(const struct claims *claims, enum rank rank,
					 heap_object_id object, heap_object_id end)
{
	const uint8_t *found =
		object < end ? memchr(&claims->rank[object], (int)rank, end - object) : NULL;

	return found ? (heap_object_id)(found - claims->rank) : end;
}

/** True if an object's name is better than a claim from a single hint. */
static inline bool claims_are_good(const struct claims *claims, heap_object_id object)
{
	return claims->rank[object] < RANK_ARRAY;
}

/** True for an object that no evidence has named, also not for a while. */
static inline bool claims_lack(const struct claims *claims, heap_object_id object)
{
	return claims->rank[object] == RANK_NONE && !claims->is_renamed[object];
}

/**
 * True if a type is preferred to another one with equal evidence: the one that has the other as
 * its first part, or else an arbitrary one, the same in each run.
 */
bool claims_prefer(const struct layouts *layouts, heap_type_id one, heap_type_id other);

#endif
