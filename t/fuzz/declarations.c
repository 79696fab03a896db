// SPDX-License-Identifier: GPL-3.0-or-later
// Any bytes as what people say that objects are: read, applied, added to and taken back.
#include "lib/snapshot/declarations.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char directory[] = "/tmp/declarations-XXXXXX";
static char snapshot_path[64], text_path[sizeof(snapshot_path) + 8];

static void clean_up(void)
{
	unlink(text_path);
	unlink(snapshot_path);
	rmdir(directory);
}

static void prepare(void)
{
	char here[4096];

	if (!mkdtemp(directory) || !realpath("t/snapshots/format-1.snap", here))
		abort();
	snprintf(snapshot_path, sizeof(snapshot_path), "%s/f.snap", directory);
	snprintf(text_path, sizeof(text_path), "%s.types", snapshot_path);
	if (symlink(here, snapshot_path) != 0)
		abort();
	atexit(clean_up);
}

// The heading is right, so that what follows is looked at.
static void write_text(const char *id, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(text_path, "w");

	if (!file)
		abort();
	fprintf(file, "heapsh types 1 %s\n", id);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

static void use(struct heap_snapshot *snapshot, uint8_t byte)
{
	heap_object_id object = byte % snapshot->object_count;
	heap_type_id type = 1 + byte % (snapshot->types.count - 1);
	struct heap_error *error = heap_snapshot_load(snapshot, HEAP_COLUMN_ALL);
	struct heap_slot_table slots = { 0 };
	struct heap_repetitions repetitions = { 0 };
	uint32_t named;
	int64_t score, misled;

	if (!error)
		error = heap_slot_table_init(&slots, &snapshot->types);
	if (!error)
		error = heap_repetitions_init(&repetitions, &slots);
	if (!error)
		error = heap_declarations_weigh(snapshot, object, type, &repetitions, &score,
						&misled);
	if (!error)
		error = heap_declarations_add(
			snapshot, (struct heap_declaration){ object, type, byte & 1 }, &named);
	if (!error)
		error = heap_declarations_remove(snapshot, object);
	heap_error_destroy(error);
	heap_repetitions_deinit(&repetitions);
	heap_slot_table_deinit(&slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char id[128];
	struct heap_snapshot *snapshot;
	struct heap_error *error;

	if (!snapshot_path[0])
		prepare();
	unlink(text_path);
	if (!id[0]) {
		error = heap_snapshot_open(snapshot_path, &snapshot);
		if (error)
			abort();
		snprintf(id, sizeof(id), "%s", snapshot->info.id);
		heap_snapshot_close(snapshot);
	}
	write_text(id, bytes, size);
	error = heap_snapshot_open(snapshot_path, &snapshot);
	if (!error) {
		use(snapshot, size > 0 ? bytes[0] : 0);
		heap_snapshot_close(snapshot);
	}
	heap_error_destroy(error);
	return 0;
}
