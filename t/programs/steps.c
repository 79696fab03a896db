// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Heaps on which a careless inference takes time by the square of their size:
 *
 *	steps SHAPE NUMBER
 *
 *	arena  one block with as many pointers of several types into it as NUMBER says
 *	many   one object that so many others point to, by several types of pointers
 *	behind one array of as many pointers behind the start of texts of their own
 *	chain  a list of so many nodes, of which only the first has a typed pointer to it
 *	links  so many nodes of lists of two kinds, whose pointers lead to a member in their middle
 *	sparse an array of so many MiB, of which every 256th page was touched
 *	sizes  so many blocks of one site, each of another size, that begin with a common header
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STRIDE = 48,
	LISTS = 20,
};

struct red {
	struct red *next;
	long value;
};

struct green {
	long value;
	struct red *first, *last;
};

struct blue {
	double x, y, z;
};

struct header {
	int kind;
	int length;
};

struct text {
	int kind;
	int length;
	char bytes[];
};

struct vector {
	int kind;
	int length;
	double elements[];
};

struct holder {
	struct red *red;
	struct green *green;
	struct blue *blue;
	struct header *header;
	void *any;
};

struct link {
	struct link *next, *previous;
};

struct job {
	long number;
	int state, priority;
	struct link all;
	char *name;
};

struct timer {
	double when;
	long repeats[3];
	struct link all;
};

static struct link lists[LISTS];
static struct holder **holders;
static struct header **headers;
static struct red *first;
static void **pointers;

static void *must(void *block)
{
	if (!block)
		abort();
	return block;
}

static struct holder *make_holder(char *at, size_t number)
{
	struct holder *holder = must(calloc(1, sizeof(*holder)));

	switch (number % 4) {
	case 0:
		holder->red = (struct red *)at;
		break;
	case 1:
		holder->green = (struct green *)at;
		break;
	case 2:
		holder->blue = (struct blue *)at;
		break;
	default:
		holder->header = (struct header *)at;
		break;
	}
	return holder;
}

static void make_holders(char *at, size_t stride, size_t count)
{
	holders = must(calloc(count, sizeof(*holders)));
	for (size_t i = 0; i < count; i++)
		holders[i] = make_holder(at + i * stride, i);
}

// The bytes before each text are none that a text has.
static void make_behind(size_t count)
{
	const char text[] = "\1\1\1\1\1\1\1\1\1behind";

	pointers = must(calloc(count, sizeof(*pointers)));
	for (size_t i = 0; i < count; i++) {
		char *block = must(calloc(1, sizeof(text)));

		pointers[i] = (char *)memcpy(block, text, sizeof(text)) + strspn(text, "\1");
	}
}

static void make_chain(size_t count)
{
	struct red **place = &first;

	for (size_t i = 0; i < count; i++) {
		*place = must(calloc(1, sizeof(**place)));
		place = &(*place)->next;
	}
}

static void make_sparse(size_t count)
{
	const size_t each = (1 << 20) / sizeof(*first);

	first = must(calloc(count, 1 << 20));
	for (size_t i = 0; i < count; i++)
		first[i * each].next = must(calloc(1, sizeof(*first)));
}

static void make_sizes(size_t count)
{
	headers = must(calloc(count, sizeof(*headers)));
	for (size_t i = 0; i < count; i++) {
		headers[i] = must(calloc(1, sizeof(**headers) + 8 * (i + 1)));
		headers[i]->kind = (int)(i % 7);
		headers[i]->length = (int)i + 1;
	}
}

static void add_link(struct link *list, struct link *link)
{
	*link = (struct link){ list->next, list };
	list->next->previous = link;
	list->next = link;
}

static void make_links(size_t count)
{
	for (size_t i = 0; i < LISTS; i++)
		lists[i] = (struct link){ &lists[i], &lists[i] };
	for (size_t i = 0; i < count; i++) {
		if (i % 2)
			add_link(&lists[i % LISTS],
				 &((struct job *)must(calloc(1, sizeof(struct job))))->all);
		else
			add_link(&lists[i % LISTS],
				 &((struct timer *)must(calloc(1, sizeof(struct timer))))->all);
	}
}

int main(int argc, char **argv)
{
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	static struct text *volatile text;
	static struct vector *volatile vector;

	(void)text;
	(void)vector;
	if (count == 0)
		return 2;
	if (strcmp(argv[1], "arena") == 0)
		make_holders(must(calloc(count, STRIDE)), STRIDE, count);
	else if (strcmp(argv[1], "many") == 0)
		make_holders(must(calloc(1, 4 * STRIDE)), 0, count);
	else if (strcmp(argv[1], "behind") == 0)
		make_behind(count);
	else if (strcmp(argv[1], "chain") == 0)
		make_chain(count);
	else if (strcmp(argv[1], "sparse") == 0)
		make_sparse(count);
	else if (strcmp(argv[1], "links") == 0)
		make_links(count);
	else
		make_sizes(count);
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
