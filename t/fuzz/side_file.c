// SPDX-License-Identifier: GPL-3.0-or-later
// Files in the cache under the name of something that was computed, with any of their bytes
// changed: the first two of the input say from where on.
#include "lib/snapshot/side_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	VALUES = 1000,
	FILE_SIZE = 4096 + VALUES * 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct heap_snapshot *snapshot;
static char path[512], directory[64] = "/tmp/heapsh-fuzz-XXXXXX";
static uint8_t stored[FILE_SIZE];
static const uint64_t values[VALUES];
static volatile uint64_t sink;

static void clean_up(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		fputs("not cleaned up\n", stderr);
}

// Stores something, to learn under which name and with which header that is done.
static void prepare(void)
{
	const struct heap_side_column column = { values, VALUES, 8 };
	struct heap_error *error = heap_snapshot_open("t/snapshots/format-1.snap", &snapshot);
	DIR *entries;
	struct dirent *entry;
	FILE *file;

	if (error || !mkdtemp(directory))
		abort();
	atexit(clean_up);
	setenv("XDG_CACHE_HOME", directory, 1);
	snapshot->object_count = HEAP_SIDE_WORTH; // nothing of it is looked at
	error = heap_side_file_store(snapshot, "fuzzed", &column, 1);
	snprintf(path, sizeof(path), "%s/heapsh", directory);
	entries = error ? NULL : opendir(path);
	while (entries && (entry = readdir(entries))) {
		if (strstr(entry->d_name, "fuzzed"))
			snprintf(path, sizeof(path), "%s/heapsh/%s", directory, entry->d_name);
	}
	closedir(entries);
	file = fopen(path, "rb");
	if (!file || fread(stored, 1, FILE_SIZE, file) != FILE_SIZE)
		abort();
	fclose(file);
}

static void store(const uint8_t *bytes, size_t size)
{
	uint8_t changed[FILE_SIZE];
	size_t at = size < 2 ? 0 : (bytes[0] * 256u + bytes[1]) % FILE_SIZE;
	FILE *file = fopen(path, "wb");

	memcpy(changed, stored, FILE_SIZE);
	for (size_t i = 2; i < size && at < FILE_SIZE; i++)
		changed[at++] = bytes[i];
	fwrite(changed, 1, FILE_SIZE - (size == 1), file);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct heap_side_file file = { .columns = { { NULL, VALUES, 8 } } };
	struct heap_error *error;

	if (!snapshot)
		prepare();
	store(bytes, size);
	error = heap_side_file_open(snapshot, "fuzzed", 1, &file);
	if (!error) {
		for (int i = 0; i < VALUES; i++)
			sink += ((const uint64_t *)file.columns[0].values)[i];
		heap_side_file_close(&file);
	}
	heap_error_destroy(error);
	return 0;
}
