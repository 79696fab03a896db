// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_H
#define HEAP_FILTER_H

/**
 * Which objects a question is about: `type 'struct node' size >64 or untyped not leaked`.
 *
 * All terms of a group must hold, one group of those that `or` separates must. What a term
 * can know beforehand (which types, which sites match) is worked out once, so that a test
 * of an object is a few array accesses. Only the columns that the terms need are loaded.
 */

#include "lib/graph/dominators.h"

struct heap_filter;

/** Turns a word of the user's into an object. */
typedef struct heap_error *heap_filter_resolver(void *context, const char *word,
						heap_object_id *result);

/**
 * Parses the words of a filter, all of them.
 *
 * @return NULL, or HEAP_ERROR_ARGUMENT (the message names the word)
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_parse(struct heap_snapshot *snapshot, int count, char *const *words,
				     heap_filter_resolver *resolve, void *context,
				     struct heap_filter **result);

/**
 * Says which name the snapshot does not have: of a type, field, enumerator, site or module. A filter
 * that has such names parses, and matches as if nothing were called that.
 *
 * @return HEAP_ERROR_ABSENT for the first, and for the caller to destroy; NULL: it has them all
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_absent(struct heap_filter *filter);

/** NULL is fine. */
void heap_filter_destroy(struct heap_filter *filter);

/** Whether a word is the name of a filter, perhaps with a comparison behind it: "size>64". */
bool heap_filter_is_name(const char *word);

/** True for --regex, --exact and -i, which say how the texts of the filters that follow match. */
bool heap_filter_is_option(const char *word);

/**
 * Loads what it needs.
 *
 * @param graph       asked for reachability by `leaked` and `reachable`
 * @param dominators  for `retained` and `under`; both may be NULL if they are not needed
 */
HEAP_MUST_CHECK
struct heap_error *heap_filter_prepare(struct heap_filter *filter, struct heap_graph *graph,
				       const struct heap_dominators *dominators);

/** Whether heap_filter_prepare() needs a graph. */
bool heap_filter_needs_graph(const struct heap_filter *filter);

/** Whether it needs the dominators. */
bool heap_filter_needs_dominators(const struct heap_filter *filter);

/** Whether it asks which objects are new. */
bool heap_filter_needs_new(const struct heap_filter *filter);

/** Says which are. @param is_new  [objects] must outlive the filter */
void heap_filter_set_new(struct heap_filter *filter, const uint8_t *is_new);

/** After heap_filter_prepare(). */
bool heap_filter_matches(struct heap_filter *filter, heap_object_id object);

/**
 * The same of a part of a pool: its type, size and evidence are the part's, as is what it
 * points to and holds; site, age and reachability are the pool's. Needs PARTS.
 */
bool heap_filter_matches_part(struct heap_filter *filter, const struct heap_part *part);

/** The first object of [from, end) that matches, or @p end. */
heap_object_id heap_filter_next(struct heap_filter *filter, heap_object_id from,
				heap_object_id end);

/** To be called when all objects have been tested. @return what went wrong on the way */
HEAP_MUST_CHECK
struct heap_error *heap_filter_finish(struct heap_filter *filter);

/** The names of the evidence kinds, as filters and answers have them: "vtable", "pointer"... */
const char *heap_evidence_name(enum heap_evidence evidence);

/**
 * Parses "2.5s", "40ms", "100us", "3m", "1h" or "2.5", which are seconds.
 *
 * @param end  of the text, all of which must be it
 * @return whether it is a time
 */
bool heap_parse_time(const char *text, const char *end, uint64_t *us);

/**
 * Parses two times with a comma between; what is missing of them is the beginning or the end.
 *
 * @param range  [2] µs
 */
bool heap_parse_times(const char *text, uint64_t *range);

/** Parses "64", "1K", "2.5M", "3G" into bytes. @return whether all of it is a size */
bool heap_parse_size(const char *text, uint64_t *result);

#endif
