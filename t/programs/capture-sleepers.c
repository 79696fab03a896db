// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that sleep in all the calls which a handled signal would end with EINTR, threads
 * that block signals, one that waits for any signal, one that starts others, one in vfork.
 * Has itself captured many times, and tells who noticed. t/capture/threads.t runs it.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CAPTURES = 20,
};

static atomic_bool stop;
static atomic_int ready;
static atomic_uint vforks;
static int idle_pipe[2];
static int semaphores;

struct sleeper {
	const char *name;
	int (*call)(void);
	long number; // of the system call; 0: the only one that it may sleep in
	bool runs;   // now and then, rather than sleep in one call for good
	pthread_t thread;
	atomic_int tid;
	atomic_int disturbed;
};

static int in_poll(void)
{
	struct pollfd file = { idle_pipe[0], POLLIN, 0 };

	return poll(&file, 1, -1);
}

static int in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(idle_pipe[0], &set);
	return select(idle_pipe[0] + 1, &set, NULL, NULL, NULL);
}

static int in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, idle_pipe[0], &event);

	int result = epoll_wait(set, &event, 1, -1);
	int error = errno;

	close(set);
	errno = error;
	return result;
}

static int in_nanosleep(void)
{
	struct timespec wait = { 1000, 0 };

	return nanosleep(&wait, NULL);
}

static int in_clock_nanosleep(void)
{
	struct timespec wait = { 1000, 0 };

	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
	return errno ? -1 : 0;
}

static int in_pause(void)
{
	return pause();
}

static int in_sem_timedwait(void)
{
	static sem_t semaphore;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	sem_init(&semaphore, 0, 0);
	return sem_timedwait(&semaphore, &until);
}

static int in_semop(void)
{
	struct sembuf take = { 0, -1, 0 };

	return semop(semaphores, &take, 1);
}

static int in_recv(void)
{
	struct timeval wait = { 1000, 0 };
	int pair[2];
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return (int)recv(pair[0], &byte, 1, 0);
}

// These restart by themselves.
static int in_read(void)
{
	char byte;

	return (int)read(idle_pipe[0], &byte, 1);
}

static int in_sem_wait(void)
{
	static sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	return sem_wait(&semaphore);
}

// A thread that handles signals for all the others: gets none that it does not expect.
static int in_sigwait(void)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGQUIT); // the library would say that it may not have it

	int number = sigwaitinfo(&all, NULL);

	errno = number == SIGUSR1 ? 0 : EINTR;
	return -1;
}

static int in_vfork(void)
{
	while (!stop) {
		pid_t child = vfork();

		if (child == 0) {
			usleep(30000);
			_exit(0);
		}
		vforks++;
		if (waitpid(child, NULL, 0) != child)
			return -1;
	}
	return 0;
}

static int running_with_signals_blocked(void)
{
	sigset_t all;

	pthread_sigmask(SIG_SETMASK, (sigfillset(&all), &all), NULL);
	while (!stop)
		free(malloc(100));
	return 0;
}

static void *end_soon(void *block)
{
	free(block);
	return malloc(50);
}

static int starting_threads(void)
{
	while (!stop) {
		pthread_t threads[4];
		void *block;

		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, end_soon, malloc(40));
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], &block);
			free(block);
		}
	}
	return 0;
}

static struct sleeper sleepers[] = {
	{ .name = "poll", .call = in_poll },
	{ .name = "select", .call = in_select },
	{ .name = "epoll_wait", .call = in_epoll },
	{ .name = "nanosleep", .call = in_nanosleep },
	{ .name = "clock_nanosleep", .call = in_clock_nanosleep },
	{ .name = "pause", .call = in_pause },
	{ .name = "sem_timedwait", .call = in_sem_timedwait },
	{ .name = "semop", .call = in_semop },
	{ .name = "recv", .call = in_recv, .number = SYS_recvfrom },
	{ .name = "read", .call = in_read },
	{ .name = "sem_wait", .call = in_sem_wait },
	{ .name = "sigwait", .call = in_sigwait },
	{ .name = "vfork", .call = in_vfork, .runs = true },
	{ .name = "blocked", .call = running_with_signals_blocked, .runs = true },
	{ .name = "starter", .call = starting_threads, .runs = true },
};

static const int count = sizeof(sleepers) / sizeof(sleepers[0]);

static void *sleep_in(void *argument)
{
	struct sleeper *sleeper = argument;
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	sleeper->tid = (int)syscall(SYS_gettid);
	ready++;
	errno = 0;
	if (sleeper->call() < 0 && errno != 0)
		sleeper->disturbed = errno;
	return NULL;
}

// On a busy machine it takes a while until a thread is in its call.
static void await_sleep(const struct sleeper *sleeper)
{
	char path[64], call[16] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", sleeper->tid);
	while (call[0] < '0' || call[0] > '9' ||
	       (sleeper->number && strtol(call, NULL, 10) != sleeper->number)) {
		FILE *file = fopen(path, "r");

		if (!file || !fgets(call, sizeof(call), file))
			call[0] = '\0';
		if (file)
			fclose(file);
		usleep(1000);
	}
}

// Before each capture: a call that the one before has held is begun once more, and a thread that
// goes to sleep between the last look at it and the signal sees EINTR.
static void await_all_asleep(void)
{
	for (int i = 0; i < count; i++) {
		if (!sleepers[i].runs && !sleepers[i].disturbed)
			await_sleep(&sleepers[i]);
	}
}

int main(void)
{
	double longest = 0;

	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (pipe(idle_pipe) != 0 || semaphores < 0)
		return 2;
	for (int i = 0; i < count; i++)
		pthread_create(&sleepers[i].thread, NULL, sleep_in, &sleepers[i]);
	while (ready < count)
		usleep(1000);
	usleep(100000);
	for (int i = 0; i < CAPTURES; i++) {
		struct timespec before, after;

		await_all_asleep();
		clock_gettime(CLOCK_MONOTONIC, &before);
		if (heapsnap_dump(NULL) != 0)
			printf("capture %d failed\n", i);
		clock_gettime(CLOCK_MONOTONIC, &after);

		double took = (double)(after.tv_sec - before.tv_sec) +
			      (double)(after.tv_nsec - before.tv_nsec) / 1e9;

		longest = took > longest ? took : longest;
		if (heapsnap_wait() != 0)
			printf("capture %d was not written\n", i);
	}
	usleep(50000);
	for (int i = 0; i < count; i++) {
		if (sleepers[i].disturbed)
			printf("%s: %s\n", sleepers[i].name, strerror(sleepers[i].disturbed));
	}
	semctl(semaphores, 0, IPC_RMID); // wakes its sleeper
	fprintf(stderr, "longest stop %.3f s\n", longest);
	puts("done");
	fflush(stdout);
	_exit(0); // the sleepers sleep on
}
