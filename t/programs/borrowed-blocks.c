// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A cache whose code has a type for the blocks that it allocates, as links of its own list, but hands them out for
 * measurements, which nothing typed leads to.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	MEASUREMENTS = 40,
	LINKS = 12,
};

struct link {
	struct link *next, *previous;
	const char *name;
};

struct measurement {
	double value, weight;
	long time;
};

static void *measurements[MEASUREMENTS];
static struct link *links;

__attribute__((noinline)) static void *take(void)
{
	struct link *link = calloc(1, sizeof(*link));

	__asm__ volatile("" : : "r"(link) : "memory");
	return link;
}

__attribute__((noinline)) static struct link *add(struct link *next, const char *name)
{
	struct link *link = calloc(1, sizeof(*link));

	link->next = next;
	link->name = name;
	if (next)
		next->previous = link;
	return link;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < MEASUREMENTS; i++) {
		struct measurement *measurement = take();

		measurement->value = 1.5 + i;
		measurement->weight = 0.25;
		measurement->time = i;
		measurements[i] = measurement;
	}
	for (int i = 0; i < LINKS; i++)
		links = add(links, "link");
	puts("ready");
	while (getchar() != EOF)
		;
	return links == measurements[0];
}
