// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HOSTILE_H
#define HOSTILE_H

/**
 * For programs that do what is hard on whoever captures them. Each has ways, by name; t/hostile
 * runs each way without the library and with it: what it prints must be the same.
 *
 * All keep MARKS blocks of MARK_SIZE bytes, which every snapshot must hold.
 */

#include "dumper/heapsnap.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MARKS = 100,
	MARK_SIZE = 1009,
};

struct way {
	const char *name;
	void (*function)(void);
};

static void *marks[MARKS];
static volatile bool stop;

static inline void expect(const char *what, long got, long wanted)
{
	if (got != wanted)
		printf("%s: %ld, not %ld\n", what, got, wanted);
}

static inline int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

static inline bool is_captured(void)
{
	return heapsnap_dump != NULL;
}

/** Waits for what a signal has asked for. */
static inline void await_capture(void)
{
	if (is_captured())
		expect("heapsnap_wait", heapsnap_wait(), 0);
}

/**
 * Has SIGQUIT delivered to a thread, and waits for the snapshot: until then another signal would
 * be one with it. Without the library: nothing.
 */
static inline void capture_in(pthread_t thread)
{
	int before = count_entries("."), tries = 0;

	if (!is_captured())
		return;
	pthread_kill(thread, SIGQUIT);
	for (; count_entries(".") == before && tries < 60000; tries++)
		usleep(1000);
	await_capture();
}

/** Takes a snapshot, and holds the program to what it was before. */
static inline void capture(void)
{
	int files = count_entries("/proc/self/fd");
	sigset_t before, after;

	if (!is_captured())
		return;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = 77;
	raise(SIGQUIT);
	expect("errno", errno, 77);
	await_capture();
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < NSIG; i++)
		expect("signal mask", sigismember(&after, i), sigismember(&before, i));
	expect("descriptors", count_entries("/proc/self/fd"), files);
	errno = 0;
	expect("children", waitpid(-1, NULL, WNOHANG), -1);
	expect("errno of waitpid", errno, ECHILD);
}

static inline void make_marks(void)
{
	for (int i = 0; i < MARKS; i++)
		marks[i] = memset(malloc(MARK_SIZE), i, MARK_SIZE);
}

static inline int run_way(const struct way *ways, size_t count, int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 4096);
	make_marks();
	for (size_t i = 0; i < count; i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
			ways[i].function();
			puts("done");
			return 0;
		}
	}
	return 2;
}

#endif
