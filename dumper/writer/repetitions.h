// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPETITIONS_H
#define REPETITIONS_H

/**
 * Where pointers are in a block of a type, whatever its size: values repeat as in an array, or
 * a header stands before elements that do.
 *
 *	type   T │ T │ T │ …        header │ element │ element │ …
 *	       └ stride ┘                  └ flexible_stride ┘
 */

#include "dumper/writer/layout.h"

struct repetition {
	const struct layout_slots *slots; /**< of one value; NULL in none that has been found */
	uint64_t stride;
	const struct layout_slots *flexible_slots; /**< of an element; NULL: there are none */
	uint64_t flexible_offset;
	uint64_t flexible_stride;
};

/** Those that have been asked for. */
struct repetitions {
	const struct layouts *layouts;
	struct repetition *known; /**< [types] */
};

/** @param layouts  must live as long as the result */
HEAP_MUST_CHECK
struct heap_error *repetitions_init(struct repetitions *repetitions, const struct layouts *layouts);

void repetitions_deinit(struct repetitions *repetitions);

/** Finds how values of a type repeat. @param result  lives as long as the repetitions */
HEAP_MUST_CHECK
struct heap_error *repetitions_find(struct repetitions *repetitions, heap_type_id type,
				    const struct repetition **result);

/** Whether there is any pointer. */
bool repetition_has_slots(const struct repetition *repetition);

/** The slots at an offset of a block: [*first, *end) of the result; NULL if there is none. */
const struct layout_slots *repetition_slots_at(const struct repetition *repetition, uint64_t offset,
					       uint32_t *first, uint32_t *end);

#endif
