// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/series.h"

#include "lib/base/array.h"
#include "shell/print/describe.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_POINTS = 400, // more than a chart can show
};

size_t report_series_points(const struct report_series *series)
{
	return series->count < MAX_POINTS ? series->count : MAX_POINTS;
}

size_t report_series_snapshot(const struct report_series *series, size_t point)
{
	return series->count < MAX_POINTS ? point : point * (series->count - 1) / (MAX_POINTS - 1);
}

struct heap_error *report_series_init(struct report_series *series)
{
	struct heap_census **const censuses[] = { &series->by_kind, &series->by_type,
						  &series->by_site, &series->by_root };

	*series = (struct report_series){
		.kinds.by = TALLY_KIND,
		.types.by = TALLY_TYPE,
		.sites.by = TALLY_SITE,
	};
	for (size_t i = 0; i < sizeof(censuses) / sizeof(censuses[0]); i++) {
		struct heap_error *error = heap_census_create(censuses[i]);

		if (error) {
			report_series_deinit(series);
			return error;
		}
	}
	return NULL;
}

void report_series_deinit(struct report_series *series)
{
	tally_deinit(&series->kinds);
	tally_deinit(&series->types);
	tally_deinit(&series->sites);
	heap_census_destroy(series->by_kind);
	heap_census_destroy(series->by_type);
	heap_census_destroy(series->by_site);
	heap_census_destroy(series->by_root);
	for (size_t i = 0; i < series->count; i++)
		free(series->snapshots[i].file);
	free(series->snapshots);
	*series = (struct report_series){ 0 };
}

HEAP_MUST_CHECK
static struct heap_error *note_snapshot(struct report_series *series,
					const struct heap_snapshot *snapshot, const char *file)
{
	struct report_snapshot noted = {
		.time_ns = snapshot->info.time_ns,
		.objects = snapshot->object_count,
	};

	HEAP_TRY(heap_reserve(series->snapshots, series->capacity, series->count + 1));
	noted.file = strdup(file);
	if (!noted.file)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		noted.bytes += snapshot->size[i];
	series->snapshots[series->count++] = noted;
	return NULL;
}

struct heap_error *report_series_add(struct report_series *series, struct session *session,
				     const char *file)
{
	HEAP_TRY(describe_load(session));
	HEAP_TRY(tally_snapshot(&series->kinds, session, series->by_kind));
	HEAP_TRY(tally_snapshot(&series->types, session, series->by_type));
	HEAP_TRY(tally_snapshot(&series->sites, session, series->by_site));
	HEAP_TRY(tally_roots(session, series->by_root));
	return note_snapshot(series, session->snapshot, file);
}
