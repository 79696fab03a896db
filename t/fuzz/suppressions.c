// SPDX-License-Identifier: GPL-3.0-or-later
// Any bytes as a file of suppressions: read, asked of each object, and its patterns of texts.
#include "lib/graph/suppressions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct heap_snapshot *snapshot;
static volatile uint64_t sink;

static void prepare(void)
{
	struct heap_error *error = heap_snapshot_open("t/snapshots/format-1.snap", &snapshot);

	if (!error)
		error = heap_snapshot_load(snapshot, HEAP_COLUMN_ALL);
	if (error)
		abort();
}

// The first line as a pattern, the second as what it is held against.
static void fit(const uint8_t *bytes, size_t size)
{
	char *pattern = strndup((const char *)bytes, size), *text = strchr(pattern, '\n');

	if (text) {
		*text++ = '\0';
		text[strcspn(text, "\n")] = '\0';
		sink += heap_suppression_fits(pattern, text);
	}
	free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct heap_suppressions *suppressions;
	struct heap_error *error;
	char path[32];
	int file = memfd_create("suppressions", MFD_CLOEXEC);

	if (!snapshot)
		prepare();
	snprintf(path, sizeof(path), "/dev/fd/%d", file);
	if (file < 0 || write(file, bytes, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0)
		abort();
	fit(bytes, size);
	error = heap_suppressions_read(path, snapshot, &suppressions);
	if (!error) {
		size_t count = 0;

		for (heap_object_id i = 0; i < snapshot->object_count; i++)
			sink += heap_suppressions_match(suppressions, i);
		sink += (uintptr_t)heap_suppressions_used(suppressions, &count);
		heap_suppressions_destroy(suppressions);
	}
	heap_error_destroy(error);
	close(file);
	return 0;
}
