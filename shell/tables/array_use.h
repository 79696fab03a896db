// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARRAY_USE_H
#define ARRAY_USE_H

/**
 * How many elements of an array are used.
 *
 * No array records how many of its elements are used. Four sources tell, and the smallest answer
 * counts, as elements that a list has given up may still look used:
 *
 *	slots   an element that is a pointer or a structure is used if it is not all zero, or
 *		points somewhere; a number may well be 0
 *
 *	count   struct list { struct item *items; int count; int capacity; };
 *	        where a number beside the pointer is the array's length, another one beside it
 *	        that is named as numbers of elements are (count, length, used...) is the use
 *
 *	end     std::vector { T *start; T *finish; T *end_of_storage; };
 *	        where the pointer after the next one points to the array's end, the next one
 *	        points to the end of the used elements
 *
 *	deque   std::deque's iterators to its first element and behind its last one, for the chunks
 *		that they are in; its array of chunks is always larger than needed, and no waste
 *
 * Where the bytes were not kept, only pointers are known: structures without pointers have no
 * slots to examine then, and an array of pointers may be fuller than reported, by the pointers
 * that lead outside the heap.
 *
 * Contents are read in the order in which they are stored: first those of the arrays, then those
 * of their holders.
 */

#include "lib/query/filter.h"
#include "shell/base/session.h"

/** How it is known how many elements are used. */
enum array_measure {
	ARRAY_USE_UNKNOWN,
	ARRAY_USE_BY_SLOTS,
	ARRAY_USE_BY_COUNT,
	ARRAY_USE_BY_END,
	ARRAY_USE_BY_DEQUE,
};

struct array_use {
	heap_object_id object;
	heap_object_id holder; /**< or HEAP_NO_OBJECT: a root, or nobody */
	uint32_t edge;         /**< the holder's; or index in root_edges, or UINT32_MAX */
	uint64_t used;         /**< elements, unless it is ARRAY_USE_UNKNOWN */
	enum array_measure by;
};

struct array_uses {
	struct array_use *arrays; /**< [count] by holder */
	size_t count, capacity;
};

/**
 * Measures the arrays of 8 elements or more that a filter matches, except strings. Reads the contents of
 * each, and of its holder. Needs describe_load() and session_graph().
 *
 * @param result  to be ended with array_uses_deinit()
 * @return NULL, HEAP_ERROR_MEMORY, HEAP_ERROR_INTERRUPTED, or why contents cannot be read
 */
HEAP_MUST_CHECK
struct heap_error *array_uses_find(struct session *session, struct heap_filter *filter,
				   struct array_uses *result);

void array_uses_deinit(struct array_uses *uses);

/** "slots", "count", "end", "deque"; "" if it is unknown. */
const char *array_measure_name(enum array_measure measure);

#endif
