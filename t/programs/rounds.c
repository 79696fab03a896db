// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * For each line that it reads: leaks 100 leaves with their names, replaces 50 pages of a cache, and
 * counts in each of 20 counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAVES = 100,
	PAGES = 50,
	COUNTERS = 20,
};

struct leaf {
	long number;
	char *name;
	struct leaf *next;
};

struct page {
	long words[20];
};

struct counter {
	const char *name;
	long count, limit, step;
};

static struct leaf *leaves;
static struct page *pages[PAGES];
static struct counter *counters[COUNTERS];

static void go_round(long round)
{
	for (int i = 0; i < LEAVES; i++) {
		struct leaf *leaf = malloc(sizeof(*leaf));

		leaf->number = round * LEAVES + i;
		leaf->name = strdup("a leaf's name");
		leaf->next = leaves;
		leaves = leaf;
	}
	for (int i = 0; i < PAGES; i++) {
		// At the same address as the one before.
		free(pages[i]);
		pages[i] = malloc(sizeof(struct page));
		for (int j = 0; j < 20; j++)
			pages[i]->words[j] = round * 1000 + j;
	}
	for (int i = 0; i < COUNTERS; i++)
		counters[i]->count++;
}

int main(void)
{
	static char input[4096];

	setvbuf(stdin, input, _IOFBF, sizeof(input));
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < COUNTERS; i++) {
		counters[i] = malloc(sizeof(struct counter));
		*counters[i] = (struct counter){ "a counter", 0, 1000, 1 };
	}
	go_round(0);
	puts("ready");
	for (long round = 1; getchar() != EOF; round++) {
		go_round(round);
		puts("round");
	}
	return 0;
}
