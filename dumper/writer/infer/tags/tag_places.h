// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TAG_PLACES_H
#define TAG_PLACES_H

/**
 * The places of pointer tags: the offset of a member that all blocks of some types have, and whose value
 * leads to a method table in nearly all of them.
 */

#include "dumper/writer/infer/tags/pointer_tags.h"
#include "lib/base/bits.h"

struct inference;
struct type_places;

enum {
	TAG_HEAD_BYTES = 64, /**< of a block behind its prefix, in which a tag may be */
};

/** A pass over the blocks whose type has a place. */
struct tag_search {
	struct inference *inference;
	struct type_places *of_types; /**< private: [types] */
};

HEAP_MUST_CHECK
struct heap_error *tag_search_init(struct tag_search *search, struct inference *inference);

/** Zeros are fine. */
void tag_search_deinit(struct tag_search *search);

/** True if a type has a place. */
bool tag_places_have(const struct inference *inference, heap_type_id type,
		     const struct tag_place *place);

/** Lists the structs that have a place, and the names of such, if that has not been done: a program may have thousands of tags. */
HEAP_MUST_CHECK
struct heap_error *tag_places_list(struct inference *inference, uint32_t place);

/** Finds the blocks with a pointer to a method table among their first words: no other can have a tag. */
HEAP_MUST_CHECK
struct heap_error *tag_places_find_holders(struct inference *inference);

/** True if tag_places_find_holders() found the block. */
static inline bool tag_places_is_holder(const struct pointer_tags *tags, heap_object_id object)
{
	return heap_bit_get(tags->holders, object);
}

/**
 * Finds the places in blocks of known type, and accepts those where enough blocks have a tag.
 *
 * @param any  gets true if a place is accepted, now or before
 */
HEAP_MUST_CHECK
struct heap_error *tag_places_accept(struct tag_search *search, bool *any);

/**
 * Called for a place of a block.
 *
 * @param place    its number
 * @param word     the value there
 * @param is_done  set to true to skip the other places of the block
 */
typedef struct heap_error *tag_place_visitor(struct tag_search *search, heap_object_id object,
					     uint16_t place, uint64_t word, bool *is_done);

/**
 * Visits the places of blocks that tag_places_find_holders() found and whose type is known.
 *
 * @param joined  also of those that have a group
 */
HEAP_MUST_CHECK
struct heap_error *tag_places_visit(struct tag_search *search, bool joined,
				    tag_place_visitor *visit);

#endif
