// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SERIES_H
#define SERIES_H

/**
 * The snapshots of a session. One of them at a time is the current one, and it may be compared
 * with another.
 *
 *	heapsh app-*.snap        [0]  [1]  [2] ← current        next, previous, go N
 *	compare app-00.snap       └── new, gone, count --delta ─┘
 *
 * Only the current one and the one it is compared with are open.
 */

#include "lib/series/compare.h"
#include "shell/base/session.h"

struct session_series {
	char **paths; /**< [count] the caller's */
	size_t count;
	size_t current;
	struct session other; /**< what is compared with; its snapshot is NULL if nothing is */
};

/** Opens the first. @param paths  [count] must outlive the session */
HEAP_MUST_CHECK
struct heap_error *series_open(struct session *session, char **paths, size_t count);

/** Before session_close(). */
void series_close(struct session *session);

/** Goes to another; on failure the session stays where it is. */
HEAP_MUST_CHECK
struct heap_error *series_go(struct session *session, size_t number);

/** Compares with a file from now on; on failure with what it was before. */
HEAP_MUST_CHECK
struct heap_error *series_compare(struct session *session, const char *path);

/**
 * Finds session->is_new: which objects the compared snapshot lacks; and the same of that one's.
 *
 * @return NULL, or HEAP_ERROR_ARGUMENT: nothing is compared with
 */
HEAP_MUST_CHECK
struct heap_error *series_need_new(struct session *session);

/**
 * For `find gone`: what is gone is in the other snapshot, and new there.
 *
 * @param words  [count] "gone" becomes "new"
 * @param other  whose session is to be asked; NULL if there is no such word
 */
HEAP_MUST_CHECK
struct heap_error *series_find_gone(struct session *session, int count, char **words,
				    struct session **other);

/** "[2] app-02.snap". */
const char *series_label(struct session *session);

/** "heapsh> ", or "heapsh [2] app-02.snap> ". */
const char *series_prompt(struct session *session);

#endif
