// SPDX-License-Identifier: GPL-3.0-or-later
// ns per malloc and free: 1 M live blocks replaced at random, one hot block, two threads.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	LIVE = 1 << 20,
	REPLACED = 4 << 20,
	HOT = 20 << 20
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void random_replace(void)
{
	char **blocks = malloc(LIVE * sizeof(*blocks));
	uint64_t state = 88172645463325252u;

	for (int i = 0; i < LIVE; i++)
		blocks[i] = malloc(16 + next(&state) % 512);

	double start = now_ns();

	for (int i = 0; i < REPLACED; i++) {
		size_t at = next(&state) % LIVE;

		free(blocks[at]);
		blocks[at] = malloc(16 + next(&state) % 512);
		blocks[at][0] = 1;
	}
	printf("random %.2f\n", (now_ns() - start) / REPLACED);
	for (int i = 0; i < LIVE; i++)
		free(blocks[i]);
	free(blocks);
}

static void *hot(void *unused)
{
	for (int i = 0; i < HOT; i++) {
		char *volatile block = malloc(64);

		free(block);
	}
	return unused;
}

int main(void)
{
	double start = now_ns();
	pthread_t threads[2];

	hot(NULL);
	printf("hot %.2f\n", (now_ns() - start) / HOT);
	random_replace();
	start = now_ns();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, hot, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("two_threads %.2f\n", (now_ns() - start) / HOT);
	return 0;
}
