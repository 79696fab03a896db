// SPDX-License-Identifier: GPL-3.0-or-later
// The stop of a program, seen from inside by a thread that notes its longest gap, beside what
// a bare fork of the same process takes. Arguments: MiB that live, number of threads, and
// their way: "idle" (asleep most of the time), "asleep" (in futex, poll, nanosleep and read),
// or "half" (half of these never sleep).
#include "dumper/heapsnap.h"

#include <poll.h>
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
static atomic_int started;

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
	started++;
	while (watching < 2) {
		memset(block, 1, 64);
		usleep(2000);
	}
	return NULL;
}

static int idle_pipe[2], go_pipe[2];

static void *sleep_on(void *number)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct pollfd file = { idle_pipe[0], POLLIN, 0 };
	struct timespec hour = { 3600, 0 };
	ssize_t got = 0;
	char byte;

	started++;
	switch ((size_t)number % 4) {
	case 0:
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&never, &lock);
		break;
	case 1:
		poll(&file, 1, -1);
		break;
	case 2:
		nanosleep(&hour, NULL);
		break;
	default:
		got = read(idle_pipe[0], &byte, 1);
	}
	return (void *)got;
}

// Begins when the forks have been timed.
static void *compute(void *block)
{
	char byte;

	started++;
	if (read(go_pipe[0], &byte, 1) != 0)
		return NULL;
	while (watching < 2)
		memset(block, 1, 64);
	return NULL;
}

static void start_thread(const char *way, size_t number)
{
	pthread_t thread;
	pthread_attr_t small;
	int failed;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	if (strcmp(way, "idle") == 0)
		failed = pthread_create(&thread, &small, idle, malloc(64));
	else if (strcmp(way, "half") == 0 && number % 2)
		failed = pthread_create(&thread, &small, compute, malloc(64));
	else
		failed = pthread_create(&thread, &small, sleep_on, (void *)(number / 2));
	if (failed) {
		fprintf(stderr, "pause: no thread %zu\n", number);
		exit(1);
	}
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
	const char *way = argc > 3 ? argv[3] : "idle";
	pthread_t watcher;
	double forks = 0;

	if (pipe(idle_pipe) != 0 || pipe(go_pipe) != 0)
		return 1;
	for (size_t i = 0; i < megabytes * 1024; i++)
		memset(malloc(1000), 7, 1000);
	for (int i = 1; i < threads; i++)
		start_thread(way, (size_t)i);
	while (started < threads - 1)
		usleep(1000);
	usleep(200000);
	for (int i = 0; i < 5; i++) {
		double took = time_fork();

		if (i == 0 || took < forks)
			forks = took;
	}
	pthread_create(&watcher, NULL, watch, NULL);
	usleep(200000);
	close(go_pipe[1]);
	watching = 1;
	usleep(100000); // what the threads make each other wait without us
	double before = longest_ns;

	watching = 0;
	usleep(1000);
	longest_ns = 0;
	watching = 1;
	if (heapsnap_dump) {
		heapsnap_dump(NULL);
		usleep(100000); // the stop is over; what the writer takes of the processors is not it
	}
	double gap = longest_ns;

	watching = 2;
	if (heapsnap_wait)
		heapsnap_wait();
	pthread_join(watcher, NULL);
	printf("fork_ms %.3f\ngap_before_ms %.3f\ngap_ms %.3f\n", forks / 1e6, before / 1e6,
	       gap / 1e6);
	fflush(stdout);
	_exit(0); // the sleepers sleep on
}
