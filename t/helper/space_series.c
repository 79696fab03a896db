// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a series evenly spaced, as if it had been captured on a machine with nothing else to do:
// rates, and judgements that depend on them, are then the same at any load.
//
//	space_series NS FILE...    sets the snapshots NS nanoseconds apart, from the first one on
//
// The times at which objects were born are moved in proportion; nothing else is changed.
#include "lib/snapshot/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct series {
	struct heap_snapshot **snapshots; // [count]
	uint64_t *times;                  // [count] as they were captured
	size_t count;
	uint64_t distance; // in nanoseconds
};

static void check(struct heap_error *error)
{
	if (error) {
		fprintf(stderr, "space_series: %s\n", heap_error_message(error));
		exit(1);
	}
}

static void open_all(struct series *series, char **paths)
{
	series->snapshots = calloc(series->count, sizeof(*series->snapshots));
	series->times = calloc(series->count, sizeof(*series->times));
	if (!series->snapshots || !series->times)
		check(heap_error_out_of_memory());
	for (size_t i = 0; i < series->count; i++) {
		check(heap_snapshot_open(paths[i], &series->snapshots[i]));
		check(heap_snapshot_load(series->snapshots[i], HEAP_COLUMN_ALL));
		series->times[i] = series->snapshots[i]->info.time_ns;
		if (i > 0 && series->times[i] <= series->times[i - 1])
			check(heap_error_create(HEAP_ERROR_FORMAT, "%s: not in order", paths[i]));
	}
}

// Linear between two snapshots; before the first one nothing moves.
static uint64_t move_time(const struct series *series, uint64_t time)
{
	const uint64_t *times = series->times;
	size_t i = 1;

	if (time <= times[0] || series->count < 2)
		return time;
	while (i + 1 < series->count && time > times[i])
		i++;

	double part = (double)(time - times[i - 1]) / (double)(times[i] - times[i - 1]);

	return times[0] + (i - 1) * series->distance +
	       (uint64_t)(part * (double)series->distance + 0.5);
}

static struct heap_error *read_content(void *context, heap_object_id object, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	size_t kept;

	(void)address;
	return heap_snapshot_read_content(context, object, buffer, size, &kept);
}

static void replace(struct heap_snapshot *snapshot, const char *path)
{
	char *fresh = NULL;
	const struct heap_snapshot_source source = { .content = read_content, .context = snapshot };

	if (asprintf(&fresh, "%s.new", path) < 0)
		check(heap_error_out_of_memory());

	int descriptor = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (descriptor < 0)
		check(heap_error_create_system("%s", fresh));
	check(heap_snapshot_write(snapshot, descriptor, &source));
	close(descriptor);
	if (rename(fresh, path) != 0)
		check(heap_error_create_system("%s", path));
	free(fresh);
}

static void space(const struct series *series, size_t number, const char *path)
{
	struct heap_snapshot *snapshot = series->snapshots[number];

	snapshot->info.time_ns = move_time(series, snapshot->info.time_ns);
	for (uint32_t i = 0; i < snapshot->epoch_count; i++)
		snapshot->epochs[i] = move_time(series, snapshot->epochs[i]);
	replace(snapshot, path);
	heap_snapshot_close(snapshot);
}

int main(int argc, char **argv)
{
	struct series series = { .count = (size_t)argc - 2 };

	if (argc < 3) {
		fprintf(stderr, "usage: space_series NS FILE...\n");
		return 2;
	}
	series.distance = strtoull(argv[1], NULL, 10);
	open_all(&series, argv + 2);
	for (size_t i = 0; i < series.count; i++)
		space(&series, i, argv[i + 2]);
	free(series.snapshots);
	free(series.times);
	return 0;
}
