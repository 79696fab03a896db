// SPDX-License-Identifier: GPL-3.0-or-later
// ns per malloc and free, 20 calls deep. With HEAPSNAP_STACKS=1 each of them is a sample.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	FRAMES = 20, // with main, and the two of libc's that call it
	PAIRS = 200000,
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void allocate(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(64);

		free(block);
	}
}

__attribute__((noinline, noclone)) static double descend(int depth)
{
	double start, result;

	if (depth > 0) {
		result = descend(depth - 1);
		__asm__ volatile("" ::: "memory");
		return result;
	}
	allocate(1000); // warms up
	start = now_ns();
	allocate(PAIRS);
	return (now_ns() - start) / PAIRS;
}

int main(void)
{
	// descend(n) is n + 1 frames; _start, two of libc's and main are four.
	printf("ns %.2f\n", descend(FRAMES - 5));
	return 0;
}
