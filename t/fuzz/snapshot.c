// SPDX-License-Identifier: GPL-3.0-or-later
// A snapshot of any bytes, as they are and with all checksums set: opened, loaded, followed.
#include "t/fuzz/damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile uint64_t sink;

static void open_and_use(const uint8_t *bytes, size_t size)
{
	struct heap_snapshot *snapshot;
	struct heap_error *error = heap_snapshot_open_memory(bytes, size, &snapshot);

	if (!error) {
		sink += use_snapshot(snapshot);
		heap_snapshot_close(snapshot);
	}
	heap_error_destroy(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	open_and_use(bytes, size);
	if (size > 0)
		memcpy(copy, bytes, size);
	mend(copy, size);
	open_and_use(copy, size);
	free(copy);
	return 0;
}
