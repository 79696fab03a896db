// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_CASTS_H
#define VOID_CASTS_H

/**
 * The structs that code casts a void pointer to (casts.h), and which of them a block behind it is: the one of its
 * size that its contents agree with.
 *
 * What code takes from the struct around the pointer's own says more: the entries of a hash table have keys of
 * any kind, those of one table have but one.
 *
 *	struct entry { void *data; };		entry->data: struct reply, struct host
 *	struct message { struct entry entry; };	message->entry.data: struct reply
 *
 * So does what leads to the container: what is handed to its functions together with `office->clients` is a client.
 */

#include "dumper/writer/infer/void_pointers/void_contexts.h"

struct inference;

enum {
	VOID_CASTS_RARE =
		64, /**< bytes, from which on a struct of a wrong type is hardly of a block's size */
	VOID_CASTS_MAX =
		64, /**< structs that one void pointer is cast to; that of lists of anything has more */
};

#define VOID_CASTS_ANYWHERE UINT8_MAX

struct void_casts {
	heap_type_id types[VOID_CASTS_MAX]; /**< [count] those of the outermost struct first */
	uint8_t depths
		[VOID_CASTS_MAX]; /**< [count] of the struct whose member the pointer is then */
	uint32_t count;           /**< 0: none, or too many */
};

/** Finds the casts of the void pointer at an offset of a type, also as a member of a member. */
struct void_casts void_casts_gather(const struct inference *inference, heap_type_id type,
				    uint64_t offset);

/**
 * Likewise those that code casts it to where it takes it from, or puts it into, the container that a pointer leads to. Those
 * that no container is known of may be in this one, too: their depth is VOID_CASTS_ANYWHERE.
 *
 * @return none if nothing is known of this container
 */
struct void_casts void_casts_gather_within(const struct inference *inference, heap_type_id type,
					   uint64_t offset, const struct void_origin *origin);

/** What a block is by the casts. */
struct void_cast_choice {
	struct layout_claim claim; /**< LAYOUT_NONE: nothing, or one of several */
	bool is_ambiguous;         /**< one of several */
	bool is_likely; /**< its contents speak for it, or hardly anything else is of its size */
};

/**
 * Which of them a block may be. One that is larger than the struct may have anything behind it, if its contents speak for
 * the struct.
 *
 * @param words  [CONTENT_WORDS + 1] for its contents
 */
struct void_cast_choice void_casts_choose(const struct inference *inference,
					  const struct void_casts *casts, heap_object_id target,
					  uint64_t *words);

#endif
