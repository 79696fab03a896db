// SPDX-License-Identifier: GPL-3.0-or-later
// An analysis of one's own: how long blocks live, by when they were allocated. Where a queue's
// consumer is too slow, the later they come the longer they stay. Usage: trace_queue FILE
#include "lib/trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PARTS = 5,     // of the trace's time
	MAX = 1 << 20, // numbers of blocks
};

static uint64_t born[MAX];
static uint32_t born_by[MAX];

int main(int argc, char **argv)
{
	static struct {
		uint64_t time_us, lived_us;
	} lives[MAX];
	struct heap_trace *trace = NULL;
	struct heap_trace_event event;
	struct heap_error *error = heap_trace_open(argc > 1 ? argv[1] : "", &trace);
	uint64_t sum[PARTS] = { 0 }, count[PARTS] = { 0 };
	size_t freed = 0, elsewhere = 0;

	while (!error && heap_trace_next(trace, &event, &error)) {
		uint32_t number = event.number % MAX;

		if (event.kind == HEAP_TRACE_ALLOCATED) {
			born[number] = event.time_us;
			born_by[number] = event.thread;
			continue;
		}
		lives[freed].time_us = born[number];
		lives[freed++].lived_us = event.time_us - born[number];
		elsewhere += event.thread != born_by[number];
	}
	if (error) {
		fprintf(stderr, "%s\n", heap_error_message(error));
		heap_error_destroy(error);
		return 2;
	}
	for (size_t i = 0; i < freed; i++) {
		uint64_t end = heap_trace_info(trace)->end_us + 1;
		size_t part = lives[i].time_us * PARTS / end;

		sum[part] += lives[i].lived_us;
		count[part]++;
	}
	printf("freed %zu\nelsewhere %zu\n", freed, elsewhere);
	for (int i = 0; i < PARTS; i++)
		printf("part%d %" PRIu64 "\n", i, count[i] ? sum[i] / count[i] : 0);
	heap_trace_close(trace);
	return 0;
}
