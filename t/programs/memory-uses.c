// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has far more memory than live blocks:
 *
 *	memory-uses freed     most of 64 MiB of blocks are freed again, but one of each thousand
 *	memory-uses scattered the same, but one of each page stays
 *	memory-uses mapped    64 MiB are mapped without malloc, beside what the loader has mapped
 *	memory-uses stack     32 MiB of a thread's stack were used
 *	memory-uses live      64 MiB of blocks, small and large ones, all of which are live
 *	memory-uses later     as mapped, once a line has been read
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	MEBIBYTE = 1 << 20,
	BYTES = 64 * MEBIBYTE,
	BLOCK = 2032, // two of them to a page, with what malloc adds
	BLOCKS = BYTES / (BLOCK + 16),
	FRAME = 256 << 10,
	FRAMES = BYTES / FRAME,
	STACK = 32 * MEBIBYTE,
};

static char *blocks[BLOCKS];
static char *frames[FRAMES];

static void allocate(int count, size_t size)
{
	for (int i = 0; i < count; i++) {
		blocks[i] = malloc(size);
		memset(blocks[i], 1, size);
	}
}

static void free_but(int step)
{
	for (int i = 0; i < BLOCKS; i++) {
		if (i % step != 0) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
	}
}

// The kernel puts them below the last mapping, and joins them with it: that has the first thread's storage.
static void map(void)
{
	for (int i = 0; i < FRAMES; i++) {
		frames[i] = mmap(NULL, FRAME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		memset(frames[i], 1, FRAME);
	}
}

static __attribute__((noinline)) void use_stack(const char *bytes)
{
	char room[STACK];

	memset(room, bytes[0], sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
}

static void *sleep_on(void *ready)
{
	use_stack("\1");
	pthread_barrier_wait(ready);
	for (;;)
		pause();
	return NULL;
}

static void start_thread(void)
{
	static pthread_barrier_t ready;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 2);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 2 * (size_t)STACK);
	if (pthread_create(&thread, &attributes, sleep_on, &ready) != 0)
		exit(1);
	pthread_barrier_wait(&ready);
}

int main(int argc, char **argv)
{
	const char *use = argc > 1 ? argv[1] : "";

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	allocate(1, BLOCK);
	if (strcmp(use, "mapped") == 0) {
		map();
	} else if (strcmp(use, "stack") == 0) {
		start_thread();
	} else if (strcmp(use, "live") == 0) {
		allocate(BLOCKS / 2, BLOCK);
		for (int i = 0; i < FRAMES / 2; i++) {
			frames[i] = malloc(FRAME);
			memset(frames[i], 1, FRAME);
		}
	} else if (strcmp(use, "later") == 0) {
		puts("ready");
		if (getchar() == EOF)
			return 0;
		map();
	} else {
		allocate(BLOCKS, BLOCK);
		free_but(strcmp(use, "freed") == 0 ? 1000 : 2);
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
