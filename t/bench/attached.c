// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A program to be attached to: so many threads that sleep, memory that is touched, and blocks.
 *
 *	attached THREADS MIB BLOCKS
 *
 * Prints the least time of five forks in µs, and waits for its standard input to end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t time_fork(void)
{
	uint64_t start = now_ns(), end;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	end = now_ns();
	waitpid(child, NULL, 0);
	return end - start;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[1]) : 1;
	size_t bytes = argc > 3 ? strtoul(argv[2], NULL, 10) << 20 : 0;
	size_t blocks = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	char *memory =
		mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **list = calloc(blocks + 1, sizeof(*list));
	uint64_t least = UINT64_MAX;
	pthread_attr_t small;
	char byte;

	if (memory == MAP_FAILED || !list)
		return 1;
	madvise(memory, bytes + 1, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	for (size_t i = 0; i < blocks; i++)
		list[i] = malloc(24 + i % 3 * 16);
	for (size_t i = 0; i < blocks; i += 3)
		free(list[i]);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 1; i < threads; i++) {
		pthread_t thread;

		pthread_create(&thread, &small, wait_for_ever, NULL);
	}
	for (int i = 0; i < 5; i++) {
		uint64_t time = time_fork();

		least = time < least ? time : least;
	}
	printf("%llu\n", (unsigned long long)least / 1000);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
