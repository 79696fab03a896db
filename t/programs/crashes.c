// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Writes which blocks are live to FILE, as live-blocks does, and crashes.
 *
 *	crashes FILE HOW
 *
 *	overrun     it wrote beyond the ends of three blocks of the main thread and two of another; abort(3)
 *	calls-null  calls a function pointer that is NULL; calls-data: one that leads to data
 *	thread      another thread than the first writes to NULL
 *	aborts      calls abort(3); asserts: assert(3) fails; frees: free(3) finds a pointer that is none; copies:
 *	            memcpy(3) reads near NULL; is-killed: makes the file "waits", and waits for a signal
 *	wild        reads at an address that no program can have
 *	overflows   recurses until the stack is full
 *
 * Blocks whose headers are overwritten are not in FILE: nobody can know their sizes.
 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCKS = 3000,
	SIZE = 120,
};

static const int sizes[2] = { SIZE, 24 };

static void *blocks[2][BLOCKS];
static bool is_lost[2][BLOCKS];
static FILE *list;

static void fill(int group)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[group][i] = malloc((size_t)sizes[group]);
		memset(blocks[group][i], 0, (size_t)sizes[group]);
	}
	// Freed blocks are in a bin, and not live.
	for (int i = 5; i < BLOCKS; i += 100) {
		free(blocks[group][i]);
		blocks[group][i] = NULL;
	}
}

// Overwrites the header of the next block, and all of that block but its last bytes.
static void overrun(int group, int at, int byte)
{
	memset(blocks[group][at], byte, 2 * (size_t)sizes[group]);
	is_lost[group][at + 1] = true;
}

static void note(void)
{
	for (int group = 0; group < 2; group++) {
		for (int i = 0; i < BLOCKS; i++) {
			if (blocks[group][i] && !is_lost[group][i])
				fprintf(list, "%zx %x\n", (size_t)blocks[group][i],
					(unsigned)sizes[group]);
		}
	}
	fflush(list);
}

static void *work(void *unused)
{
	fill(1);
	return unused;
}

static int recurse(int depth)
{
	volatile char frame[1000];
	int result;

	memset((void *)frame, depth, sizeof(frame));
	result = recurse(depth + 1);
	return result + frame[0];
}

static void overflow(void)
{
	void *only = malloc(SIZE); // nothing but this stack holds it

	fprintf(list, "%zx %x\n", (size_t)only, SIZE);
	note();
	blocks[0][0] = recurse(0) ? NULL : only;
}

static void *fault(void *target)
{
	*(volatile int *)target = 1;
	return target;
}

static void call(void (*function)(void))
{
	void *own = malloc(SIZE);

	fprintf(list, "%zx %x\n", (size_t)own, SIZE);
	note();
	function();
	free(own);
}

__attribute__((noinline)) static void wait_for_it(void)
{
	int waits = open("waits", O_WRONLY | O_CREAT, 0600);

	if (write(waits, "\n", 1) == 1)
		pause();
}

__attribute__((noinline)) static void give_up(const char *how)
{
	volatile uintptr_t wild = UINT64_C(0x1234567812345678), near = 8;

	note();
	if (strcmp(how, "aborts") == 0)
		abort();
	assert(strcmp(how, "asserts") != 0);
	if (strcmp(how, "frees") == 0)
		free((char *)blocks[0][0] + near);
	if (strcmp(how, "copies") == 0)
		memcpy(blocks[0][0], (void *)near, (size_t)sizes[0] + near);
	if (strcmp(how, "wild") == 0)
		*(volatile int *)wild = 1;
	if (strcmp(how, "is-killed") == 0)
		wait_for_it();
	fputs(how, list); // no tail call above
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	void (*wild)(void) = NULL;
	pthread_t other;

	list = argc > 1 ? fopen(argv[1], "w") : NULL;
	if (!list)
		return 1;
	setvbuf(list, NULL, _IONBF, 0);
	fill(0);
	pthread_create(&other, NULL, work, NULL);
	pthread_join(other, NULL);
	if (strcmp(how, "overrun") == 0) {
		overrun(0, 500, 'A');
		overrun(0, 1510, 0);
		overrun(0, 2530, -1);
		overrun(1, 700, 0);
		overrun(1, 2520, 'A');
		note();
		abort();
	}
	if (strcmp(how, "thread") == 0) {
		note();
		pthread_create(&other, NULL, fault, NULL);
		pthread_join(other, NULL);
	}
	if (strcmp(how, "overflows") == 0)
		overflow();
	if (strncmp(how, "calls-", strlen("calls-")) != 0)
		give_up(how);
	if (strcmp(how, "calls-data") == 0)
		*(void **)&wild = blocks;
	call(wild);
	return 1;
}
