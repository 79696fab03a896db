// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SUSPECTS_H
#define SUSPECTS_H

/**
 * Where most of a heap is, in words: what leaks or grew first, then the places where the heap
 * gathers (lib/graph/suspects.h).
 *
 *	300 × struct date, held by struct table at 0x5f0010
 *	If they should be fewer, look for who takes them out again, and when.
 */

#include "lib/graph/suspects.h"
#include "shell/base/session.h"

/**
 * Finds suspects of @p least bytes and more, of what leaks of @p least_leaked. Loads and computes what it
 * needs.
 *
 * @param result  [*count] what leaks, then what a compared snapshot does not have, then the rest,
 *                of each the largest first; the caller's, to be freed by free()
 */
HEAP_MUST_CHECK
struct heap_error *suspects_find(struct session *session, uint64_t least, uint64_t least_leaked,
				 struct heap_suspect **result, size_t *count);

/** "one", "group", "chain", "mixed", "leaked", "new". */
const char *suspects_kind(enum heap_suspect_kind kind);

/** An object's type, or "untyped blocks of SITE". */
const char *suspects_type(struct session *session, heap_node_id node);

/** @param result  the session's */
HEAP_MUST_CHECK
struct heap_error *suspects_describe(struct session *session, const struct heap_suspect *suspect,
				     const char **result);

/** The next step. */
const char *suspects_advice(struct session *session, const struct heap_suspect *suspect);

#endif
