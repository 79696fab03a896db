// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -D_GNU_SOURCE
/*
 * Programs that are captured without being asked, each by the name that
 * t/capture/automatic.t gives. Snapshots that are being written are waited for, so that
 * which ones there are does not depend on how fast the machine is.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MEGABYTE = 1 << 20,
};

static char *blocks[256];

static void settle(void)
{
	HEAPSNAP_CALL(heapsnap_wait);
}

// In pieces, so that whoever counts gets to see them.
static void grow(int megabytes)
{
	static int used;

	for (int i = 0; i < megabytes; i++) {
		char **piece = calloc(64, sizeof(*piece));

		for (int j = 0; j < 64; j++)
			piece[j] = malloc(MEGABYTE / 64 - 64);
		blocks[used++] = (char *)piece;
		settle();
		usleep(5000); // what measuring takes is half a per cent of the time
	}
}

static void growing(void)
{
	grow(36);
}

// Allocates a hundred times as much, and keeps nothing.
static void churning(void)
{
	for (int i = 0; i < 100 * 1024; i++) {
		char *volatile piece = malloc(1024);

		free(piece);
	}
	settle();
}

// Sleeps until it has been captured twice, which takes longer on a slow machine.
static void idling(void)
{
	int epoll = epoll_create1(0), events = 0;
	double longest = 0;

	for (int tries = 0; tries < 60 && access("capture-automatic-01.snap", F_OK) != 0; tries++) {
		struct epoll_event event;
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		// A system call that any signal would end.
		events += epoll_wait(epoll, &event, 1, 1000);
		clock_gettime(CLOCK_MONOTONIC, &after);
		double seconds = (double)(after.tv_sec - before.tv_sec) +
				 (double)(after.tv_nsec - before.tv_nsec) / 1e9;

		longest = seconds > longest ? seconds : longest;
	}
	printf("events: %d, seconds: %.3f\n", events, longest);
}

// Until it has been captured twice.
static void as_daemon(void)
{
	char directory[4000], second[4096];

	if (!getcwd(directory, sizeof(directory)) || daemon(0, 0) != 0)
		return;
	blocks[0] = malloc(100);
	snprintf(second, sizeof(second), "%s/%d-01.snap", directory, (int)getpid());
	for (int i = 0; i < 3000 && access(second, F_OK) != 0; i++)
		usleep(10000);
	exit(0);
}

static void by_api(void)
{
	printf("%d", heapsnap_set("HEAPSNAP_EVERY", "soon"));
	printf(" %d", heapsnap_set("EVERY", "1s"));
	printf(" %d", heapsnap_set("HEAPSNAP_GROWTH", "8M"));
	printf(" %d\n", heapsnap_set("HEAPSNAP_MIN_INTERVAL", "0"));
	grow(20);
	heapsnap_set("HEAPSNAP_GROWTH", "0");
	grow(20);
}

static void many(void)
{
	for (int i = 0; i < 5; i++) {
		heapsnap_dump(NULL);
		settle();
	}
}

static void *end_all(void *unused)
{
	(void)unused;
	exit(7);
}

static void exit_in_a_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end_all, NULL);
	pthread_join(thread, NULL);
}

static void *go_on(void *unused)
{
	usleep(50000);
	return unused;
}

static void threads_end(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, go_on, NULL);
	pthread_exit(NULL);
}

static void quickly(void)
{
	quick_exit(8);
}

static void at_once(void)
{
	_exit(9);
}

static void in_children(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0)
			exit(0);
		waitpid(child, NULL, 0);
	}
	_exit(0);
}

static void fault(void)
{
	*(volatile char *)(MEGABYTE / MEGABYTE) = 1;
}

static void trap(void)
{
	__builtin_trap();
}

static void *fault_too(void *unused)
{
	fault();
	return unused;
}

// All of them at about the same time.
static void faults(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, fault_too, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

// While a snapshot is being written.
static void dump_and_exit(void)
{
	heapsnap_dump(NULL);
	exit(6);
}

// Each of two processes by its own growth. Pages that both have are copied when one is written to,
// which measuring counts as its own: it may come a few MiB late.
static void growing_child(void)
{
	pid_t child = fork();

	grow(21);
	if (child > 0)
		waitpid(child, NULL, 0);
	_exit(0);
}

static void terminate(void)
{
	raise(SIGTERM);
	puts("alive");
}

static void handle(int number)
{
	(void)number;
	_exit(3);
}

static void handled(void)
{
	signal(SIGTERM, handle);
	raise(SIGTERM);
}

// The kernel shows nobody, not even itself, where a process sleeps that has changed its user; so
// its threads are stopped by a signal, and its sleep ends early.
static void *hold_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

// The kernel allows this only to a program of one thread.
static void in_a_namespace(void)
{
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		blocks[0] = malloc(100);
		heapsnap_dump(NULL);
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
	}

	int status = -1;

	waitpid(child, &status, 0);
	printf("alone: %d\n", WEXITSTATUS(status));
	pthread_create(&thread, NULL, hold_on, NULL);
	printf("with another: %d\n", unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
	errno = 0;
	status = setns(-1, 0);
	printf("setns: %d, %d\n", status, errno);
	usleep(200000);
	settle();
}

static void drop_rights(void)
{
	if (setgid(65534) != 0 || setuid(65534) != 0)
		return;
	usleep(300000);
	blocks[0] = malloc(MEGABYTE);
	usleep(500000);
	usleep(500000);
	// It is captured later on a slow machine.
	for (int tries = 0; tries < 60 && access("capture-automatic-00.snap", F_OK) != 0; tries++)
		usleep(500000);
	settle();
	_exit(0);
}

struct lost {
	struct lost *link;
	long number;
};

struct held {
	struct held *link;
	char text[24];
};

static struct held *held;

static __attribute__((noinline)) void lose(int count)
{
	for (int i = 0; i < count; i++) {
		struct lost *volatile lost = malloc(sizeof(*lost));

		lost->link = lost;
		lost->number = i;
		lost = NULL;
	}
}

static void hold(int count)
{
	for (int i = 0; i < count; i++) {
		struct held *newest = malloc(sizeof(*newest));

		newest->link = held;
		strcpy(newest->text, "held");
		held = newest;
	}
}

static void unfreed(void)
{
	void *volatile temporary = malloc(100);

	hold(3);
	lose(2);
	free(temporary);
	exit(4);
}

static void after_checkpoint(void)
{
	hold(3);
	lose(2);
	printf("%d\n", HEAPSNAP_CALL(heapsnap_checkpoint));
	hold(1);
	lose(5);
	fflush(stdout);
	quick_exit(5);
}

static const struct {
	const char *name;
	void (*function)(void);
} ways[] = {
	{ "growing", growing },
	{ "churning", churning },
	{ "idling", idling },
	{ "daemon", as_daemon },
	{ "api", by_api },
	{ "many", many },
	{ "thread", exit_in_a_thread },
	{ "threads-end", threads_end },
	{ "quick", quickly },
	{ "at-once", at_once },
	{ "children", in_children },
	{ "abort", abort },
	{ "fault", fault },
	{ "trap", trap },
	{ "terminate", terminate },
	{ "handled", handled },
	{ "drop-rights", drop_rights },
	{ "faults", faults },
	{ "namespace", in_a_namespace },
	{ "dump-and-exit", dump_and_exit },
	{ "growing-child", growing_child },
	{ "unfreed", unfreed },
	{ "checkpoint", after_checkpoint },
};

int main(int argc, char **argv)
{
	static const struct rlimit no_core;

	setvbuf(stdout, NULL, _IONBF, 0); // nothing of stdio's on the heap

	setrlimit(RLIMIT_CORE, &no_core);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
			ways[i].function();
	}
	return 0;
}
