// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that notice when anything is done to them: a register that changes, a call that fails, a
 * byte that is lost. Ends when its standard input does: prints "steady", or what has come of it.
 *
 *	steady [THREADS [alone]]   so many more that sleep; alone: nothing but that and the main thread
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_over;
static atomic_int faults;
static int pipes[2][2], event;

static void complain(const char *what, long result)
{
	char text[100];
	int length = snprintf(text, sizeof(text), "%s: %ld, errno %d\n", what, result, errno);

	atomic_fetch_add(&faults, 1);
	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		exit(1);
}

// Sums in general and vector registers come out the same each time.
static void *compute(void *unused)
{
	uint64_t first = 0;
	double first_sum = 0;

	while (!is_over) {
		uint64_t state = 1, mix[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
		double sum[4] = { 0, 1, 2, 3 };

		for (int i = 0; i < 200000; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			mix[i % 8] ^= state >> 7;
			sum[i % 4] += (double)(state >> 40) * 0.25;
		}
		for (int i = 0; i < 8; i++)
			state = state * 31 + mix[i];
		sum[0] += sum[1] + sum[2] + sum[3];
		if (first != 0 && (first != state || first_sum != sum[0]))
			complain("registers", (long)state);
		first = state;
		first_sum = sum[0];
	}
	return unused;
}

static void *answer(void *unused)
{
	char byte;

	while (read(pipes[0][0], &byte, 1) == 1) {
		if (write(pipes[1][1], &byte, 1) != 1)
			complain("write", -1);
	}
	return unused;
}

static void *ask(void *unused)
{
	for (unsigned char i = 0; !is_over; i++) {
		unsigned char got = 0;
		ssize_t result = write(pipes[0][1], &i, 1);

		if (result != 1 || (result = read(pipes[1][0], &got, 1)) != 1 || got != i)
			complain("pipe", result);
	}
	close(pipes[0][1]);
	return unused;
}

static void *nap(void *unused)
{
	while (!is_over) {
		struct timespec time = { 0, 1000000 };
		int result = nanosleep(&time, NULL);

		if (result != 0)
			complain("nanosleep", result);
	}
	return unused;
}

// aarch64's kernel hides what a tracer needs to restart epoll_wait(2) in a thread that went to sleep
// just as it was stopped: heapsh-limits(7).
static void note_wait(const char *what, int result)
{
#if defined(__aarch64__)
	if (result == -1 && errno == EINTR)
		return;
#endif
	complain(what, result);
}

static void *await_event(void *unused)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
	while (!is_over) {
		int result = epoll_wait(epoll, &wanted, 1, -1);
		uint64_t value;

		if (result != 1)
			note_wait("epoll_wait", result);
		else if (read(event, &value, sizeof(value)) != sizeof(value))
			complain("eventfd", -1);
	}
	return unused;
}

static void *send_events(void *unused)
{
	uint64_t one = 1;

	while (!is_over) {
		usleep(700);
		if (write(event, &one, sizeof(one)) != sizeof(one))
			complain("eventfd", -1);
	}
	usleep(20000);
	if (write(event, &one, sizeof(one)) != sizeof(one))
		complain("eventfd", -1);
	return unused;
}

// Two threads that wake each other run at one moment and sleep in epoll_wait(2) at the next, which
// the kernel does not begin again by itself.
static int ball[2];

static void *bounce(void *own)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int from = *(int *)own, to = own == &ball[0] ? ball[1] : ball[0];
	int epoll = epoll_create1(0);
	uint64_t one = 1;

	epoll_ctl(epoll, EPOLL_CTL_ADD, from, &wanted);
	while (!is_over) {
		int result = epoll_wait(epoll, &wanted, 1, -1);

		if (result != 1)
			note_wait("epoll_wait, bouncing", result);
		else if (read(from, &one, sizeof(one)) != sizeof(one) ||
			 write(to, &one, sizeof(one)) != sizeof(one))
			complain("eventfd, bouncing", -1);
	}
	if (write(to, &one, sizeof(one)) != sizeof(one))
		complain("eventfd, bouncing", -1);
	return NULL;
}

static void *sleep_long(void *unused)
{
	while (!is_over)
		usleep(100000);
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(
		void *) = { compute, answer, ask, nap, await_event, send_events };
	int sleepers = argc > 1 ? atoi(argv[1]) : 0, count = 0;
	pthread_t *threads = calloc((size_t)sleepers + 8, sizeof(*threads));
	pthread_attr_t small;
	ssize_t got;
	char byte;

	if (!threads || pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
		return 1;
	event = eventfd(0, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; argc < 3 && i < 6; i++)
		pthread_create(&threads[count++], NULL, work[i], NULL);
	for (int i = 0; argc < 3 && i < 2; i++)
		ball[i] = eventfd(i, 0); // one of them has something to read
	for (int i = 0; argc < 3 && i < 2; i++)
		pthread_create(&threads[count++], NULL, bounce, &ball[i]);
	for (int i = 0; i < sleepers; i++)
		pthread_create(&threads[count++], &small, sleep_long, NULL);
	puts("ready");
	fflush(stdout);
	while ((got = read(STDIN_FILENO, &byte, 1)) > 0)
		;
	if (got < 0)
		complain("read", got);
	is_over = true;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD)
		complain("a child is left over", 0);
	puts(faults ? "harmed" : "steady");
	return faults != 0;
}
