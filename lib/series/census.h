// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CENSUS_H
#define HEAP_CENSUS_H

/**
 * How many objects and bytes of each kind there were in each snapshot of a series.
 *
 *	                        snapshot 0     1      2
 *	struct session          objects 10    20     30
 *	struct date                    300   300    300
 *
 * What a kind is (a type, a site, both, a module...), its caller decides: a key, 64 bits that
 * mean the same in all snapshots, such as a hash of a name, and a name for people. Memory
 * grows with kinds and snapshots, not with objects.
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

HEAP_MUST_CHECK
struct heap_error *heap_census_create(struct heap_census **result);

/** NULL is fine. */
void heap_census_destroy(struct heap_census *census);

/** Goes on to the next snapshot, taken at @p time_ns. */
HEAP_MUST_CHECK
struct heap_error *heap_census_next(struct heap_census *census, uint64_t time_ns);

/**
 * The kind of a key; a new one has no name.
 *
 * @param is_new  set if it has just been made; may be NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_census_kind(struct heap_census *census, uint64_t key, heap_kind_id *result,
				    bool *is_new);

/** Names a kind. @param name  copied */
HEAP_MUST_CHECK
struct heap_error *heap_census_name(struct heap_census *census, heap_kind_id kind,
				    const char *name);

/** Adds to what the latest snapshot has of a kind. */
void heap_census_add(struct heap_census *census, heap_kind_id kind, uint64_t objects,
		     uint64_t bytes);

size_t heap_census_length(const struct heap_census *census);
heap_kind_id heap_census_kinds(const struct heap_census *census);

/** [heap_census_length()] */
const uint64_t *heap_census_times(const struct heap_census *census);

/** "" if it has none. */
const char *heap_census_name_of(const struct heap_census *census, heap_kind_id kind);

struct heap_amount heap_census_amount(const struct heap_census *census, heap_kind_id kind,
				      size_t snapshot);

/** FNV-1a, 64 bits (Fowler, Noll, Vo), going on from @p hash. */
uint64_t heap_hash_bytes(uint64_t hash, const void *bytes, size_t size);
#define HEAP_HASH_START UINT64_C(0xcbf29ce484222325)

#endif
