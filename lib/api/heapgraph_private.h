// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPGRAPH_PRIVATE_H
#define HEAPGRAPH_PRIVATE_H

/**
 * The structures behind libheapgraph's handles; for heapgraph_*.c only.
 *
 * The public functions check every id that they are given, and that the data for an answer is loaded.
 * So no call can read outside a table. Errors and enumerators are those of the rest of lib/ by another
 * name; heapgraph.c asserts that their values are equal.
 */

#include "lib/graph/divided.h"
#include "lib/api/heapgraph.h"
#include "lib/types/scalar.h"

struct heapgraph {
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;     /**< NULL until EDGES */
	struct heap_divided *divided; /**< NULL until RETAINED */
	struct heap_dominators dominators;
	struct heap_progress progress;
	bool has_progress;
	unsigned has; /**< enum heapgraph_needs */
};

struct heapgraph_set {
	struct heapgraph *graph;
	uint8_t *bits; /**< [objects / 8 + 1] */
};

/** Converts an error to its public type. */
HEAP_MUST_CHECK
static inline struct heapgraph_error *heapgraph_public(struct heap_error *error)
{
	return (struct heapgraph_error *)error;
}

/** HEAP_TRY() for functions that return a public error. */
#define HEAPGRAPH_TRY(expression) \
	do { \
		struct heap_error *tried_ = (expression); \
		if (tried_) \
			return heapgraph_public(tried_); \
	} while (0)

/** True if there is such an object, and all that @p needs names is loaded. */
static inline bool heapgraph_has(const struct heapgraph *graph, heapgraph_object_id object,
				 unsigned needs)
{
	return (graph->has & needs) == needs && object < graph->snapshot->object_count;
}

/** heapgraph_need() with an error of the library's own type. */
HEAP_MUST_CHECK
struct heap_error *heapgraph_prepare(struct heapgraph *graph, unsigned needs);

/** Fills in the names of a place in the code; numbers are offsets in the snapshot's strings. */
void heapgraph_fill_place(const struct heapgraph *graph, uint32_t function, uint32_t file,
			  uint32_t line, uint32_t module, struct heapgraph_place *result);

#endif
