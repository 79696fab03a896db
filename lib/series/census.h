// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CENSUS_H
#define HEAP_CENSUS_H

/**
 * Counts objects and bytes of each kind in each snapshot of a series.
 *
 *	                        snapshot 0     1      2
 *	struct session          objects 10    20     30
 *	struct date                    300   300    300
 *
 * The caller decides what a kind is: a type, a site, both, a module... It has a key of 64 bits that
 * means the same in all snapshots, such as the hash of a name, and a name for people. Memory grows
 * with kinds and snapshots, not with objects.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_amount {
	uint64_t objects;
	uint64_t bytes;
};

struct heap_census;

/** A kind's number. */
typedef uint32_t heap_kind_id;

/** Creates an empty one. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_census_create(struct heap_census **result);

/** NULL is fine. */
void heap_census_destroy(struct heap_census *census);

/** For CLEANUP(). */
static inline void heap_census_cleanup(struct heap_census **census)
{
	heap_census_destroy(*census);
}

/** Goes on to the next snapshot, taken at @p time_ns. */
HEAP_MUST_CHECK
struct heap_error *heap_census_next(struct heap_census *census, uint64_t time_ns);

/** Forgets a snapshot, one of heap_census_length(); later ones move up. */
void heap_census_drop(struct heap_census *census, size_t snapshot);

/**
 * Finds the kind of a key, or adds one without a name.
 *
 * @param is_new  gets true if it has been added; may be NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_census_kind(struct heap_census *census, uint64_t key, heap_kind_id *result,
				    bool *is_new);

/** Names a kind. @param name  copied */
HEAP_MUST_CHECK
struct heap_error *heap_census_name(struct heap_census *census, heap_kind_id kind,
				    const char *name);

/** Adds objects and bytes of the latest snapshot to a kind. */
void heap_census_add(struct heap_census *census, heap_kind_id kind, uint64_t objects,
		     uint64_t bytes);

/** The number of snapshots. */
size_t heap_census_length(const struct heap_census *census);
/** The number of kinds. */
heap_kind_id heap_census_kinds(const struct heap_census *census);

/** [heap_census_length()] the times of the snapshots, in ns. */
const uint64_t *heap_census_times(const struct heap_census *census);

/** A kind's name, or "" if it has none. */
const char *heap_census_name_of(const struct heap_census *census, heap_kind_id kind);

/** The objects and bytes of a kind in a snapshot. */
struct heap_amount heap_census_amount(const struct heap_census *census, heap_kind_id kind,
				      size_t snapshot);

#endif
