// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads asleep in blocking calls that end by themselves at a known time, by a timeout or an
 * event. Has itself captured while they sleep, and tells of each that ended other than it
 * should: with another result, or at another time. t/capture/undisturbed.t runs it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // ppoll, semtimedop
#endif
#include "dumper/heapsnap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CAPTURES = 5,
	PIPES = 12,
};

// Times as many where the environment says SLOWER.
static int wait_ms = 4000;        // the time at which all of them end
static int start_ms = 2000;       // of the captures: a timeout that starts anew is late by as much
static double late_seconds = 1.8; // on a busy machine

static int pipes[PIPES][2], listener, pair[2], timed_pair[2], semaphores, queue, event, locked;
static sem_t semaphore;
static atomic_int ready;
static struct timespec start;
static double told; // when events were sent

static double since_start(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
}

static struct timespec until(int clock)
{
	struct timespec when;
	double left = wait_ms / 1e3 - since_start();

	clock_gettime(clock, &when);
	when.tv_nsec += (long)(left * 1e9) % 1000000000;
	when.tv_sec += (long)left + when.tv_nsec / 1000000000;
	when.tv_nsec %= 1000000000;
	return when;
}

static int left_ms(void)
{
	return (int)(wait_ms - since_start() * 1e3);
}

static struct timespec left(void)
{
	int ms = left_ms();

	return (struct timespec){ ms / 1000, ms % 1000 * 1000000L };
}

// --- that end by a timeout --------------------------------------------------------

static long in_nanosleep(void)
{
	struct timespec wait = left();

	return nanosleep(&wait, NULL);
}

static long in_clock_nanosleep(void)
{
	struct timespec when = until(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static long in_poll(void)
{
	struct pollfd file = { pipes[0][0], POLLIN, 0 };

	return poll(&file, 1, left_ms());
}

static long in_ppoll(void)
{
	struct pollfd file = { pipes[0][0], POLLIN, 0 };
	struct timespec wait = left();

	return ppoll(&file, 1, &wait, NULL);
}

static long in_select(void)
{
	int ms = left_ms();
	struct timeval wait = { ms / 1000, ms % 1000 * 1000L };

	return select(0, NULL, NULL, NULL, &wait);
}

static long in_epoll_timed(void)
{
	struct epoll_event got;

	return epoll_wait(epoll_create1(0), &got, 1, left_ms());
}

static long in_sem_timedwait(void)
{
	static sem_t none;
	struct timespec when = until(CLOCK_REALTIME);

	sem_init(&none, 0, 0);
	return sem_timedwait(&none, &when) == -1 && errno == ETIMEDOUT ? 0 : -1;
}

static long in_cond_timedwait(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec when = until(CLOCK_REALTIME);

	pthread_mutex_lock(&lock);
	return pthread_cond_timedwait(&never, &lock, &when) == ETIMEDOUT ? 0 : -1;
}

static long in_sigtimedwait(void)
{
	struct timespec wait = left();
	sigset_t none;

	sigemptyset(&none);
	return sigtimedwait(&none, NULL, &wait) == -1 && errno == EAGAIN ? 0 : -1;
}

static long in_semtimedop(void)
{
	struct timespec wait = left();
	struct sembuf take = { 1, -1, 0 };

	return semtimedop(semaphores, &take, 1, &wait) == -1 && errno == EAGAIN ? 0 : -1;
}

static long in_timed_recv(void)
{
	int ms = left_ms();
	struct timeval wait = { ms / 1000, ms % 1000 * 1000L };
	char byte;

	setsockopt(timed_pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return recv(timed_pair[0], &byte, 1, 0) == -1 && errno == EAGAIN ? 0 : -1;
}

static long in_timed_read(void)
{
	int ms = left_ms();
	struct timeval wait = { ms / 1000, ms % 1000 * 1000L };
	char byte;

	setsockopt(timed_pair[1], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return read(timed_pair[1], &byte, 1) == -1 && errno == EAGAIN ? 0 : -1;
}

// --- that end by an event, from end_all() ---------------------------------------------

static long in_read(void)
{
	char byte;

	return read(pipes[1][0], &byte, 1) - 1;
}

static long in_poll_forever(void)
{
	struct pollfd file = { pipes[2][0], POLLIN, 0 };

	return poll(&file, 1, -1) - 1;
}

static long in_select_forever(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipes[3][0], &set);
	return select(pipes[3][0] + 1, &set, NULL, NULL, NULL) - 1;
}

static long in_epoll(void)
{
	struct epoll_event wanted = { .events = EPOLLIN }, got;
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, pipes[4][0], &wanted);
	return epoll_wait(set, &got, 1, -1) - 1;
}

static long in_epoll_pwait(void)
{
	struct epoll_event wanted = { .events = EPOLLIN }, got;
	int set = epoll_create1(0);
	sigset_t none;

	sigemptyset(&none);
	epoll_ctl(set, EPOLL_CTL_ADD, pipes[5][0], &wanted);
	return epoll_pwait(set, &got, 1, -1, &none) - 1;
}

static long in_sem_wait(void)
{
	return sem_wait(&semaphore);
}

static long in_accept(void)
{
	return accept(listener, NULL, NULL) >= 0 ? 0 : -1;
}

static long in_recv(void)
{
	char byte;

	return recv(pair[0], &byte, 1, 0) - 1;
}

static long in_semop(void)
{
	struct sembuf take = { 0, -1, 0 };

	return semop(semaphores, &take, 1);
}

static long in_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(queue, &message, sizeof(message.text), 0, 0) - 1;
}

static long in_eventfd(void)
{
	uint64_t value;

	return read(event, &value, sizeof(value)) - 8;
}

static long in_sigwaitinfo(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigwaitinfo(&set, NULL) - SIGUSR1;
}

static void handle(int number)
{
	(void)number;
}

// pause and sigsuspend end with EINTR, by SIGUSR2, and not before.
static long in_pause(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return pause() == -1 && errno == EINTR ? 0 : -1;
}

static long in_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none) == -1 && errno == EINTR ? 0 : -1;
}

static long in_waitpid(void)
{
	pid_t child = fork();

	if (child == 0) {
		struct timespec wait = left();

		nanosleep(&wait, NULL);
		_exit(7);
	}

	int status = 0;

	return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? 0 : -1;
}

static long in_flock(void)
{
	char path[64];
	int mine;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", locked);
	mine = open(path, O_RDONLY);
	return flock(mine, LOCK_EX);
}

// A mutex held by main.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long in_mutex(void)
{
	return pthread_mutex_lock(&lock);
}

struct sleeper {
	const char *name;
	long (*call)(void);
	bool waits_for_event;
	pthread_t thread;
	long result;
	int error;
	double ended;
};

#define TIMED(name) \
	{ \
#name, in_##name, false, 0, 0, 0, 0 \
	}
#define EVENT(name) \
	{ \
#name, in_##name, true, 0, 0, 0, 0 \
	}
static struct sleeper sleepers[] = {
	TIMED(nanosleep),    TIMED(clock_nanosleep), TIMED(poll),           TIMED(ppoll),
	TIMED(select),       TIMED(epoll_timed),     TIMED(sem_timedwait),  TIMED(cond_timedwait),
	TIMED(sigtimedwait), TIMED(semtimedop),      TIMED(timed_recv),     TIMED(timed_read),
	EVENT(read),         EVENT(poll_forever),    EVENT(select_forever), EVENT(epoll),
	EVENT(epoll_pwait),  EVENT(sem_wait),        EVENT(accept),         EVENT(recv),
	EVENT(semop),        EVENT(msgrcv),          EVENT(eventfd),        EVENT(sigwaitinfo),
	EVENT(pause),        EVENT(sigsuspend),      TIMED(waitpid),        EVENT(flock),
	EVENT(mutex),
};
enum {
	COUNT = sizeof(sleepers) / sizeof(sleepers[0]),
};

static void *sleep_in(void *argument)
{
	struct sleeper *sleeper = argument;

	ready++;
	errno = 0;
	sleeper->result = sleeper->call();
	sleeper->error = errno;
	sleeper->ended = since_start();
	return NULL;
}

static void prepare(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct sigaction action = { .sa_handler = handle };
	sigset_t set;

	sigaction(SIGUSR2, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < PIPES; i++) {
		if (pipe(pipes[i]) != 0)
			exit(2);
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&address, sizeof(address));
	listen(listener, 1);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	socketpair(AF_UNIX, SOCK_STREAM, 0, timed_pair);
	semaphores = semget(IPC_PRIVATE, 2, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	event = eventfd(0, 0);
	locked = open("locked", O_CREAT | O_RDWR, 0600);
	flock(locked, LOCK_EX);
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&lock);
}

static void end_all(void)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	struct sembuf give = { 0, 1, 0 };
	uint64_t one = 1;
	struct {
		long type;
		char text[1];
	} message = { 1, "x" };
	bool failed = false;

	for (int i = 1; i < PIPES; i++)
		failed = write(pipes[i][1], "x", 1) != 1 || failed;
	sem_post(&semaphore);
	getsockname(listener, (struct sockaddr *)&address, &length);
	failed = connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, length) !=
			 0 ||
		 failed;
	failed = send(pair[1], "x", 1, 0) != 1 || failed;
	failed = semop(semaphores, &give, 1) != 0 || failed;
	failed = msgsnd(queue, &message, 1, 0) != 0 || failed;
	failed = write(event, &one, sizeof(one)) != 8 || failed;
	for (int i = 0; i < COUNT; i++) {
		if (sleepers[i].call == in_sigwaitinfo)
			pthread_kill(sleepers[i].thread, SIGUSR1);
		if (sleepers[i].call == in_pause || sleepers[i].call == in_sigsuspend)
			pthread_kill(sleepers[i].thread, SIGUSR2);
	}
	flock(locked, LOCK_UN);
	pthread_mutex_unlock(&lock);
	if (failed)
		puts("the end could not be told to all");
}

static void report(const struct sleeper *sleeper)
{
	if (sleeper->result != 0)
		printf("%s gave %ld: %s\n", sleeper->name, sleeper->result,
		       strerror(sleeper->error));
	if (sleeper->ended < wait_ms / 1e3 - 0.05 ||
	    sleeper->ended > (sleeper->waits_for_event ? told : wait_ms / 1e3) + late_seconds)
		printf("%s ended after %.2f s\n", sleeper->name, sleeper->ended);
}

int main(void)
{
	const char *slower = getenv("SLOWER");
	int times = slower ? atoi(slower) : 1;
	struct timespec rest;

	wait_ms *= times;
	start_ms *= times;
	late_seconds *= times;
	prepare();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < COUNT; i++)
		pthread_create(&sleepers[i].thread, NULL, sleep_in, &sleepers[i]);
	while (ready < COUNT)
		usleep(1000);
	usleep(start_ms * 1000);
	for (int i = 0; heapsnap_dump && i < CAPTURES; i++) {
		if (heapsnap_dump(NULL) != 0)
			puts("no snapshot");
		heapsnap_wait();
		usleep(10000);
	}
	rest = left();
	if (rest.tv_sec >= 0 && rest.tv_nsec >= 0)
		nanosleep(&rest, NULL);
	told = since_start();
	end_all();
	for (int i = 0; i < COUNT; i++) {
		pthread_join(sleepers[i].thread, NULL);
		report(&sleepers[i]);
	}
	semctl(semaphores, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	puts(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD ? "done" : "a child is left");
	return 0;
}
