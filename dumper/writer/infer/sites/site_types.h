// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITE_TYPES_H
#define SITE_TYPES_H

/**
 * The types that the code at an allocation site may give the block: those that its functions have
 * pointers to, as variables, parameters or results.
 */

#include "dumper/writer/scan/capture.h"

enum {
	/** Functions inlined into each other are asked from the inside out, so many at most. */
	SITE_TYPE_DEPTHS = 16,
};

struct site_type {
	heap_type_id type; /**< stripped */
	uint32_t depth;    /**< 0: of the innermost function */
	bool is_result;    /**< the very variable that gets the address of the block */
	bool is_passed;    /**< that of a function's result to which the block is passed */
};

struct site_types {
	struct site_type *list; /**< [count] */
	uint32_t count;
};

/** @param result  gets a malloc'd list; empty if nothing is known of the code */
HEAP_MUST_CHECK
struct heap_error *site_types_find(struct capture *capture, heap_site_id site,
				   struct site_types *result);

/**
 * True if the variable that gets a block, of @p size, at a return address points to just that, or
 * to its first part. What other types begin with is not just that.
 */
bool site_types_know(struct capture *capture, uint64_t address, uint64_t size);

/** True if the innermost function at a return address is one of a standard library, inlined or not. */
bool site_types_is_standard(struct capture *capture, uint64_t address);

#endif
