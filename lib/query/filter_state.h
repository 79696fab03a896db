// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_STATE_H
#define HEAP_FILTER_STATE_H

/** The state of a filter, for the files that implement filter.h: one parses it, one tests objects. */

#include "lib/query/filter.h"
#include "lib/query/filter_terms.h"

struct heap_filter {
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;
	const struct heap_divided *divided;
	const uint8_t *is_new;   // [objects], or NULL
	struct heap_term *terms; // [count]
	size_t count;
	uint8_t *content; // room for an object's bytes
	size_t content_capacity;
	struct heap_error *error;  // the first that reading contents met
	struct heap_error *absent; // the first name that the snapshot does not have
	bool lacks_field;          // absent is of a field
};

#endif
