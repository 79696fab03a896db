// SPDX-License-Identifier: GPL-3.0-or-later
// How long the graph's questions take, on a snapshot that t/bench/generate has made:
//
//	graph FILE
//
// A line per question: seconds on the clock, seconds of processors, peak memory in MiB.
#include "lib/base/column.h"
#include "lib/graph/dominators.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(struct heap_error *error)
{
	if (error) {
		fprintf(stderr, "graph: %s\n", heap_error_message(error));
		exit(1);
	}
}

static double wall, processor;

static void begin(void)
{
	wall = now(CLOCK_MONOTONIC);
	processor = now(CLOCK_PROCESS_CPUTIME_ID);
}

static void end(const char *what)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%s %.3f %.3f %ld\n", what, now(CLOCK_MONOTONIC) - wall,
	       now(CLOCK_PROCESS_CPUTIME_ID) - processor, usage.ru_maxrss / 1024);
	fflush(stdout);
}

static bool report(void *context, const char *what, double share)
{
	static const char *last;

	(void)context;
	if (what != last && getenv("PHASES"))
		fprintf(stderr, "%s from %.3f\n", what, now(CLOCK_PROCESS_CPUTIME_ID));
	last = what;
	(void)share;
	return true;
}

int main(int argc, char **argv)
{
	static const struct heap_progress progress = { report, NULL };
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;
	struct heap_dominators dominators;

	if (argc != 2) {
		fputs("usage: graph FILE\n", stderr);
		return 2;
	}
	begin();
	check(heap_snapshot_open(argv[1], &snapshot));
	check(heap_graph_create(snapshot, &graph));
	graph->progress = &progress;
	end("open");
	begin();
	check(heap_dominators_init(&dominators, graph));
	end("dominators");
	heap_dominators_deinit(&dominators);
	begin();
	check(heap_graph_need_reach(graph));
	end("reach");
	begin();
	check(heap_graph_need_reverse(graph));
	end("reverse");
	heap_graph_destroy(graph);
	heap_snapshot_close(snapshot);
	return 0;
}
