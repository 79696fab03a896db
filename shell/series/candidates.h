// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CANDIDATES_H
#define CANDIDATES_H

/**
 * Leak candidates: objects that came and stayed over a series, in groups, with the growth of each
 * group's kind.
 *
 * An object that came and stayed is only a candidate: an entry of a cache stays, too. So each group
 * tells how many objects of its kind (type and site) there were in each snapshot, and the trend of that
 * number (lib/series/trend.h):
 *
 *	steady growth    a leak, or a container without a limit
 *	slowing growth   a cache that fills, or a program that still warms up
 *	a full cache     constant, while objects come and go
 *	a warm-up        constant, and no new objects come
 *
 * A vector that grows may be one object. So kinds whose bytes grow steadily, but not their number, are
 * reported as well, as groups without candidates that count all objects of the kind.
 */

#include "lib/series/census.h"
#include "lib/series/series.h"
#include "lib/series/trend.h"
#include "shell/tables/tally.h"

enum candidates_by {
	CANDIDATES_BY_KIND,
	CANDIDATES_BY_TYPE,
	CANDIDATES_BY_SITE,
	CANDIDATES_BY_BACKTRACE,
	CANDIDATES_BY_DOMINATOR, /**< their nearest dominator that was there from the beginning */
	CANDIDATES_WAYS,
};

struct candidate_group {
	heap_kind_id kind;      /**< whose growth is told: of its objects' kinds the worst */
	heap_object_id example; /**< its first object; HEAP_NO_OBJECT if it has none */
	uint64_t key;           /**< by kind, type or site a kind; a step; or a node */
	uint64_t objects;
	uint64_t bytes;
	struct heap_trend count_trend; /**< of the objects of that kind, whether new or not */
	struct heap_trend bytes_trend;
	uint64_t fresh;   /**< objects of that kind that the last snapshot has brought */
	const char *name; /**< the session's */
};

struct candidates {
	heap_object_id *objects; /**< [count] by where they were first seen, by address */
	size_t count;
	struct candidate_group *groups; /**< [group_count] those that grow most first */
	size_t group_count;
};

struct candidates_options {
	enum candidates_by by;
	bool second_only;     /**< only what is new in the second snapshot */
	uint64_t min_objects; /**< smaller groups are left out */
	uint64_t min_bytes;
	int filter_count; /**< words of a filter that the objects must pass */
	char **filter;
};

/** "kind", "type", "site", "backtrace", "dominator". @return CANDIDATES_WAYS for another word */
enum candidates_by candidates_parse(const char *word);

/** The word for it. */
const char *candidates_name(enum candidates_by by);

/**
 * Finds them in the latest snapshot of the series, which is the session's.
 *
 * @param tally   by TALLY_KIND, TYPE or SITE, that counted the same snapshots into @p census
 * @param result  filled on success; candidates_deinit() is the caller's
 */
HEAP_MUST_CHECK
struct heap_error *candidates_find(struct candidates *result,
				   const struct candidates_options *options,
				   struct session *session, const struct heap_series *series,
				   struct tally *tally, struct heap_census *census);

void candidates_deinit(struct candidates *candidates);

/**
 * Names what holds an object: the nearest dominator that has been there from the first snapshot on, or the
 * roots that hold it together; "nothing (leaked)".
 *
 * @param name  the session's
 */
HEAP_MUST_CHECK
struct heap_error *candidates_holder(struct session *session, const struct heap_series *series,
				     heap_object_id object, const char **name);

/** True if a group's objects do not grow in number, but steadily in size: its bytes are what grows. */
bool candidates_grow_in_size(const struct candidate_group *group);

/** The trend of a group's objects; of its bytes if the objects do not grow. */
enum heap_trend_kind candidates_trend(const struct candidate_group *group);

/** "steady growth: 12 ±1 objects, 1.2 KiB an hour". */
const char *candidates_verdict(struct session *session, const struct heap_census *census,
			       const struct candidate_group *group);

/** The verdict in a word or two: "steady growth", "a full cache"... */
const char *candidates_judgement(const struct candidate_group *group);

#endif
