// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DEEP_CONTENT_H
#define DEEP_CONTENT_H

/**
 * Values that nothing but their size and contents tells the type of: it is the one with which the words of
 * all of them agree, and those of what their pointers lead to. So many words agree by chance with no
 * other type, unless it is as good; then none is chosen.
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"

struct inference;

/** A value in a block, or a block of its own. */
struct deep_value {
	heap_object_id object;
	uint64_t start; /**< behind the block's prefix */
	uint64_t size;
	uint64_t slack; /**< bytes of these that may not belong to it */
};

struct deep_type;

struct deep_values HEAP_ARRAY(struct deep_value);

struct deep_content {
	const struct inference *inference;
	struct HEAP_ARRAY(struct deep_type) types; /**< private: by size */
	uint8_t *near;           /**< private: [types] 1: see deep_content_init() */
	uint64_t *words, *ahead; /**< private: [CONTENT_WORDS + 1] */
};

/**
 * Gathers the structs that values may be of. Where no sites are known, those that the program's executable
 * knows, or that some block is known to have, are nearer than what libraries hide.
 *
 * deep_content_deinit() frees it, also after an error.
 */
HEAP_MUST_CHECK
struct heap_error *deep_content_init(struct deep_content *deep, const struct inference *inference);

void deep_content_deinit(struct deep_content *deep);

/** True for a near type, and where sites are known. */
bool deep_content_is_near(const struct deep_content *deep, heap_type_id type);

/** True if there are but zeros in a value. */
bool deep_content_is_zero(const struct deep_content *deep, const struct deep_value *value);

/** How far a sample of values agrees with a type. Values of zeros are not among them. */
struct deep_verdict {
	uint32_t samples, against;
	uint32_t agreeing; /**< what their pointers lead to, too */
	int64_t score;     /**< of all */
};

/** Compares values with a type, as long as not too many contradict. */
struct deep_verdict deep_content_judge(const struct deep_content *deep,
				       const struct deep_values *values, heap_type_id type);

/** How many types deep_content_choose() would compare values with: those of their size. */
size_t deep_content_rivals(const struct deep_content *deep, const struct deep_values *values);

/**
 * The type of values, by a sample of them; HEAP_NO_TYPE: unknown. Those of zeros do not count. A near type has to
 * be better than all other near ones, and nearly as good as the others.
 *
 * @param are_alike  they are known to be of one type
 */
heap_type_id deep_content_choose(const struct deep_content *deep, const struct deep_values *values,
				 bool are_alike);

#endif
