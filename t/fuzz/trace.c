// SPDX-License-Identifier: GPL-3.0-or-later
// A trace of any bytes, as they are, and as the records of one chunk with a sound checksum.
#include "lib/trace/trace.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAGIC = 8,
	HEAD = 8,
	MAX = 65536,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_all(const uint8_t *bytes, size_t size)
{
	struct heap_trace *trace;
	struct heap_trace_event event;
	struct heap_error *error = heap_trace_open_memory(bytes, size, &trace);
	volatile double sum = 0;

	if (error) {
		heap_error_destroy(error);
		return;
	}
	while (heap_trace_next(trace, &event, &error)) {
		uint32_t last = UINT32_MAX;

		sum += heap_trace_probability(trace, event.size);
		for (uint32_t step = event.step; step; step = heap_trace_caller(trace, step)) {
			if (step >= last)
				abort(); // callers have lower numbers
			last = step;
		}
	}
	heap_error_destroy(error);
	heap_trace_close(trace);
}

static void read_records(const uint8_t *bytes, size_t size)
{
	uint8_t *trace = malloc(MAGIC + HEAD + size);
	uint32_t head[2] = { (uint32_t)size, 2166136261u };

	for (size_t i = 0; i < size; i++)
		head[1] = (head[1] ^ bytes[i]) * 16777619u;
	memcpy(trace, "HSTRACE1", MAGIC);
	memcpy(trace + MAGIC, head, HEAD);
	memcpy(trace + MAGIC + HEAD, bytes, size);
	read_all(trace, MAGIC + HEAD + size);
	free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_all(bytes, size);
	if (size <= MAX)
		read_records(bytes, size);
	return 0;
}
