// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A wrapper whose use shows it to be one, and which calls itself later on, as the allocator of a
 * collector does that runs finalizers. By then all its callers and sizes are known, so that
 * only the backtrace of a sample shows the recursion.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline)) static

static volatile size_t requested; // hides from the code that the size is passed on
static volatile bool collects;
static void *volatile last;

KEPT void finalize(void);

KEPT void *allocate(size_t size)
{
	void *block;

	if (collects)
		finalize();
	requested = size;
	block = malloc(requested);
	if (!block)
		abort();
	return block;
}

#define MAKER(name, size) \
	KEPT void name(int count) \
	{ \
		for (int i = 0; i < count; i++) \
			last = allocate(size); \
	}

MAKER(first, 32)
MAKER(second, 100)
MAKER(third, 200)
MAKER(fourth, 300)
MAKER(fifth, 48)

KEPT void finalize(void)
{
	collects = false;
	fifth(1);
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's, which waits for the first character
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 20; i++) {
		first(5);
		second(5);
		third(5);
		fourth(5);
		fifth(5);
	}
	for (int i = 0; i < 50; i++) {
		collects = true;
		first(1);
	}
	first(100);
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
