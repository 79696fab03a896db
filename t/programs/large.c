// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks (1,000 each time, or as many as the argument says) around one of 64 MiB of noise, which looks like anything here and there, and a table of
 * 1 GiB in .bss of which one entry is set. t/end-to-end/large.t has the numbers.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ITEMS = 1000,
	NOISE = 64 << 20,
	ENTRIES = 1 << 27,
};

// Bytes before and behind the noise that have all items.
#define NEAR (UINT64_C(1) << 30)

struct item {
	struct item *next;
	long number;
};

struct item *items;
unsigned char *noise;
struct item *table[ENTRIES];

static void add_items(long count)
{
	for (long i = 0; i < count; i++) {
		struct item *item = malloc(sizeof(*item));

		item->next = items;
		item->number = i;
		items = item;
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : ITEMS;
	uint64_t state = 88172645463325252u;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	// Not in a mapping of its own: the items that come later are to lie behind it.
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	add_items(count);
	noise = malloc(NOISE);
	for (int i = 0; i < NOISE; i += 8) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		// A word whose lower 47 bits are a block's address is a pointer with a tag: no noise.
		*(uint64_t *)(noise + i) =
			(state - (uintptr_t)noise + NEAR) << 17 < NEAR << 18 ? 0 : state;
	}
	add_items(count);
	table[ENTRIES / 2] = malloc(sizeof(**table));
	table[ENTRIES / 2]->next = NULL;
	puts("ready");
	getchar();
	puts("done");
	return 0;
}
