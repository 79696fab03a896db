// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POINTER_TAGS_H
#define POINTER_TAGS_H

/**
 * Pointer tags: a word at a fixed place of a block whose value is the address of a method table, which
 * identifies the type of the block (ob_type, klass, ops). Blocks with the same value form a group, whatever
 * their sites and sizes, and facts about some of its members hold for all.
 *
 * A place is an offset and what the pointer there leads to. A group gets its type from strong claims
 * on its members, from the receivers of its table's functions, or from the code that allocates its
 * members. A group's type must have the place, and fit its members' sizes.
 */

#include "dumper/writer/infer/tags/method_tables.h"

struct inference;
struct kind;

/** Where a tag is. */
struct tag_place {
	heap_type_id pointee; /**< stripped; HEAP_NO_TYPE: void */
	uint32_t offset;      /**< bytes, behind the block's prefix */
	uint32_t blocks, tagged;
	uint64_t pointers; /**< words in blocks' heads that lead to the same tables */
	bool is_accepted, is_listed;
	struct HEAP_ARRAY(heap_type_id) types; /**< that have it: see tag_places_list() */
};

/** The blocks with one tag. */
struct tag_group {
	uint64_t value;
	uint32_t place;
	uint32_t prefix;       /**< bytes, of most members that are known to have one */
	uint32_t prefix_votes; /**< private: Boyer and Moore's */
	uint32_t count;        /**< members */
	uint32_t first;        /**< private: in the list of members */
	uint32_t weighed;      /**< private: members when its type was last looked for */
	heap_type_id type;     /**< or HEAP_NO_TYPE */
	bool is_guessed;       /**< no typed slot leads to a member */
	bool is_elected;  /**< its type is that of members: those of other sizes have another */
	uint8_t evidence; /**< enum heap_evidence */
	uint8_t rank;     /**< enum rank, of its members' claims */
};

struct pointer_tags {
	struct method_tables tables;
	struct HEAP_ARRAY(struct tag_place) places;
	struct HEAP_ARRAY(struct tag_group) groups;
	struct heap_hash_table by_value;
	uint8_t *holders;  /**< a bit per object: a word in its head leads to a table */
	uint32_t *of;      /**< [objects] group + 1; 0: none; NULL: no place is accepted */
	uint32_t *members; /**< [objects] by group */
	bool is_renewed;   /**< kinds have not been sorted since */
	bool takes_bases;  /**< see pointer_tags_take_bases() */
	uint64_t applied;  /**< claims, and hints, when groups were last looked for */
	uint32_t hints_seen;
};

/** Finds tables and receivers. It adds to the capture's types, so it comes before all that relies on them. */
HEAP_MUST_CHECK
struct heap_error *pointer_tags_init(struct pointer_tags *tags, struct capture *capture,
				     const struct head_words *heads);

/**
 * Finds the groups and claims that their members are of their types.
 *
 * @param is_thorough  search even if little has been learned since the last time
 * @param claimed      increased by the number of blocks
 */
HEAP_MUST_CHECK
struct heap_error *pointer_tags_apply(struct inference *inference, bool is_thorough,
				      uint64_t *claimed);

/**
 * Also claims what the allocating code handles if that is smaller than the blocks: it knows what all its objects begin with, and
 * takes their sizes from a table. So it is asked when nothing else is left to tell what begins with that.
 */
HEAP_MUST_CHECK
struct heap_error *pointer_tags_take_bases(struct inference *inference, uint64_t *claimed);

/** The tag value of an object's group, for kinds; NO_TAG if it has no group. */
uint64_t pointer_tags_read(const struct pointer_tags *tags, heap_object_id object);

/** True for a value that pointer_tags_read() made. */
bool pointer_tags_made(uint64_t tag);

/** True if the members of a kind that has a group cannot be of a type. */
bool pointer_tags_exclude(const struct inference *inference, const struct kind *kind,
			  heap_type_id type);

/** Names the tags for the capture. */
HEAP_MUST_CHECK
struct heap_error *pointer_tags_finish(struct inference *inference);

void pointer_tags_deinit(struct pointer_tags *tags);

#endif
