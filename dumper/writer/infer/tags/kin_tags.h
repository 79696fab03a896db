// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef KIN_TAGS_H
#define KIN_TAGS_H

/**
 * Kin: structs that begin with the same members, an enum among them, without one of them being the beginning of the others,
 * and whose names the enumerators do not have.
 *
 *	struct node { void *user; enum kind kind; char *name; struct node *next; struct space *space; … };
 *	struct rule { void *user; enum kind kind; char *name; struct node *next; long count; struct rule *other; };
 *
 * A struct node * leads to any of them, and the size of a block seldom tells which. But all blocks with one value of the enum
 * are of one struct: the one with which the contents of nearly all of them agree best.
 */

#include "dumper/writer/infer/tags/enum_names.h"

struct inference;

enum {
	KIN = 16, /**< structs, at most */
};

/** Structs that begin alike. */
struct kin {
	struct enum_place place; /**< of the enum that all have */
	heap_type_id types[KIN];
	uint32_t count;
};

/** Finds the structs that begin alike among those with an enum at one place. @return false: there are not several */
bool kin_tags_find(const struct layouts *layouts, const struct named_struct *list, size_t count,
		   struct kin *result);

/** True if a block has the size of one of them. */
bool kin_tags_fit(const struct inference *inference, const struct kin *kin, heap_object_id object);

/** The struct that a value of the enum tells. */
struct kin_value {
	uint64_t value;
	heap_type_id type;
};

enum {
	KIN_VALUES = 128, /**< of an enum, at most */
};

/**
 * Learns which struct goes with which value, by the contents of all blocks.
 *
 * @param values  [KIN_VALUES]
 * @return their number; 0: they tell no structs apart
 */
uint32_t kin_tags_learn(const struct inference *inference, const struct kin *kin, uint64_t *words,
			struct kin_value *values);

#endif
