// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROOT_SIZES_H
#define ROOT_SIZES_H

/**
 * What each root holds, in three measures: the bytes that would be free without it, those that
 * it leads to, and those of the objects that it alone points to.
 *
 *	g_table ──▶ table ──▶ slots ──▶ names        retained, if nothing else holds them
 *	g_names ─────────────────────────┘           reachable from both, retained by neither
 */

#include "shell/base/session.h"

struct root_sizes {
	heap_root_id root;
	uint64_t retained;  /**< bytes, as all of these */
	uint64_t exclusive; /**< of objects that only this root points to itself */
	struct heap_reachable reachable;
};

/**
 * Measures the roots that hold something.
 *
 * @param minimum  bytes that a root must retain
 * @param limit    how many of them there may be in the answer
 * @param result   [*count] by what they retain, then by what they reach, the most first; the session's
 */
HEAP_MUST_CHECK
struct heap_error *root_sizes_measure(struct session *session, uint64_t minimum, size_t limit,
				      struct root_sizes **result, size_t *count);

#endif
