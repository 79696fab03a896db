// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A program that would notice if a capture changed anything for it: children, signals,
 * descriptors, errno, the signal mask, threads, what waits in the kernel. It asks for
 * snapshots itself, and prints what it found changed; t/end-to-end/unchanged.t reads that.
 */
#include "dumper/heapsnap.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int child_signals, interrupted;
static atomic_bool stop;

static void note_child(int number)
{
	(void)number;
	child_signals++;
}

static int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

// Sleeps in calls that a signal would end with EINTR in spite of SA_RESTART.
static void *sleep_in_poll(void *unused)
{
	while (!stop) {
		if (poll(NULL, 0, 300) < 0 && errno == EINTR)
			interrupted++;
	}
	return unused;
}

static void *sleep_in_nanosleep(void *unused)
{
	struct timespec while_ = { 0, 300000000 };

	while (!stop) {
		if (nanosleep(&while_, NULL) < 0 && errno == EINTR)
			interrupted++;
	}
	return unused;
}

static void check(const char *what, bool is_good)
{
	if (!is_good)
		printf("changed: %s\n", what);
}

static void dump_and_check(int descriptors, int tasks, const sigset_t *mask)
{
	sigset_t now;
	int status;

	errno = ESRCH;
	check("heapsnap_dump", heapsnap_dump(NULL) == 0);
	check("errno", errno == ESRCH);
	check("wait while it is written", wait(&status) == -1 && errno == ECHILD);
	check("waitid while it is written",
	      waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG) == -1 && errno == ECHILD);
	check("a second one is refused", heapsnap_dump(NULL) == -EAGAIN || heapsnap_wait() == 0);
	check("heapsnap_wait", heapsnap_wait() == 0);
	check("wait afterwards", waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
	check("a zombie of the frozen copy",
	      waitpid(-1, &status, WNOHANG | __WALL) == -1 && errno == ECHILD);
	sigprocmask(SIG_BLOCK, NULL, &now);
	for (int i = 1; i < NSIG; i++)
		check("signal mask", sigismember(&now, i) == sigismember(mask, i));
	check("descriptors", count_entries("/proc/self/fd") == descriptors);
	// The thread that waited may need a moment to be gone.
	for (int i = 0; i < 100 && count_entries("/proc/self/task") != tasks; i++)
		usleep(10000);
	check("threads", count_entries("/proc/self/task") == tasks);
}

// A child of fork captures under its own name, and keeps nothing of its parent's.
static void check_fork(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int result = heapsnap_dump("child-%N.snap");

		_exit(result != 0 ? 1 : heapsnap_wait() != 0 ? 2 : 0);
	}
	check("waiting for a real child", waitpid(child, &status, 0) == child);
	check("a capture in a forked child", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	pthread_t threads[2];
	sigset_t mask;

	if (!heapsnap_dump) {
		puts("no library");
		return 1;
	}
	signal(SIGCHLD, note_child);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	pthread_create(&threads[0], NULL, sleep_in_poll, NULL);
	pthread_create(&threads[1], NULL, sleep_in_nanosleep, NULL);
	usleep(50000);

	int descriptors = count_entries("/proc/self/fd"), tasks = count_entries("/proc/self/task");

	for (int i = 0; i < 5; i++)
		dump_and_check(descriptors, tasks, &mask);
	check("SIGCHLD", child_signals == 0);
	check("EINTR in poll or nanosleep", interrupted == 0);
	check_fork();
	check("SIGCHLD of the real child alone", child_signals == 1);
	stop = 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	puts("done");
	return 0;
}
