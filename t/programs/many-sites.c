// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Makes more blocks than the first parts of the library's tables take: 6000 sizes at one site, and 16384
 * blocks each of which has come by another way through the same function. All stay. With the argument "wait" it
 * then waits for the end of its input.
 */
#include <stdlib.h>
#include <unistd.h>

enum {
	SIZES = 6000,
	DEPTH = 14, // of calls by one of two sites
};

static void *sizes[SIZES];
static void *paths[1 << DEPTH];

static __attribute__((noinline)) void *descend(unsigned path, int depth)
{
	void *block;

	if (depth == 0)
		return malloc(24);
	if (path >> (depth - 1) & 1)
		block = descend(path, depth - 1);
	else
		block = descend(path, depth - 1);
	__asm__ volatile("" : "+r"(block));
	return block;
}

static void make_sizes(void)
{
	for (int i = 0; i < SIZES; i++)
		sizes[i] = malloc(1000 + (size_t)i);
}

static void make_paths(void)
{
	for (unsigned i = 0; i < 1 << DEPTH; i++)
		paths[i] = descend(i, DEPTH);
}

int main(int argc, char **argv)
{
	char byte;

	(void)argv;
	make_sizes();
	make_paths();
	if (argc > 1 && write(1, "ready\n", 6) == 6) {
		while (read(0, &byte, 1) > 0)
			;
	}
	return 0;
}
