// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Signals that the program ignores, sent to it while it is captured: by default (SIGURG), by its
 * own will (SIGUSR1), and those of children that end. Nobody may notice: neither a thread in a
 * call that any signal with a handler would end, nor one that is captured itself.
 * t/capture/threads.t runs it.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CAPTURES = 20,
};

static atomic_int disturbed;

static void *receive(void *nothing)
{
	struct timeval wait = { 1000, 0 };
	int pair[2];
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (recv(pair[0], &byte, 1, 0) < 0)
		disturbed = errno;
	return nothing;
}

static void *wait_for_event(void *nothing)
{
	struct epoll_event event;

	if (epoll_wait(epoll_create1(0), &event, 1, 1000000) < 0)
		disturbed = errno;
	return nothing;
}

// Sends them all the time, and ends children of the program's meanwhile.
static void send_signals(pid_t to)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		kill(to, SIGURG);
		kill(to, SIGUSR1);
	}
}

static void *begin_children(void *nothing)
{
	for (;;) {
		pid_t child = fork();

		if (child == 0) {
			usleep(3000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return nothing;
}

int main(void)
{
	pid_t program = getpid(), sender;
	pthread_t thread;

	signal(SIGUSR1, SIG_IGN);
	pthread_create(&thread, NULL, receive, NULL);
	pthread_create(&thread, NULL, wait_for_event, NULL);
	pthread_create(&thread, NULL, begin_children, NULL);
	usleep(100000);
	sender = fork();
	if (sender == 0)
		send_signals(program);
	for (int i = 0; i < CAPTURES; i++) {
		if (heapsnap_dump(NULL) != 0 || heapsnap_wait() != 0)
			printf("capture %d failed\n", i);
	}
	kill(sender, SIGKILL);
	if (disturbed)
		printf("disturbed: %s\n", strerror(disturbed));
	puts("done");
	fflush(stdout);
	_exit(0); // the threads sleep on
}
