// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Fifty threads that allocate and free without a pause, each of which keeps ten blocks:
 * five on a list of its own thread-local variable, five in an array that only its stack
 * knows. t/end-to-end/threads.t captures it again and again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	THREADS = 50,
	KEPT = 5,
	CHURN = 64
};

struct kept {
	struct kept *next;
	long thread;
};

struct held {
	long thread, number;
	char text[16];
};

static _Thread_local struct kept *mine;
static atomic_bool stop;
static atomic_int ready;
static atomic_ulong rounds;

static void churn(unsigned *seed)
{
	void *blocks[CHURN];

	for (int i = 0; i < CHURN; i++) {
		blocks[i] = malloc(rand_r(seed) % 2000);
		if (i % 8 == 0)
			blocks[i] = realloc(blocks[i], rand_r(seed) % 4000 + 1);
	}
	for (int i = 0; i < CHURN; i++)
		free(blocks[i]);
}

static void *work(void *argument)
{
	struct held *held[KEPT];
	unsigned seed = (unsigned)(long)argument;

	// Only this thread gets a lower priority, so that the writer does not have to share with fifty.
	setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	for (long i = 0; i < KEPT; i++) {
		struct kept *kept = malloc(sizeof(*kept));

		*kept = (struct kept){ mine, (long)argument };
		mine = kept;
		held[i] = calloc(1, sizeof(*held[i]));
		held[i]->number = i;
	}
	ready++;
	while (!stop) {
		churn(&seed);
		rounds++;
	}
	for (int i = 0; i < KEPT; i++)
		free(held[i]);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	setvbuf(stdin, NULL, _IONBF, 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	while (ready < THREADS)
		sched_yield();
	puts("ready");
	fflush(stdout);
	getchar();
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts(rounds > 0 ? "done" : "nothing was done");
	return 0;
}
