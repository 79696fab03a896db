// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads of the library beside a program that does with its signals and descriptors what it likes.
 * t/capture/library-threads.t runs it:
 *
 *	library-threads signals  installs a handler for SIGCHLD while a snapshot is written
 *	library-threads files    closes all descriptors but standard ones, and opens files of its own
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "dumper/heapsnap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int count, char **arguments)
{
	static void *blocks[BLOCKS];

	if (count > 1 && strcmp(arguments[1], "files") == 0) {
		take_descriptors();
		return 0;
	}
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(32);
	take_signals(capture_by_signal);
	take_signals(capture_by_call);
	return !blocks[0];
}
