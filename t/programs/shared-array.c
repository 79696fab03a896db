// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list in a pool of its own, each of whose links leads to another element of one array.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	HEADER = 4096, // bytes of the pool before its links: the array has another size
};

struct item {
	long key;
	double weight;
	long count;
};

struct link {
	struct link *next;
	struct item *item;
	long number;
};

struct list {
	struct link *first, *last;
	long count;
};

struct list *list;

// In a function of its own: main() has no local pointers to the blocks.
__attribute__((noinline)) static void fill(long count)
{
	char *pool = calloc(1, HEADER + (size_t)count * sizeof(struct link));
	struct item *items = calloc((size_t)count, sizeof(*items));
	struct link **last;

	list = calloc(1, sizeof(*list));
	if (!pool || !items || !list)
		exit(1);
	list->count = count;
	last = &list->first;
	for (long i = 0; i < count; i++) {
		struct link *link = (struct link *)(void *)(pool + HEADER) + i;

		items[i] = (struct item){ i, (double)i / 3, i * 7 };
		link->item = &items[i];
		link->number = i;
		*last = link;
		last = &link->next;
		list->last = link;
	}
}

int main(int argc, char **argv)
{
	fill(argc > 1 ? atol(argv[1]) : 100);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
