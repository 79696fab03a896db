// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PART_ANSWERS_H
#define PART_ANSWERS_H

/**
 * Keeps whether types have parts, as was found before. Where structs have hundreds of members, and blocks many hints, the same
 * few questions are asked again for each block. Thread-safe: an answer is one word. It is overwritten by that to another
 * question with the same place.
 */

#include "lib/types/types.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	PART_ANSWERS = 1 << 14, /**< places */
};

struct part_answers {
	uint64_t *words; /**< [PART_ANSWERS] */
};

/** A question. */
struct part_question {
	heap_type_id whole, part;
	uint64_t offset;
};

/** part_answers_deinit() frees them. @return false: there is no memory */
bool part_answers_init(struct part_answers *answers);

void part_answers_deinit(struct part_answers *answers);

/** @param has  the answer, if it is known @return whether it is */
bool part_answers_find(const struct part_answers *answers, const struct part_question *question,
		       bool *has);

/** Keeps an answer. */
void part_answers_keep(const struct part_answers *answers, const struct part_question *question,
		       bool has);

#endif
