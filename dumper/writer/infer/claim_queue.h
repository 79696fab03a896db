// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CLAIM_QUEUE_H
#define CLAIM_QUEUE_H

/**
 * Objects that wait for something: a list while they are few, a bit for each object when they are many.
 *
 *	few    17 4 99 4 …       in the order in which they came
 *	many   0000100000000…    by address
 *
 * An object has a position, from 0 to claim_queue_end(), in both of them. Positions stay when objects are
 * dropped, and are lost when one is added.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

enum {
	CLAIM_QUEUE_WORD =
		64, /**< positions: if they are many, threads may drop those of different words */
};

/** Zeros: an empty queue. */
struct claim_queue {
	heap_object_id *list; /**< [count] HEAP_NO_OBJECT: was dropped */
	size_t count;         /**< objects that were added since it was empty */
	size_t capacity;      /**< of the list */
	uint64_t *bits;       /**< [objects / 64 + 1] in place of the list; NULL: they are few */
	heap_object_id objects;
};

/** @param objects  in all: each one is below that */
static inline struct claim_queue claim_queue_make(heap_object_id objects)
{
	return (struct claim_queue){ .objects = objects };
}

void claim_queue_deinit(struct claim_queue *queue);

/** Adds an object, which a list may have already. */
HEAP_MUST_CHECK
struct heap_error *claim_queue_add(struct claim_queue *queue, heap_object_id object);

/** Empties a queue. Keeps a short list's memory. */
void claim_queue_clear(struct claim_queue *queue);

/** One more than any position. */
static inline size_t claim_queue_end(const struct claim_queue *queue)
{
	return queue->bits ? queue->objects : queue->count;
}

/** The first position from one on that has an object; @p end if that comes first. */
static inline size_t claim_queue_next(const struct claim_queue *queue, size_t at, size_t end)
{
	if (!queue->bits) {
		while (at < end && queue->list[at] == HEAP_NO_OBJECT)
			at++;
		return at;
	}
	while (at < end) {
		uint64_t word = queue->bits[at / CLAIM_QUEUE_WORD] >> at % CLAIM_QUEUE_WORD;

		if (word) {
			at += (size_t)__builtin_ctzll(word);
			break;
		}
		at += CLAIM_QUEUE_WORD - at % CLAIM_QUEUE_WORD;
	}
	return at < end ? at : end;
}

/** The object at a position that has one. */
static inline heap_object_id claim_queue_object(const struct claim_queue *queue, size_t at)
{
	return queue->bits ? (heap_object_id)at : queue->list[at];
}

/** Drops the object at a position. */
static inline void claim_queue_drop(struct claim_queue *queue, size_t at)
{
	if (queue->bits)
		queue->bits[at / CLAIM_QUEUE_WORD] &= ~(UINT64_C(1) << at % CLAIM_QUEUE_WORD);
	else
		queue->list[at] = HEAP_NO_OBJECT;
}

#endif
