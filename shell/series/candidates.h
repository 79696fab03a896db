// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CANDIDATES_H
#define CANDIDATES_H

/**
 * Objects that came and stayed over a series, by what they are alike in; and whether what they
 * are of grows.
 *
 * That an object came and stayed makes it a candidate, no more: an entry of a cache stays
 * too. So each group tells how many objects of its kind (type and site) there were in each
 * snapshot, and what that comes to (lib/series/trend.h):
 *
 *	steady growth    a leak, or what fills without a limit
 *	slowing growth   a cache that fills, or a program that still warms up
 *	a full cache     has stayed the same, while old ones went and new ones came
 *	a warm-up        has stayed the same, and nothing new came
 *
 * A vector that grows may stay one object. So kinds whose bytes grow steadily while their
 * number does not are told as well, as groups of no candidates.
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

/** Of its number, or if that has not grown of its bytes. */
enum heap_trend_kind candidates_trend(const struct candidate_group *group);

/** "steady growth: 12 ±1 objects, 1.2 KiB an hour". */
const char *candidates_verdict(struct session *session, const struct heap_census *census,
			       const struct candidate_group *group);

/** The verdict in a word or two: "steady growth", "a full cache"... */
const char *candidates_judgement(const struct candidate_group *group);

#endif
