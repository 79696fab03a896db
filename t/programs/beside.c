// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O1 -fno-builtin-malloc
/*
 * An allocator of the program's own, whose memory the kernel joins with that of large blocks of malloc, as
 * Python's arenas. It has the only pointers to 30 blocks; 5 more are leaked.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	ARENA = 64 * PAGE,
	LARGE = 32 << 20, // too large for the holes between libraries
	BLOCKS = 30,
	LOST = 5,
};

struct item {
	long number;
	char text[56];
};

static volatile uintptr_t checksum;

__attribute__((noinline)) static struct item *item_new(long number)
{
	struct item *item = calloc(1, sizeof(*item));

	item->number = number;
	return item;
}

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < LOST; i++)
		checksum += (uintptr_t)item_new(-i) % 127;
}

// Stale words of calls that have ended must hold nothing.
__attribute__((noinline)) static void overwrite_stack(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

// Just below a large block, which begins in the first of its pages.
static void *map_below(const char *large)
{
	char *end = (char *)((uintptr_t)large & ~(uintptr_t)(PAGE - 1));
	void *arena = mmap(end - ARENA, ARENA, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (arena == MAP_FAILED)
		abort();
	return arena;
}

__attribute__((noinline)) static void fill(void)
{
	static char *large[2];

	for (int i = 0; i < 2; i++) {
		large[i] = malloc(LARGE);
		large[i][0] = 1;

		struct item **arena = map_below(large[i]);

		for (int j = 0; j < BLOCKS / 2; j++)
			arena[100 + j] = item_new(i * BLOCKS + j);
	}
}

int main(void)
{
	fill();
	lose();
	overwrite_stack();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
