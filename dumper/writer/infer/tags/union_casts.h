// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNION_CASTS_H
#define UNION_CASTS_H

/**
 * Code tells what it casts the void pointers of unions to. Which member of a union holds is not known: the structs
 * of all of them are alternatives.
 *
 *	struct value { enum kind kind; union { struct list list; struct { void *compiled; } pattern; }; };
 *
 *	run(pattern->compiled, text):		struct program
 */

#include "dumper/writer/casts/casts.h"
#include "dumper/writer/infer/layout.h"

enum {
	UNION_CASTS = 8, /**< a pointer that is cast to more tells nothing */
};

struct union_casts {
	heap_type_id types[UNION_CASTS]; /**< [count] */
	uint32_t count;
};

/** Finds those of the pointers at an offset of a type. */
struct union_casts union_casts_find(const struct casts *casts, const struct layouts *layouts,
				    heap_type_id type, uint64_t offset);

#endif
