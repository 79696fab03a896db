// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Ways to ask for snapshots, each by the name that t/capture/triggers.t gives. The writer may wait
 * for a file whose name is in WRITER_WAITS_FOR: then what happens while it writes does not depend on
 * how fast the machine is.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
	fflush(stdout);
}

static void let_write(void)
{
	const char *path = getenv("WRITER_WAITS_FOR");

	if (path)
		close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void own_handler(int number)
{
	show("own handler", number);
}

static void with_own_handler(void)
{
	signal(SIGQUIT, own_handler);
	raise(SIGQUIT);
	show("wait", heapsnap_wait());
}

static void in_a_storm(void)
{
	for (int i = 0; i < 1000; i++)
		raise(SIGQUIT);
	let_write();
	show("wait", heapsnap_wait());
}

static void while_writing(void)
{
	show("dump", heapsnap_dump(NULL));
	show("dump at once", heapsnap_dump(NULL));
	raise(SIGQUIT);
	raise(SIGQUIT);
	let_write();
	show("wait", heapsnap_wait());
	show("dump", heapsnap_dump(NULL));
	show("wait", heapsnap_wait());
}

static void named(void)
{
	char name[64];

	strcpy(name, "named-%e-%N.x");
	show("dump", heapsnap_dump(name));
	memset(name, 'x', sizeof(name)); // it has been copied
	show("wait", heapsnap_wait());
	show("dump as nothing", heapsnap_dump(""));
	show("wait", heapsnap_wait());
}

static void finish_child(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	show("child", status);
}

static void in_a_child(void)
{
	pid_t child;

	show("wait for none", heapsnap_wait());
	show("dump", heapsnap_dump(NULL));
	// While that is being written: it is none of the child's.
	child = fork();
	if (child == 0) {
		if (heapsnap_wait() != -ENOENT)
			_exit(1);
		let_write();
		if (heapsnap_dump(NULL) != 0 || heapsnap_wait() != 0)
			_exit(1);
		raise(SIGQUIT);
		if (heapsnap_wait() != 0)
			_exit(2);
		child = fork();
		if (child == 0)
			_exit(heapsnap_dump(NULL) != 0 || heapsnap_wait() != 0);
		waitpid(child, NULL, 0);
		_exit(0);
	}
	finish_child(child);
	show("wait", heapsnap_wait());
	show("dump", heapsnap_dump(NULL));
	show("wait", heapsnap_wait());
}

static void in_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		raise(SIGQUIT);
		_exit(0);
	}
	finish_child(child);
	show("wait", heapsnap_wait());
	show("dump", heapsnap_dump(NULL));
	show("wait", heapsnap_wait());
}

static void *trigger(void *unused)
{
	for (int i = 0; i < 5; i++) {
		pthread_kill(pthread_self(), SIGQUIT);
		usleep(1000);
	}
	return unused;
}

static void from_threads(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, trigger, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	show("wait", heapsnap_wait());
}

static void and_exit(void)
{
	show("dump", heapsnap_dump(NULL));
	exit(5);
}

static void and_crash(void)
{
	show("dump", heapsnap_dump(NULL));
	abort();
}

static int is_at_edge;

__attribute__((constructor)) static void before_main(void)
{
	if (getenv("AT_EDGE") && (is_at_edge = 1))
		raise(SIGQUIT);
}

static void after_main(void)
{
	raise(SIGQUIT);
	show("wait", heapsnap_wait());
}

static void at_the_edge(void)
{
	show("wait", heapsnap_wait());
	atexit(after_main);
}

static const struct {
	const char *name;
	void (*function)(void);
} ways[] = {
	{ "own-handler", with_own_handler },
	{ "storm", in_a_storm },
	{ "while-writing", while_writing },
	{ "named", named },
	{ "child", in_a_child },
	{ "vfork", in_vfork },
	{ "threads", from_threads },
	{ "exit", and_exit },
	{ "crash", and_crash },
	{ "edge", at_the_edge },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
			ways[i].function();
	}
	return 0;
}
