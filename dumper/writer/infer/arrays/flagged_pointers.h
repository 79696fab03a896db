// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FLAGGED_POINTERS_H
#define FLAGGED_POINTERS_H

/**
 * Pointers with flags in their lowest bits, in members of structs that hold pointers without flags, too:
 *
 *	struct node *children[4] ──▶ struct node
 *				 ──▶ struct leaf, with 1 in the lowest bit
 *
 * The flag may tell something else than the type of the target, as the colour does that a red-black tree keeps
 * beside the pointer to the parent: then the same targets are led to without it. Where they are not, it tells a
 * type, which is not the declared one: such a pointer is no evidence. Where all pointers have the flag, it tells nothing,
 * unless it does so in other structs with pointers of that type: the smallest inner nodes of a tree have leaves alone.
 *
 * So such pointers wait until there is no better evidence; then each group of them, of one member type in one
 * type, is decided, and again when it has doubled.
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct inference;
struct pointer;

struct flag_group {
	heap_type_id holder, pointee;
	uint32_t flags;
	bool tells_type;
	uint64_t pointers;
	uint64_t decided;      /**< of these, when it was decided last; 0: never */
	uint64_t plain;        /**< pointers without flags in its members */
	uint64_t kept, shared; /**< those that wait, and of these those to targets of plain ones */
};

struct flagged_pointers {
	struct HEAP_ARRAY(struct flag_group) groups;
	struct heap_hash_table by_member; /**< groups by holder and pointee, whatever their flags */
	struct HEAP_ARRAY(struct flagged_pointer) waiting;
};

void flagged_pointers_deinit(struct flagged_pointers *pointers);

/** True if a pointer has flags, and its member's type is a struct's. */
bool flagged_pointers_concern(const struct inference *inference, heap_type_id pointee,
			      heap_object_id target, uint64_t interior);

/** Applies a pointer that they concern, or ignores it, or lets it wait. */
HEAP_MUST_CHECK
struct heap_error *flagged_pointers_add(struct inference *inference, heap_type_id pointee,
					const struct pointer *pointer);

/** Decides on those that wait. @param applied  increased by the number of those that are applied */
HEAP_MUST_CHECK
struct heap_error *flagged_pointers_decide(struct inference *inference, uint64_t *applied);

/** True if flags in the members of a type are known to tell the types of targets. Thread-safe. */
bool flagged_pointers_tell_type(const struct inference *inference, heap_type_id holder,
				uint64_t interior);

#endif
