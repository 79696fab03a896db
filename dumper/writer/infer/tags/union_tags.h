// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNION_TAGS_H
#define UNION_TAGS_H

/**
 * Union tags: the number beside a union that tells which of its members holds. A pointer in the union
 * leads to what the member points to that goes with the number's value.
 *
 *	struct expr { enum kind kind; int line; union { struct call *call; struct name *name; } as; };
 *
 * No debug information says which number that is (variant parts of Ada and Rust apart). It is learned from
 * the blocks that the pointers lead to: those with one value of it are of one type.
 *
 *	struct value { union { struct member *members; struct value *elements; double number; }; };
 *
 * may have its tag above the address in the pointer itself.
 */

#include "dumper/writer/infer/claims.h"
#include "lib/base/hash_table.h"

struct inference;
struct pointer;
struct union_choice;

/** The pointers of unions, by the structs that the unions are in, and what is known of their tags. */
struct union_tags {
	struct union_choice *choices; /**< [count] */
	uint32_t count, capacity;
	struct union_place *places; /**< [place_count] */
	uint32_t place_count, place_capacity;
	struct heap_hash_table place_of; /**< by type and offset */
	uint8_t *has_unions;             /**< [types] with pointers in them: see union_tags.c */
};

/** union_tags_deinit() frees it, also after an error. @param types  how many */
HEAP_MUST_CHECK
struct heap_error *union_tags_init(struct union_tags *tags, uint32_t types);

void union_tags_deinit(struct union_tags *tags);

/**
 * Learns tags from all pointers in unions, and follows the pointers whose pointees have become known.
 *
 * @param learned  the number of values is added
 */
HEAP_MUST_CHECK
struct heap_error *union_tags_learn(struct inference *inference, uint64_t *learned);

/** The target of a pointer in a union. */
struct union_pointee {
	heap_type_id type; /**< HEAP_NO_TYPE: unknown */
	bool is_sure;      /**< sure names of such blocks say so */
	bool is_array;     /**< blocks have any number of that type */
	uint64_t elements; /**< as a number beside the pointer says; 0: none does */
};

/** Asks a union's tag where a pointer in it leads to. @param offset  of the pointer in its holder */
HEAP_MUST_CHECK
struct heap_error *union_tags_ask(struct inference *inference, const struct pointer *pointer,
				  uint64_t offset, struct union_pointee *result);

#endif
