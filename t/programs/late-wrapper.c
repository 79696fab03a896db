// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A wrapper that only its use shows to be one: its code hides that it passes a size on. Before it is
 * recognised, first() makes a block of 32 bytes and second() 500; afterwards sixth() makes 300.
 */
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline)) static

// The size takes a way that code does not show.
static volatile size_t requested;

KEPT void *xmalloc(size_t size)
{
	void *block;

	requested = size;
	block = malloc(requested);
	if (!block)
		abort();
	return block;
}

// Blocks are leaked: the next one takes the only place that leads to them.
static void *volatile last;

#define MAKER(name, size) \
	KEPT void name(int count) \
	{ \
		for (int i = 0; i < count; i++) \
			last = xmalloc(size); \
	}

MAKER(first, 32)
MAKER(second, 32)
MAKER(third, 100)
MAKER(fourth, 200)
MAKER(fifth, 300)
MAKER(sixth, 48)

int main(void)
{
	first(1);
	second(500);
	third(20);
	fourth(20);
	fifth(20);
	sixth(300);
	last = NULL;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
