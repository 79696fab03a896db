// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROOTS_H
#define ROOTS_H

/**
 * Roots while they are gathered, and the pointers from them into the heap.
 *
 * A word belongs to one root: the variable that contains it, or else the frame, the segment or the
 * mapping that it lies in.
 */

#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/objects.h"
#include "lib/base/array.h"

/** Memory that a variable has claimed. */
struct root_claim {
	uint64_t start;
	uint64_t end;
};

struct roots {
	struct heap_snapshot *snapshot; /**< that gets the roots, their edges and values */
	uint32_t capacity;
	uint64_t edge_capacity, content_capacity;
	struct HEAP_ARRAY(struct root_claim) claims; /**< by address once sorted */
};

void roots_deinit(struct roots *roots);

HEAP_MUST_CHECK
struct heap_error *roots_add(struct roots *roots, const struct heap_root *root,
			     heap_root_id *result);

/** Notes a pointer, if @p word is one. @param offset  bytes into the root */
HEAP_MUST_CHECK
struct heap_error *roots_add_word(struct roots *roots, heap_root_id root, uint64_t offset,
				  uint64_t word, const struct objects *objects);

/**
 * Adds a variable that lies in memory: its value, its pointers, and its claim to the words.
 *
 * @param limit  bytes of its value to keep
 */
HEAP_MUST_CHECK
struct heap_error *roots_add_variable(struct roots *roots, const struct heap_root *root,
				      const struct image *image, const struct objects *objects,
				      uint64_t limit);

/** Keeps @p size bytes as the root's value. */
HEAP_MUST_CHECK
struct heap_error *roots_set_content(struct roots *roots, heap_root_id root, const void *bytes,
				     size_t size);

/** Claims memory that has been seen to otherwise. */
HEAP_MUST_CHECK
struct heap_error *roots_claim(struct roots *roots, uint64_t start, uint64_t size);

/** Sorts the claims; to be called after variables were added, before roots_is_claimed(). */
void roots_sort_claims(struct roots *roots);

/** True if a variable has claimed the word at @p address. */
bool roots_is_claimed(const struct roots *roots, uint64_t address);

enum roots_words {
	ROOTS_ALL_WORDS,
	ROOTS_STARTS_ONLY, /**< only pointers to the very start of a block */
};

/**
 * Gathers the pointers among the unclaimed words of @p root's memory. The root is added
 * with the first of them, and not at all if there is none.
 */
HEAP_MUST_CHECK
struct heap_error *roots_gather(struct roots *roots, const struct heap_root *root,
				const struct image *image, const struct objects *objects,
				enum roots_words which);

/** Completes a root that begins at its first pointer. */
typedef void roots_place(void *context, struct heap_root *root);

/**
 * Does the same, but adds a root of its own for each group of pointers that are near each other, as those of
 * one variable are.
 */
HEAP_MUST_CHECK
struct heap_error *roots_gather_groups(struct roots *roots, const struct heap_root *root,
				       const struct image *image, const struct objects *objects,
				       enum roots_words which, roots_place *place, void *context);

/** Sorts the edges by root and offset; when all is gathered. */
void roots_sort_edges(struct roots *roots);

#endif
