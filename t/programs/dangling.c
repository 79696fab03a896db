// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -Wno-use-after-free
// Pointers to what has been freed, and some that only look like it.
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	long value;
};

struct holder {
	struct node *current; // freed
	struct node *first;   // lives
	struct node *end;     // of an array: not one of its elements
	struct holder *inner; // freed, and handed out again
};

struct node *first, *last, *nodes;
struct holder *holder;
void *again;

static struct node *make_node(long value)
{
	struct node *node = malloc(sizeof(*node));

	*node = (struct node){ NULL, value };
	return node;
}

int main(void)
{
	first = make_node(0); // what lies before all objects is nobody's
	nodes = calloc(4, sizeof(*nodes));

	struct node *gone = make_node(3);

	holder = malloc(sizeof(*holder));
	holder->current = make_node(1);
	holder->first = nodes;
	holder->end = nodes + 4;
	holder->inner = malloc(500);
	last = make_node(2);
	void *below_top = malloc(100);
	free(holder->current);
	free(last);
	free(gone);
	free(holder->inner);
	again = malloc(500);
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	getchar();
	free(below_top);
	return 0;
}
