// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNION_GROUPS_H
#define UNION_GROUPS_H

/**
 * The blocks that pointers in unions lead to, grouped by the value of each number that may be the union's tag,
 * and how well each type that they may have goes with them.
 */

#include "dumper/writer/infer/holders.h"
#include "dumper/writer/infer/tags/union_choices.h"

#include "lib/base/array.h"

enum {
	UNION_ALTERNATIVES = 48, /**< types that a pointer may lead to; at most 64 */
	UNION_VALUES = 64,       /**< of a tag */
	UNION_SIZES = 3,         /**< of blocks that are arrays */
	UNION_ANSWERS = 1 << 10,
};

/** How well a group goes with one alternative. */
struct union_support {
	uint32_t votes;    /**< blocks that surely have that type */
	uint32_t seen;     /**< blocks that were held against it */
	uint32_t fitting;  /**< of these, blocks of which nothing but contents speaks against it */
	uint32_t checked;  /**< blocks whose contents were read */
	uint32_t agreeing; /**< of these */
	int64_t score;     /**< of their contents */
	uint32_t counted
		[UNION_LENGTHS]; /**< blocks that have as many elements as that number says */
	uint32_t several;        /**< of these, those that have more than one, at most */
};

/** The pointers whose tag has one value. */
struct union_group {
	uint64_t value;
	uint32_t count, voters;
	uint64_t sizes[UNION_SIZES]; /**< [size_count] of the blocks, the first ones */
	uint32_t size_count;
	struct union_support support[UNION_ALTERNATIVES];
};

/** The groups by one number. */
struct union_groups {
	uint64_t values[UNION_VALUES]; /**< [count] of the groups: they are searched */
	struct union_group *list;      /**< [count] */
	uint32_t count, capacity;
	uint32_t
		overlaid; /**< pointers beside which a part of another pointer is in the number's place */
	bool are_too_many;
};

/** The evidence for one choice. */
struct union_tally {
	heap_type_id alternatives[UNION_ALTERNATIVES];
	uint32_t alternative_count;
	uint32_t declared; /**< of these, those that the union's members point to */
	bool is_open;      /**< there is a void *: the pointee may be any type */
	bool has_casts;    /**< what code casts that to is among the alternatives */
	uint64_t casts;    /**< a bit for each of these */
	struct union_groups groups[UNION_NUMBERS];
	uint64_t explained
		[UNION_NUMBERS]; /**< for union_tags.c: pointers, if the number is the tag */
};

/** If a block may have a type. Many pointers lead to a few blocks, whose hints are many. */
struct union_answer {
	heap_object_id target;
	heap_type_id type; /**< HEAP_NO_TYPE: the entry is free */
	bool may_be;
};

struct union_lesson {
	struct inference *inference;
	struct HEAP_ARRAY(struct union_tally) tallies; /**< by choice */
	uint64_t *words;                               /**< [CONTENT_WORDS + 1] the caller's */
	struct union_answer answers[UNION_ANSWERS];    /**< the last ones, by hash */
};

/** Groups the blocks of all choices. union_lesson_deinit() frees the result, also after an error. */
HEAP_MUST_CHECK
struct heap_error *union_groups_gather(struct union_lesson *lesson);

void union_lesson_deinit(struct union_lesson *lesson);

/** True if a group's blocks are arrays of a type, of several lengths. */
bool union_groups_are_arrays(const struct inference *inference, const struct union_group *group,
			     heap_type_id type);

/** The number beside the pointers that tells how many elements of a type each block has, or UNION_LENGTHS. */
uint32_t union_groups_length(const struct union_support *support);

/** A pointer in a union that is visited. */
struct union_pointer {
	heap_object_id holder;
	uint32_t edge;
	const struct heap_repetition *repetition; /**< of the holder's type */
	const struct union_place *place;
	uint64_t address; /**< of the value that has it: see union_choices_find() */
	uint64_t offset;  /**< in its holder */
};

typedef struct heap_error *union_visitor(void *context, const struct union_pointer *pointer);

/** Finds the objects of types with unions that have choices. @param count  gets their number */
HEAP_MUST_CHECK
struct heap_error *union_groups_holders(struct inference *inference, struct holders *holders,
					heap_object_id *count);

/** Visits the pointers in unions of one object. */
HEAP_MUST_CHECK
struct heap_error *union_groups_visit(struct inference *inference, heap_object_id object,
				      union_visitor *visit, void *context);

#endif
