// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SQL_SOURCE_H
#define SQL_SOURCE_H

/**
 * A snapshot for the tables of SQL: its session, and data that several tables share. Everything is
 * loaded or computed on first use.
 */

#include "lib/graph/leaks.h"
#include "shell/base/session.h"

/** A name of a type or site. */
struct sql_name {
	char *text; /**< NULL until sql_type_name() or sql_site_name() */
	int length;
};

/** Objects and bytes of a type or site. */
struct sql_sum {
	uint64_t objects;
	uint64_t bytes;
};

struct sql_source {
	struct session *session;           /**< the caller's, or own */
	struct session own;                /**< of a snapshot that only the query opens */
	uint32_t number;                   /**< in the series */
	unsigned loaded;                   /**< private: columns */
	struct sql_name *types;            /**< private: [types] */
	struct sql_name *sites;            /**< private: [sites] */
	uint32_t *by_type;                 /**< private: see sql_by_type() */
	struct sql_sum *of_type, *of_site; /**< private */
	struct heap_leaks leaks;
	bool has_leaks;
};

void sql_source_deinit(struct sql_source *source);

/** Loads columns (enum heap_columns), once. */
HEAP_MUST_CHECK
struct heap_error *sql_load(struct sql_source *source, unsigned columns);

/** True for an array of characters. Needs HEAP_COLUMN_TYPE. */
static inline bool sql_is_text(const struct sql_source *source, heap_object_id object)
{
	const struct heap_snapshot *snapshot = source->session->snapshot;
	const struct heap_type *type = &snapshot->types.types[snapshot->type[object]];

	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

/** The name of a type. @return NULL if memory is short */
const struct sql_name *sql_type_name(struct sql_source *source, heap_type_id type);

/** "session_new (server.c:88)". @return NULL if memory is short */
const struct sql_name *sql_site_name(struct sql_source *source, heap_site_id site);

/**
 * The objects in the order of their types' names, those without a type first: a permutation of
 * [objects]. Counting sort.
 */
HEAP_MUST_CHECK
struct heap_error *sql_by_type(struct sql_source *source, const uint32_t **result);

/** Sums by type and by site. @param sums  [types] or [sites]; may be NULL */
HEAP_MUST_CHECK
struct heap_error *sql_sums(struct sql_source *source, const struct sql_sum **types,
			    const struct sql_sum **sites);

/** The class of an object: "reachable", "interior", "direct"... */
HEAP_MUST_CHECK
struct heap_error *sql_reachability(struct sql_source *source, heap_object_id object,
				    const char **result);

#endif
