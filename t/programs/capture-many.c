// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Many threads, asleep or not, and a snapshot of them. t/capture/stop.t runs it.
 *
 *	capture-many SLEEPING RUNNING [SIGNALS]
 *
 * SIGNALS: how many may be queued (RLIMIT_SIGPENDING). Prints "done" when all threads still
 * do what they did.
 */
#include "dumper/heapsnap.h"
#include "t/programs/asleep.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static atomic_int ready, ended;
static atomic_bool stop;
static int idle_pipe[2];
static sem_t never;

static void *sleep_on(void *number)
{
	struct pollfd file = { idle_pipe[0], POLLIN, 0 };
	struct timespec hour = { 3600, 0 };
	ssize_t result = 0;
	char byte;

	ready++;
	switch ((size_t)number % 4) {
	case 0:
		result = sem_wait(&never);
		break;
	case 1:
		result = poll(&file, 1, -1);
		break;
	case 2:
		result = nanosleep(&hour, NULL);
		break;
	default:
		result = read(idle_pipe[0], &byte, 1);
	}
	ended++;
	return (void *)result;
}

static void *compute(void *unused)
{
	ready++;
	while (!stop)
		free(malloc(64));
	return unused;
}

static void start(void *(*function)(void *), size_t number)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &small, function, (void *)number) != 0) {
		perror("pthread_create");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int sleeping = argc > 1 ? atoi(argv[1]) : 10, running = argc > 2 ? atoi(argv[2]) : 0;

	if (argc > 3) {
		struct rlimit limit = { strtoul(argv[3], NULL, 10), strtoul(argv[3], NULL, 10) };

		setrlimit(RLIMIT_SIGPENDING, &limit);
	}
	sem_init(&never, 0, 0);
	if (pipe(idle_pipe) != 0)
		return 2;
	for (int i = 0; i < sleeping; i++)
		start(sleep_on, (size_t)i);
	while (ready < sleeping)
		usleep(1000);
	await_asleep(sleeping);
	for (int i = 0; i < running; i++)
		start(compute, 0);
	while (ready < sleeping + running)
		usleep(1000);
	if (heapsnap_dump && heapsnap_dump(NULL) != 0)
		puts("no snapshot");
	stop = true;
	if (heapsnap_wait && heapsnap_wait() != 0)
		puts("no snapshot was written");
	printf("%s\n", ended == 0 ? "done" : "a sleeper was disturbed");
	fflush(stdout);
	_exit(0); // the sleepers sleep on
}
