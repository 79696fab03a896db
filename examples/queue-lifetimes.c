// SPDX-License-Identifier: GPL-3.0-or-later
// How long blocks live, by when they were allocated: where a queue's consumer is too slow, the later
// they come the longer they stay. Of those that one function has allocated.
//
//	cc -o queue-lifetimes queue-lifetimes.c $(pkg-config --cflags --libs heaptrace)
#include <err.h>
#include <heapsnap/trace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARTS = 5, // of the time in which such blocks were allocated
};

struct life {
	uint64_t born_us, died_us; // since 1 µs before the trace began; 0: not yet
};

static bool is_by(struct heap_trace *trace, uint32_t step, const char *function)
{
	const struct heap_trace_place *places;
	size_t count;
	struct heap_error *error = heap_trace_places(trace, step, &places, &count);

	if (error)
		errx(2, "%s", heap_error_message(error));
	return strcmp(places[0].function, function) == 0;
}

int main(int argc, char **argv)
{
	struct heap_trace *trace;
	struct heap_trace_event event;
	struct life *lives = NULL; // by number of the block
	uint64_t sum[PARTS] = { 0 }, freed[PARTS] = { 0 }, end = 1;
	uint32_t count = 0;
	struct heap_error *error = argc == 3 ? heap_trace_open(argv[1], &trace) : NULL;

	if (argc != 3)
		errx(2, "usage: queue-lifetimes FILE FUNCTION");
	while (!error && heap_trace_next(trace, &event, &error)) {
		if (event.number >= count) {
			lives = realloc(lives, (event.number + 1) * 2 * sizeof(*lives));
			memset(lives + count, 0, (event.number * 2 + 2 - count) * sizeof(*lives));
			count = event.number * 2 + 2;
		}
		if (event.kind == HEAP_TRACE_FREED)
			lives[event.number].died_us = event.time_us + 1;
		else if (is_by(trace, event.step, argv[2]))
			lives[event.number].born_us = end = event.time_us + 1;
	}
	if (error)
		errx(2, "%s", heap_error_message(error));
	for (uint32_t i = 0; i < count; i++) {
		if (lives[i].born_us && lives[i].died_us) {
			uint64_t part = (lives[i].born_us - 1) * PARTS / end;

			freed[part]++;
			sum[part] += lives[i].died_us - lives[i].born_us;
		}
	}
	for (int i = 0; i < PARTS; i++)
		printf("%d/%d of the time: %" PRIu64 " blocks lived %.1f ms\n", i + 1, PARTS,
		       freed[i], freed[i] ? (double)sum[i] / (double)freed[i] / 1e3 : 0);
	heap_trace_close(trace);
	return 0;
}
