// SPDX-License-Identifier: GPL-3.0-or-later
// The stop of a program, seen from inside by a thread that notes its longest gap, beside
// what a bare fork of the same process takes. Arguments: MiB that live, threads that run.
#include "dumper/heapsnap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int watching; // 0: wait, 1: note gaps, 2: end
static _Atomic double longest_ns;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void *watch(void *unused)
{
	double last = now_ns();

	while (watching < 2) {
		double now = now_ns();

		if (watching && now - last > longest_ns)
			longest_ns = now - last;
		last = now;
	}
	return unused;
}

// Mostly asleep, as the threads of a server are; awake they touch memory.
static void *idle(void *block)
{
	while (watching < 2) {
		memset(block, 1, 64);
		usleep(2000);
	}
	return NULL;
}

static double time_fork(void)
{
	double start = now_ns();
	pid_t child = fork();

	if (child == 0)
		_exit(0);

	double took = now_ns() - start;

	waitpid(child, NULL, 0);
	return took;
}

int main(int argc, char **argv)
{
	size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
	int threads = argc > 2 ? atoi(argv[2]) : 50;
	pthread_t watcher, idler;
	double forks = 0;

	for (size_t i = 0; i < megabytes * 1024; i++)
		memset(malloc(1000), 7, 1000);
	for (int i = 0; i < 5; i++) {
		double took = time_fork();

		if (i == 0 || took < forks)
			forks = took;
	}
	pthread_create(&watcher, NULL, watch, NULL);
	for (int i = 1; i < threads; i++) {
		pthread_create(&idler, NULL, idle, malloc(64));
		pthread_detach(idler);
	}
	usleep(200000);
	watching = 1;
	if (heapsnap_dump) {
		heapsnap_dump(NULL);
		usleep(20000); // the stop is over; what the writer takes of the processors is not it
	}
	double gap = longest_ns;

	watching = 2;
	if (heapsnap_wait)
		heapsnap_wait();
	pthread_join(watcher, NULL);
	printf("fork_ms %.3f\ngap_ms %.3f\n", forks / 1e6, gap / 1e6);
	return 0;
}
