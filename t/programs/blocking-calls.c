// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A thread in each of the system calls that block: what each returns, and after how long, must not
 * change because somebody attaches meanwhile.
 *
 * Says "ready"; after a line on standard input, ends those calls that have no time limit, and says
 * for each "NAME ok", or what has come of it; then how many children, descriptors and blocked
 * signals there are more than before.
 */
#define _GNU_SOURCE
#include "t/programs/asleep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LIMIT_MS = 4000,
	FULL = 1 << 20
};

struct ends {
	int read, write;
};

static struct ends read_pipe, full_pipe, poll_pipe, select_pipe, epoll_pipe, timed_epoll_pipe;
static int accepting, receiving[2], locked, semaphores, messages, waiting_sockets[2];
static pid_t child;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER,
		       condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static sigset_t wanted;
static char lock_name[] = "/tmp/heapsnap-lock-XXXXXX";

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static struct timespec in_future(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += LIMIT_MS / 1000;
	return time;
}

static long do_nanosleep(void)
{
	struct timespec time = { LIMIT_MS / 1000, 0 }, left;

	return nanosleep(&time, &left);
}

static long do_clock_nanosleep(void)
{
	struct timespec time = in_future(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static long do_poll(void)
{
	struct pollfd event = { poll_pipe.read, POLLIN, 0 };

	return poll(&event, 1, LIMIT_MS);
}

static long do_ppoll(void)
{
	struct pollfd event = { poll_pipe.read, POLLIN, 0 };
	struct timespec time = { LIMIT_MS / 1000, 0 };

	return ppoll(&event, 1, &time, NULL);
}

static long do_select(void)
{
	struct timeval time = { LIMIT_MS / 1000, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(select_pipe.read, &set);
	return select(select_pipe.read + 1, &set, NULL, NULL, &time);
}

static long do_read(void)
{
	char byte;

	return read(read_pipe.read, &byte, 1);
}

static long do_write(void)
{
	static char bytes[FULL];

	return write(full_pipe.write, bytes, sizeof(bytes));
}

static long do_accept(void)
{
	return accept(accepting, NULL, NULL) >= 0 ? 0 : -1;
}

static long do_recv(void)
{
	char byte;

	return recv(receiving[0], &byte, 1, 0);
}

static long do_timed_recv(void)
{
	struct timeval time = { LIMIT_MS / 1000, 0 };
	char byte;

	setsockopt(waiting_sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	return recv(waiting_sockets[0], &byte, 1, 0) == -1 && errno == EAGAIN ? 0 : -1;
}

// The descriptor stays open: they are counted at a time when the call may have ended, or not.
static long wait_for_event(int descriptor, int timeout)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
	return epoll_wait(epoll, &event, 1, timeout);
}

static long do_epoll(void)
{
	return wait_for_event(epoll_pipe.read, -1);
}

static long do_timed_epoll(void)
{
	return wait_for_event(timed_epoll_pipe.read, LIMIT_MS);
}

static long do_mutex(void)
{
	int result = pthread_mutex_lock(&mutex);

	pthread_mutex_unlock(&mutex);
	return result;
}

static long do_condition(void)
{
	struct timespec time = in_future(CLOCK_REALTIME);
	int result;

	pthread_mutex_lock(&condition_mutex);
	result = pthread_cond_timedwait(&condition, &condition_mutex, &time);
	pthread_mutex_unlock(&condition_mutex);
	return result == ETIMEDOUT ? 0 : -1;
}

static long do_semaphore(void)
{
	struct timespec time = in_future(CLOCK_REALTIME);

	return sem_timedwait(&semaphore, &time) == -1 && errno == ETIMEDOUT ? 0 : -1;
}

static long do_sigwait(void)
{
	return sigwaitinfo(&wanted, NULL);
}

static long do_sigtimedwait(void)
{
	struct timespec time = { LIMIT_MS / 1000, 0 };
	sigset_t none;

	sigemptyset(&none);
	sigaddset(&none, SIGUSR2);
	return sigtimedwait(&none, NULL, &time) == -1 && errno == EAGAIN ? 0 : -1;
}

static long do_semop(void)
{
	struct sembuf take = { 0, -1, 0 };

	return semop(semaphores, &take, 1);
}

static long do_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(messages, &message, sizeof(message.text), 0, 0);
}

static long do_flock(void)
{
	int file = open(lock_name, O_RDWR | O_CLOEXEC), result = flock(file, LOCK_EX);

	close(file);
	return result;
}

static long do_wait(void)
{
	int status;

	return waitpid(child, &status, 0) == child ? 0 : -1;
}

static volatile bool is_over;

static long do_run(void)
{
	double value = 1.5;
	uint64_t count = 0;

	while (!is_over) {
		value = value * 1.0000001 + 0.5;
		if (value > 1e9)
			value = 1.5;
		count++;
	}
	return count > 0 && value >= 1.5 ? 0 : -1;
}

static struct call {
	const char *name;
	long (*run)(void);
	long expected;
	bool is_timed;
	long result;
	int error;
	int64_t ms;
	pthread_t thread;
} calls[] = {
	{ .name = "nanosleep", .run = do_nanosleep, .is_timed = true },
	{ .name = "clock_nanosleep", .run = do_clock_nanosleep, .is_timed = true },
	{ .name = "poll", .run = do_poll, .is_timed = true },
	{ .name = "ppoll", .run = do_ppoll, .is_timed = true },
	{ .name = "select", .run = do_select, .is_timed = true },
	{ .name = "read", .run = do_read, .expected = 1 },
	{ .name = "write", .run = do_write, .expected = FULL },
	{ .name = "accept", .run = do_accept },
	{ .name = "recv", .run = do_recv, .expected = 1 },
	{ .name = "recv with a time limit", .run = do_timed_recv, .is_timed = true },
	{ .name = "epoll_wait", .run = do_epoll, .expected = 1 },
	{ .name = "epoll_wait with a time limit", .run = do_timed_epoll, .is_timed = true },
	{ .name = "mutex", .run = do_mutex },
	{ .name = "condition variable", .run = do_condition, .is_timed = true },
	{ .name = "semaphore", .run = do_semaphore, .is_timed = true },
	{ .name = "sigwaitinfo", .run = do_sigwait, .expected = SIGUSR1 },
	{ .name = "sigtimedwait", .run = do_sigtimedwait, .is_timed = true },
	{ .name = "semop", .run = do_semop },
	{ .name = "msgrcv", .run = do_msgrcv, .expected = 4 },
	{ .name = "flock", .run = do_flock },
	{ .name = "waitpid", .run = do_wait },
	{ .name = "nothing, it runs", .run = do_run },
};

enum {
	CALLS = sizeof(calls) / sizeof(calls[0])
};

static void *run(void *context)
{
	struct call *call = context;
	int64_t start = now_ms();

	errno = 0;
	call->result = call->run();
	call->error = errno;
	call->ms = now_ms() - start;
	return NULL;
}

static void say(const struct call *call)
{
	if (call->result != call->expected)
		printf("%s returned %ld, errno %d\n", call->name, call->result, call->error);
	else if (call->is_timed && (call->ms < LIMIT_MS - 50 || call->ms > LIMIT_MS + 1500))
		printf("%s took %lld ms\n", call->name, (long long)call->ms);
	else
		printf("%s ok\n", call->name);
}

// --- what must not be left over ----------------------------------------------------

static volatile sig_atomic_t child_signals;

static void on_child(int signal)
{
	(void)signal;
	child_signals++;
}

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

static int count_blocked(void)
{
	sigset_t set;
	int count = 0;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	for (int i = 1; i < 65; i++)
		count += sigismember(&set, i) == 1;
	return count;
}

static struct ends make_pipe(void)
{
	int ends[2];

	if (pipe(ends) != 0)
		exit(1);
	return (struct ends){ ends[0], ends[1] };
}

static void prepare(void)
{
	read_pipe = make_pipe();
	full_pipe = make_pipe();
	poll_pipe = make_pipe();
	select_pipe = make_pipe();
	epoll_pipe = make_pipe();
	timed_epoll_pipe = make_pipe();
	accepting = socket(AF_UNIX, SOCK_STREAM, 0);
	if (listen(accepting, 1) != 0 && bind(accepting, &(struct sockaddr){ AF_UNIX, "" }, 2) != 0)
		exit(1);
	listen(accepting, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, receiving) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, waiting_sockets) != 0)
		exit(1);
	locked = mkstemp(lock_name);
	flock(locked, LOCK_EX);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	messages = msgget(IPC_PRIVATE, 0600);
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&mutex);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &wanted, NULL);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
}

static void end_calls(void)
{
	static char bytes[FULL];
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	struct sembuf give = { 0, 1, 0 };
	struct {
		long type;
		char text[8];
	} message = { 1, "text" };
	int connecting = socket(AF_UNIX, SOCK_STREAM, 0);

	is_over = true;
	if (write(read_pipe.write, "x", 1) != 1 || write(receiving[1], "x", 1) != 1 ||
	    write(epoll_pipe.write, "x", 1) != 1)
		exit(1);
	for (size_t got = 0; got < FULL;)
		got += (size_t)read(full_pipe.read, bytes, sizeof(bytes));
	getsockname(accepting, (struct sockaddr *)&address, &size);
	if (connect(connecting, (struct sockaddr *)&address, size) != 0)
		exit(1);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < CALLS; i++) {
		if (calls[i].run == do_sigwait)
			pthread_kill(calls[i].thread, SIGUSR1);
	}
	semop(semaphores, &give, 1);
	msgsnd(messages, &message, 4, 0);
	flock(locked, LOCK_UN);
	kill(child, SIGKILL);
}

int main(void)
{
	int descriptors, blocked;
	char line[16];

	prepare();
	signal(SIGCHLD, on_child);
	for (int i = 0; i < CALLS; i++)
		pthread_create(&calls[i].thread, NULL, run, &calls[i]);
	await_asleep(CALLS - 1); // one runs
	descriptors = count_descriptors();
	blocked = count_blocked();
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	printf("%d descriptors, %d blocked signals, %d signals of children\n",
	       count_descriptors() - descriptors, count_blocked() - blocked, (int)child_signals);
	end_calls();
	for (int i = 0; i < CALLS; i++)
		pthread_join(calls[i].thread, NULL);
	for (int i = 0; i < CALLS; i++)
		say(&calls[i]);
	printf("%s\n", waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD ? "no children"
										    : "a child");
	semctl(semaphores, 0, IPC_RMID);
	msgctl(messages, IPC_RMID, NULL);
	unlink(lock_name);
	return 0;
}
