// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TALLY_H
#define TALLY_H

/**
 * Counts the objects of snapshots into a census, by kinds.
 *
 *	TALLY_KIND     type and site; without a type, size and site    struct node, node_new (app.c:12)
 *	               likewise where the type is just a shape
 *	TALLY_TYPE     type                                            struct node
 *	TALLY_SITE     site                                            node_new (app.c:12)
 *	TALLY_MODULE   the module of the site                          app
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/series/census.h"
#include "shell/base/session.h"

enum tally_by {
	TALLY_KIND,
	TALLY_TYPE,
	TALLY_SITE,
	TALLY_MODULE,
	TALLY_WAYS,
};

/** The kind of objects of a type and site; without a type, of a size and site. */
struct tally_kind_of {
	uint64_t what; /**< type and site */
	uint64_t size; /**< 0 with a type */
	heap_kind_id kind;
};

/** Maps objects of a snapshot to the kinds of a census. */
struct tally {
	enum tally_by by;
	/** private: the kinds found in the latest snapshot, by type, site and size */
	struct HEAP_ARRAY(struct tally_kind_of) found;
	struct heap_hash_table by_what;
	struct tally_kind_of latest; /**< private: the last answer; neighbours are often alike */
	bool has_latest;
	/** private: [types.count], [site_count] hashes of names; 0: not yet */
	uint64_t *type_keys, *site_keys;
};

/** "kind", "type", "site", "module". @return TALLY_WAYS for another word */
enum tally_by tally_parse(const char *word);

void tally_deinit(struct tally *tally);

/**
 * Counts all objects of the session's snapshot into @p census, as its next one.
 *
 * @param tally  { .by = ... } at first; afterwards tally_kind() is for this snapshot
 */
HEAP_MUST_CHECK
struct heap_error *tally_snapshot(struct tally *tally, struct session *session,
				  struct heap_census *census);

/** The same without counting, for callers of tally_kind() that count something else. */
HEAP_MUST_CHECK
struct heap_error *tally_begin(struct tally *tally, struct session *session,
			       struct heap_census *census);

/**
 * Counts the bytes that each root retains, as the next snapshot of @p census. Roots are compared by name.
 */
HEAP_MUST_CHECK
struct heap_error *tally_roots(struct session *session, struct heap_census *census);

/**
 * Counts the bytes that the objects of each kind retain together: an object that another one of its kind
 * dominates is not counted again.
 */
HEAP_MUST_CHECK
struct heap_error *tally_retained(struct tally *tally, struct session *session,
				  struct heap_census *census);

/** The kind of an object of the latest snapshot. */
HEAP_MUST_CHECK
struct heap_error *tally_kind(struct tally *tally, struct session *session,
			      struct heap_census *census, heap_object_id object,
			      heap_kind_id *result);

#endif
