// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads, many and odd ones. See hostile.h; t/programs/capture-sleepers.c has those that sleep.
 */
#include "t/programs/hostile.h"

#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>

static atomic_int ready;

static int idle_pipe[2];

// Half of them in a call that restarts after a signal, half in one that does not.
static void *sleep_on(void *unused)
{
	struct pollfd file = { idle_pipe[0], POLLIN, 0 };
	void *block = malloc(100);
	char byte;

	if (ready++ % 2)
		expect("poll", poll(&file, 1, -1), 1);
	else
		expect("read", read(idle_pipe[0], &byte, 1), 0);
	free(block);
	return unused;
}

static void *compute(void *unused)
{
	ready++;
	while (!stop)
		free(malloc(64));
	return unused;
}

static void with_threads(int count, void *(*function)(void *))
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;

	expect("pipe", pipe(idle_pipe), 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (int i = 0; i < count; i++)
		expect("pthread_create", pthread_create(&threads[i], &small, function, NULL), 0);
	while (ready < count)
		usleep(1000);
	usleep(100000);
	capture();
	stop = true;
	close(idle_pipe[1]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void with_one(void)
{
	capture();
}

// As many as the environment says.
static void with_many(void)
{
	with_threads(atoi(getenv("HOSTILE_THREADS")), compute);
}

static void with_2000(void)
{
	with_threads(2000, sleep_on);
}

// --- threads that come and go ------------------------------------------------------

static atomic_long born;

static void *end_at_once(void *block)
{
	free(block);
	return NULL;
}

static void *start_others(void *unused)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	while (!stop) {
		void *block = malloc(48);

		if (pthread_create(&thread, &detached, end_at_once, block) != 0)
			free(block);
		born++;
	}
	return unused;
}

static void coming_and_going(void)
{
	pthread_t starters[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&starters[i], NULL, start_others, NULL);
	while (born < 100)
		usleep(1000);
	for (int i = 0; i < 5; i++) {
		raise(is_captured() ? SIGQUIT : 0);
		await_capture();
	}
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(starters[i], NULL);
}

// --- one's own signal stack ----------------------------------------------------------

// Holds a block by its own stack's memory alone while it computes.
static void *on_own_signal_stack(void *unused)
{
	const size_t size = 32768;
	char *memory = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory + 4096, .ss_size = size };

	mprotect(stack.ss_sp, size, PROT_READ | PROT_WRITE);
	expect("sigaltstack", sigaltstack(&stack, NULL), 0);
	ready++;
	while (!stop)
		free(malloc(32));
	return unused;
}

static void with_signal_stacks(void)
{
	with_threads(4, on_own_signal_stack);
}

// --- servers ---------------------------------------------------------------------------

static int listener;

static void *accept_one(void *unused)
{
	ready++;

	int connection = accept(listener, NULL, NULL);
	char byte = 0;

	if (connection < 0)
		perror("accept");
	ready++;
	expect("read", read(connection, &byte, 1), 1);
	expect("the byte", byte, 'x');
	close(connection);
	return unused;
}

static void in_accept(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	pthread_t thread;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	expect("bind", bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&address, &length);
	pthread_create(&thread, NULL, accept_one, NULL);
	while (ready == 0)
		usleep(1000);
	usleep(20000);
	capture();

	int client = socket(AF_INET, SOCK_STREAM, 0);

	expect("connect", connect(client, (struct sockaddr *)&address, length), 0);
	while (ready == 1) // capture() would take the new descriptor for one of ours
		usleep(1000);
	usleep(20000);
	capture();
	expect("write", write(client, "x", 1), 1);
	pthread_join(thread, NULL);
}

// All of them contend for one lock, which one always holds.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void *contend(void *unused)
{
	ready++;
	for (int i = 0; i < 200000 || !stop; i++) {
		pthread_mutex_lock(&lock);
		counted++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void with_a_lock(void)
{
	with_threads(8, contend);
	expect("counted", counted >= 8 * 200000, true);
}

// --- threads that wake each other ------------------------------------------------------

enum {
	RING = 24,
	TOKENS = 6,
	RING_SNAPSHOTS = 15,
};

static sem_t turn[RING];

// Takes a token and passes it on, and computes before and after, for a moment.
static void *pass_on(void *place)
{
	size_t at = (size_t)(uintptr_t)place;

	while (!stop) {
		sem_wait(&turn[at]);
		for (volatile int i = 0; i < 300; i++)
			;
		sem_post(&turn[(at + 1) % RING]);
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return NULL;
}

// With memory that takes a while to copy: what runs meanwhile has not been stopped.
static void in_a_ring(void)
{
	const size_t size = 128 << 20;
	char *memory = memset(malloc(size), 1, size);
	pthread_t threads[RING];

	for (int i = 0; i < RING; i++)
		sem_init(&turn[i], 0, i % (RING / TOKENS) == 0);
	for (int i = 0; i < RING; i++)
		pthread_create(&threads[i], NULL, pass_on, (void *)(uintptr_t)i);
	for (int i = 0; i < RING_SNAPSHOTS; i++) {
		raise(is_captured() ? SIGQUIT : 0);
		await_capture();
		usleep(1000);
	}
	stop = true;
	for (int i = 0; i < RING; i++)
		sem_post(&turn[i]);
	for (int i = 0; i < RING; i++)
		pthread_join(threads[i], NULL);
	free(memory);
}

static const struct way ways[] = {
	{ "one", with_one },
	{ "many", with_many },
	{ "2000", with_2000 },
	{ "coming", coming_and_going },
	{ "signal-stack", with_signal_stacks },
	{ "accept", in_accept },
	{ "lock", with_a_lock },
	{ "ring", in_a_ring },
};

int main(int argc, char **argv)
{
	return run_way(ways, sizeof(ways) / sizeof(ways[0]), argc, argv);
}
