// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_SERIES_H
#define REPORT_SERIES_H

/**
 * The data of each snapshot of a series that a report needs: objects and bytes by kind, type and site, and
 * the bytes that each root retains.
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

/** The number of snapshots shown: of a long series a selection with the first and the last. */
size_t report_series_points(const struct report_series *series);

/** The number of the snapshot shown as point @p point. */
size_t report_series_snapshot(const struct report_series *series, size_t point);

/** Begins a series without snapshots. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *report_series_init(struct report_series *series);

void report_series_deinit(struct report_series *series);

/**
 * Adds the session's snapshot, which is later than all before.
 *
 * @param file  its name, which is copied
 */
HEAP_MUST_CHECK
struct heap_error *report_series_add(struct report_series *series, struct session *session,
				     const char *file);

#endif
