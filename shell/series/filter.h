// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FILTER_H
#define FILTER_H

/** Filters as a person types them: their objects may be any OBJ, and `new` compares snapshots. */

#include "lib/query/filter.h"
#include "shell/base/session.h"

/**
 * Parses a filter, computes what it needs, and loads it.
 *
 * @param words   [count]
 * @param result  the caller's, for heap_filter_destroy()
 * @return NULL; HEAP_ERROR_ARGUMENT: it cannot be read; HEAP_ERROR_ABSENT: it names an object, a
 *         type, a field... that the snapshot does not have
 */
HEAP_MUST_CHECK
struct heap_error *session_filter(struct session *session, int count, char **words,
				  struct heap_filter **result);

/** The same, but names other than of objects may be absent; see heap_filter_absent(). */
HEAP_MUST_CHECK
struct heap_error *session_filter_leniently(struct session *session, int count, char **words,
					    struct heap_filter **result);

/**
 * To be called after all tests: says of how many objects a field was not kept, which match nothing.
 *
 * @return the first error of a test, or NULL
 */
HEAP_MUST_CHECK
struct heap_error *session_filter_finish(struct session *session, struct heap_filter *filter);

#endif
