// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PIECES_H
#define HEAP_PIECES_H

/**
 * Work that is cut into pieces, done by several threads, and put together in order.
 *
 *	pieces    0 1 2 3 4 5 6 7 8 9 …
 *	join      ───▶│ in order, by one thread at a time
 *	work          └─────▶│ each piece into a part of its own, by any thread; no further ahead than
 *	                       there are parts
 *
 * A free thread joins the next piece, if that is done, or works on a further one.
 */

#include "lib/base/error.h"

#include <stddef.h>

struct heap_piece_work {
	size_t count;     /**< pieces */
	size_t parts;     /**< no more at a time; 0: as many as keep the threads busy */
	size_t part_size; /**< bytes of what a piece results in; zeros at first */
	/** Fills @p part; it may hold what an earlier piece left there. */
	struct heap_error *(*work)(void *context, size_t number, void *part);
	struct heap_error *(*join)(void *context, void *part);
	void (*release)(void *part);
	void *context;
};

/** @return the first error of any piece; what was joined before it stays */
HEAP_MUST_CHECK
struct heap_error *heap_pieces_run(const struct heap_piece_work *work);

#endif
