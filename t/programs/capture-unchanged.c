// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has snapshots of itself taken in several ways, and prints what has changed for it by that:
 * nothing should. t/hostile/unchanged.t runs it.
 */
#include "dumper/heapsnap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t children_ended, timer_ticks;

static void note_child(int number)
{
	(void)number;
	children_ended++;
}

static void note_tick(int number)
{
	(void)number;
	timer_ticks++;
}

static int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count - 2;
}

// Processes whose parent this one is, dead or alive.
static int count_children(void)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "r");
	if (!file)
		return 0;

	int count = 0, pid;

	while (fscanf(file, "%d", &pid) == 1)
		count++;
	fclose(file);
	return count;
}

static void expect(const char *what, long got, long wanted)
{
	if (got != wanted)
		printf("%s: %ld, not %ld\n", what, got, wanted);
}

static void by_signal(void)
{
	errno = 77;
	raise(SIGQUIT);
	expect("errno after the signal", errno, 77);
}

static void by_call(void)
{
	errno = 78;
	expect("heapsnap_dump", heapsnap_dump(NULL), 0);
	expect("errno after the call", errno, 78);
}

static void check_waits(void)
{
	siginfo_t info;
	int status;

	errno = 0;
	expect("wait", waitpid(-1, &status, WNOHANG), -1);
	expect("errno of wait", errno, ECHILD);
	errno = 0;
	expect("waitid", waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
	expect("errno of waitid", errno, ECHILD);
}

// Prints what one way to take a snapshot changes.
static void check(const char *name, void (*trigger)(void))
{
	sigset_t before = { 0 }, after = { 0 };
	char directory[4096];
	int files = count_entries("/proc/self/fd");

	printf("%s\n", name);
	children_ended = 0;
	getcwd(directory, sizeof(directory));
	sigprocmask(SIG_SETMASK, NULL, &before);
	trigger();
	expect("descriptors while it is written", count_entries("/proc/self/fd"), files);
	check_waits();
	expect("heapsnap_wait", heapsnap_wait(), 0);
	check_waits();
	usleep(20000);
	sigprocmask(SIG_SETMASK, NULL, &after);
	expect("signal mask", memcmp(&before, &after, sizeof(before)), 0);
	expect("descriptors", count_entries("/proc/self/fd"), files);
	expect("threads", count_entries("/proc/self/task"), 1);
	expect("children", count_children(), 0);
	expect("SIGCHLDs", children_ended, 0);
	expect("directory", strcmp(directory, getcwd(NULL, 0)), 0);
}

// A real child beside: it, and nothing else, is what wait gives.
static void check_real_child(void)
{
	int status = 0;
	pid_t child;

	puts("with a child of its own");
	children_ended = 0;
	heapsnap_dump(NULL);
	child = fork();
	if (child == 0)
		_exit(9);
	expect("wait", waitpid(-1, &status, 0), child);
	expect("its status", WEXITSTATUS(status), 9);
	heapsnap_wait();
	expect("SIGCHLDs", children_ended, 1);
	check_waits();
}

static void check_under_timer(void)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	char *memory = malloc(100 << 20);

	puts("under a profiling timer");
	memset(memory, 1, 100 << 20);
	signal(SIGALRM, note_tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 3; i++) {
		expect("heapsnap_dump", heapsnap_dump(NULL), 0);
		expect("heapsnap_wait", heapsnap_wait(), 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	expect("the timer ticked", timer_ticks > 0, 1);
	free(memory);
}

static void check_small_signal_stack(void)
{
	stack_t stack = { .ss_sp = malloc(MINSIGSTKSZ + 4096), .ss_size = MINSIGSTKSZ + 4096 };
	char *guard = malloc(64);

	puts("on a small signal stack");
	memset(guard, 'g', 64);
	expect("sigaltstack", sigaltstack(&stack, NULL), 0);
	raise(SIGQUIT);
	expect("heapsnap_wait", heapsnap_wait(), 0);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	expect("what lies beside it", guard[0] == 'g' && guard[63] == 'g', 1);
	free(stack.ss_sp);
	free(guard);
}

static void check_full_descriptors(void)
{
	struct rlimit limit = { 20, 20 };
	int last, file;

	puts("without a descriptor left");
	setrlimit(RLIMIT_NOFILE, &limit);
	for (last = -1; (file = open("/dev/null", O_RDONLY)) >= 0; last = file)
		;
	expect("heapsnap_dump", heapsnap_dump(NULL), 0);
	expect("heapsnap_wait", heapsnap_wait(), 0);
	expect("the next descriptor", open("/dev/null", O_RDONLY), -1);
	close(last);
	expect("the one that is free", open("/dev/null", O_RDONLY), last);
}

int main(void)
{
	signal(SIGCHLD, note_child);
	check("by signal", by_signal);
	check("by call", by_call);
	signal(SIGCHLD, SIG_IGN);
	check("with SIGCHLD ignored", by_signal);
	signal(SIGCHLD, note_child);
	check_real_child();
	check_under_timer();
	check_small_signal_stack();
	check_full_descriptors();
	puts("done");
	return 0;
}
