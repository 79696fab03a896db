// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_H
#define HEAP_FILTER_H

/**
 * Filters of objects: `type 'struct node' size >64 or untyped not leaked`.
 *
 * `or` separates groups of terms. An object matches if all terms of one group hold. Matching types and
 * sites are computed once, so the test of an object is a few array accesses. Only columns that the
 * terms need are loaded.
 */

#include "lib/graph/divided.h"
#include "lib/query/comparison.h"
#include "lib/query/filter_operand.h"
#include "lib/snapshot/evidence.h"

struct heap_filter;

/**
 * Parses the words of a filter, all of them.
 *
 * @param host  what its context points to must live as long as the filter
 * @return NULL, or HEAP_ERROR_ARGUMENT (the message names the word)
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_parse(struct heap_snapshot *snapshot, int count, char *const *words,
				     const struct heap_filter_host *host,
				     struct heap_filter **result);

/**
 * Says which name the snapshot does not have: of a type, field, enumerator, site or module. A filter
 * that has such names parses, and matches as if nothing were called that.
 *
 * @return HEAP_ERROR_ABSENT for the first, and for the caller to destroy; NULL: it has them all
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_absent(struct heap_filter *filter);

/** True if what heap_filter_absent() says is a field, or a value of it, though its types are there. */
bool heap_filter_lacks_field(const struct heap_filter *filter);

/** NULL is fine. */
void heap_filter_destroy(struct heap_filter *filter);

/** For CLEANUP(). */
static inline void heap_filter_cleanup(struct heap_filter **filter)
{
	heap_filter_destroy(*filter);
}

/** True if a word is the name of a filter, with a comparison or without: "size", "size>64". */
bool heap_filter_is_name(const char *word);

/** True for --regex, --exact and -i, which apply to the strings of the filters that follow. */
bool heap_filter_is_option(const char *word);

/**
 * Loads what it needs.
 *
 * @param graph    asked for reachability by `leaked` and `reachable`
 * @param divided  with dominators, for `retained` and `under`; both may be NULL if they are not needed
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_prepare(struct heap_filter *filter, struct heap_graph *graph,
				       const struct heap_divided *divided);

/** True if heap_filter_prepare() needs a graph. */
bool heap_filter_needs_graph(const struct heap_filter *filter);

/** True if heap_filter_prepare() needs dominators. */
bool heap_filter_needs_dominators(const struct heap_filter *filter);

/** True if the filter tests whether objects are new. */
bool heap_filter_needs_new(const struct heap_filter *filter);

/** Sets which objects are new. @param is_new  [objects] must outlive the filter */
void heap_filter_set_new(struct heap_filter *filter, const uint8_t *is_new);

/** True if an object matches. To be called after heap_filter_prepare(). */
bool heap_filter_matches(struct heap_filter *filter, heap_object_id object);

/**
 * The same for a part of a pool. Type, size, evidence, pointers and contents are those of the part;
 * site, age and reachability are those of the pool. Needs PARTS.
 */
bool heap_filter_matches_part(struct heap_filter *filter, const struct heap_part *part);

/** The first object of [from, end) that matches, or @p end. */
heap_object_id heap_filter_next(struct heap_filter *filter, heap_object_id from,
				heap_object_id end);

/** Counts the objects that could not be tested for a field, as its bytes were not kept; they match nothing. */
uint64_t heap_filter_unknown(const struct heap_filter *filter);

/** To be called after all tests. @return the first error of a test, or NULL */
HEAP_MUST_CHECK
struct heap_error *heap_filter_finish(struct heap_filter *filter);

#endif
