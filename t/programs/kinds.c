// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A process of an unusual kind, with 100 blocks: kinds KIND.
 *
 *	filter     a seccomp filter ends it for all but read() and exit_group()
 *	guarded    such a filter binds another thread of its, which sleeps; the first one runs
 *	guarding   the same, and the first one waits for a child of vfork(2)
 *	strict     seccomp's strict mode: read(), write() and exit() are left
 *	hidden     it has asked not to be dumped
 *	alone      it may have no further process (RLIMIT_NPROC)
 *	modest     the same, but it may raise that limit
 *	full       all of its descriptors are taken
 *	narrow     its memory may not grow
 *	reaper     it takes in orphans
 *	quit       it handles SIGQUIT: it ends with 9
 *	reserved   it has reserved 1 TiB of addresses, and has 20,000 mappings
 *	creator    two of its threads create threads all the time
 *	vfork      it waits for a child of vfork(2)
 *
 * It ends with 7 when it has read a byte; with vfork, when the child has.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	BLOCKS = 100,
	MAPPINGS = 20000,
	USUAL_STATUS = 7,
	STATUS_OF_HANDLER = 9,
};

static char *volatile blocks[BLOCKS];

// Root may have as many processes as it likes.
static void become_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		exit(3);
	prctl(PR_SET_DUMPABLE, 1);
}

static void limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = { value, value };

	if (setrlimit(resource, &limit) != 0)
		exit(3);
}

static void install_filter(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		exit(3);
}

// Ends by one of the two calls, whichever the filter knows.
static void await_byte(int number)
{
	char byte;

	syscall(SYS_read, STDIN_FILENO, &byte, 1);
	syscall(number, USUAL_STATUS);
}

static int never[2]; // a pipe
static volatile bool is_guarded;

static void *sleep_behind_filter(void *unused)
{
	char byte;

	install_filter();
	is_guarded = true;
	syscall(SYS_read, never[0], &byte, 1);
	return unused;
}

static void begin_guarded(void)
{
	pthread_t thread;

	if (pipe(never) != 0 || pthread_create(&thread, NULL, sleep_behind_filter, NULL) != 0)
		exit(3);
	while (!is_guarded)
		;
}

static void run_until_byte(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&input, 1, 0) == 0)
		;
}

static void end_by_signal(int number)
{
	(void)number;
	_exit(STATUS_OF_HANDLER);
}

// Every other page has other rights, so that each is a mapping.
static void reserve(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = MAPPINGS * page;
	char *pages;

	pages = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED ||
	    mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		exit(3);
	for (size_t at = 0; at < size; at += 2 * page)
		mprotect(pages + at, page, PROT_READ | PROT_WRITE);
}

static void *end_at_once(void *unused)
{
	return unused;
}

static void *create_threads(void *unused)
{
	pthread_t thread;

	for (;;) {
		if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
			pthread_detach(thread);
	}
	return unused;
}

static void begin(const char *kind)
{
	if (strcmp(kind, "hidden") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	else if (strcmp(kind, "reserved") == 0)
		reserve();
	else if (strcmp(kind, "guarded") == 0 || strcmp(kind, "guarding") == 0)
		begin_guarded();
	else if (strcmp(kind, "creator") == 0) {
		pthread_t threads[2];

		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, create_threads, NULL);
	} else if (strcmp(kind, "quit") == 0)
		signal(SIGQUIT, end_by_signal);
	else if (strcmp(kind, "reaper") == 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	else if (strcmp(kind, "narrow") == 0)
		limit(RLIMIT_AS, 1 << 20), limit(RLIMIT_DATA, 0);
	else if (strcmp(kind, "full") == 0) {
		limit(RLIMIT_NOFILE, 64);
		while (dup(STDIN_FILENO) >= 0)
			;
	} else if (strcmp(kind, "alone") == 0) {
		limit(RLIMIT_NPROC, 0);
		become_nobody();
	} else if (strcmp(kind, "modest") == 0) {
		const struct rlimit raisable = { 0, 4096 };

		setrlimit(RLIMIT_NPROC, &raisable);
		become_nobody();
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = strdup("kept");
	begin(kind);
	// Straight to the kernel: a buffer would be a block, too.
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 3;
	if (strcmp(kind, "filter") == 0)
		install_filter();
	else if (strcmp(kind, "strict") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return 3;
	// NOLINTNEXTLINE: the parent is to wait
	if ((strcmp(kind, "vfork") == 0 || strcmp(kind, "guarding") == 0) && vfork() == 0)
		await_byte(SYS_exit_group);
	if (strcmp(kind, "guarded") == 0)
		run_until_byte();
	await_byte(strcmp(kind, "strict") == 0 ? SYS_exit : SYS_exit_group);
	return 0;
}
