// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_SERIES_H
#define REPORT_SERIES_H

/**
 * What a report keeps of each snapshot of a series: objects and bytes by kind, by type and by
 * site, and what each root retained.
 */

#include "lib/series/series.h"
#include "shell/tables/tally.h"

struct report_snapshot {
	char *file;
	uint64_t time_ns;
	uint64_t objects;
	uint64_t bytes;
};

struct report_series {
	struct tally kinds, types, sites; /**< of the latest snapshot */
	struct heap_census *by_kind, *by_type, *by_site;
	struct heap_census *by_root;       /**< bytes retained, of roots that retain any */
	struct report_snapshot *snapshots; /**< [count] */
	size_t count, capacity;
};

/** Of a long series not every snapshot is told: how many are, the first and the last included. */
size_t report_series_points(const struct report_series *series);

/** The snapshot that is the @p point 'th of these. */
size_t report_series_snapshot(const struct report_series *series, size_t point);

HEAP_MUST_CHECK
struct heap_error *report_series_init(struct report_series *series);

void report_series_deinit(struct report_series *series);

/**
 * Takes in the session's snapshot, which is later than those before.
 *
 * @param file  what it is called; copied
 */
HEAP_MUST_CHECK
struct heap_error *report_series_add(struct report_series *series, struct session *session,
				     const char *file);

#endif
