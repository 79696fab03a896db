// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that wait for condition variables, each of which is the first member of a struct that no debug
 * information tells of.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	THREADS = 3,
	SLOTS = 6,
	SLOT_SIZE = 160,
};

static void *slots;
static int waiting;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for(void *slot)
{
	pthread_cond_t *volatile condition = slot;

	pthread_mutex_lock(&mutex);
	waiting++;
	for (;;)
		pthread_cond_wait(condition, &mutex);
	return NULL;
}

static int count_waiting(void)
{
	pthread_mutex_lock(&mutex);
	int count = waiting;
	pthread_mutex_unlock(&mutex);
	return count;
}

int main(void)
{
	slots = calloc(SLOTS, SLOT_SIZE);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, wait_for, (char *)slots + i * SLOT_SIZE) != 0)
			return 1;
	}
	while (count_waiting() < THREADS)
		continue;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
