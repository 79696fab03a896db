// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads of the library beside a program that does with its signals and descriptors what it likes.
 * t/capture/library-threads.t runs it:
 *
 *	library-threads signals  installs a handler for SIGCHLD while a snapshot is written
 *	library-threads files    closes all descriptors but standard ones, and opens files of its own
 *	library-threads rights   gives up root, and names threads that have not
 *	library-threads policy   tells how its copy is scheduled while it has real-time priority itself
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "dumper/heapsnap.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCKS = 100000, // the writer is busy with them for a while
	FILES = 4,
	DESCRIPTORS = 1024,
	ROUNDS = 2000000,
};

static atomic_int handled;

static void handle(int number)
{
	handled += number == SIGCHLD;
}

// No thread of the program takes the signal: it stays pending.
static void end_child(void)
{
	siginfo_t info;
	sigset_t set;

	if (fork() == 0)
		_exit(0);
	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	usleep(20000); // for a handler in another thread
	sigpending(&set);
	printf("%s, handled %d\n", sigismember(&set, SIGCHLD) ? "pending" : "lost", handled);
	fflush(stdout);
	waitpid(info.si_pid, NULL, 0);
}

static void capture_by_signal(void)
{
	raise(SIGQUIT);
}

static void capture_by_call(void)
{
	heapsnap_dump(NULL);
}

static void take_signals(void (*capture)(void))
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set, before;

	sigaction(SIGCHLD, &action, NULL);
	capture();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	action.sa_handler = handle;
	sigaction(SIGCHLD, &action, NULL);
	end_child();
	action.sa_handler = SIG_IGN; // drops it
	sigaction(SIGCHLD, &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	heapsnap_wait();
}

static void print_files(const char *when, const int *files)
{
	struct stat status;

	printf("%s:", when);
	for (int i = 0; i < FILES; i++)
		printf(" %d %ld", files[i],
		       fstat(files[i], &status) == 0 ? (long)status.st_size : -1);
	puts("");
}

__attribute__((noinline)) static void allocate_later(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *block = malloc(100);

		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

// As a daemon does, some time after its start.
static void take_descriptors(void)
{
	int files[FILES];

	allocate_later();
	usleep(100000);
	for (int i = STDERR_FILENO + 1; i < DESCRIPTORS; i++)
		close(i);
	for (int i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "data-%d", i);
		files[i] = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	print_files("opened", files);
	allocate_later();
	usleep(200000);
	print_files("later", files);
}

// @return the process id of the copy that the library has made; 0: it has none yet
static int find_copy(void)
{
	char path[64], name[32] = "";
	glob_t lists;
	int pid = 0, found = 0;

	if (glob("/proc/self/task/*/children", 0, NULL, &lists) != 0)
		return 0;
	for (size_t i = 0; i < lists.gl_pathc && !found; i++) {
		FILE *list = fopen(lists.gl_pathv[i], "r"), *file;

		while (list && !found && fscanf(list, "%d", &pid) == 1) {
			snprintf(path, sizeof(path), "/proc/%d/comm", pid);
			file = fopen(path, "r");
			if (file && fgets(name, sizeof(name), file) &&
			    strcmp(name, "heapsnap-frozen\n") == 0)
				found = pid;
			if (file)
				fclose(file);
		}
		if (list)
			fclose(list);
	}
	globfree(&lists);
	return found;
}

static void tell_policy(void)
{
	struct sched_param parameters = { .sched_priority = 10 };
	int copy = 0, policy = -1, nice = 0;

	if (setpriority(PRIO_PROCESS, 0, -5) != 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
		puts("may not");
		return;
	}
	// A copy may have ended before it is found, or before it is asked.
	for (int round = 0; round < 50 && policy < 0; round++) {
		if (heapsnap_dump(NULL) != 0)
			puts("no snapshot");
		copy = 0;
		for (int i = 0; i < DESCRIPTORS && !copy; i++)
			copy = find_copy();
		nice = copy ? getpriority(PRIO_PROCESS, (id_t)copy) : 0;
		policy = copy ? sched_getscheduler(copy) : -1;
		heapsnap_wait();
	}
	printf("copy %d %d, program %d %d\n", policy, nice, sched_getscheduler(0),
	       getpriority(PRIO_PROCESS, 0));
}

static void tell_rights(void)
{
	char line[256], name[64] = "";
	glob_t statuses;
	FILE *file;

	if (glob("/proc/self/task/*/status", 0, NULL, &statuses) != 0)
		return;
	for (size_t i = 0; i < statuses.gl_pathc; i++) {
		file = fopen(statuses.gl_pathv[i], "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "Name: %63s", name) == 1)
				continue;
			if (strncmp(line, "Uid:\t0\t", 7) == 0 ||
			    strncmp(line, "Groups:\t0", 9) == 0 ||
			    strcmp(line, "NoNewPrivs:\t0\n") == 0 ||
			    (strncmp(line, "CapEff:\t", 8) == 0 &&
			     strtoull(line + 8, NULL, 16) != 0))
				printf("%s has %s", name, line);
		}
		if (file)
			fclose(file);
	}
	globfree(&statuses);
}

static void drop_rights(void)
{
	gid_t none = 65534;

	allocate_later();
	usleep(100000); // the threads have begun
	if (setgroups(1, &none) != 0 || setgid(none) != 0 || setuid(65534) != 0)
		puts("not dropped");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		puts("not for ever");
	tell_rights();
	allocate_later();
	puts("done");
}

int main(int count, char **arguments)
{
	static void *blocks[BLOCKS];

	if (count > 1 && strcmp(arguments[1], "files") == 0) {
		take_descriptors();
		return 0;
	}
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(32);
	if (count > 1 && strcmp(arguments[1], "rights") == 0) {
		drop_rights();
		return 0;
	}
	if (count > 1 && strcmp(arguments[1], "policy") == 0) {
		tell_policy();
		return 0;
	}
	take_signals(capture_by_signal);
	take_signals(capture_by_call);
	return !blocks[0];
}
