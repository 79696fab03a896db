// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Arrays of structs: slabs, whose elements a table and a list of free ones hold, and those of shapes, whose
 * elements others only point to.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	SLABS = 5,
	NODES = 64, // of a slab
	USED = 300, // of all nodes
	BUCKETS = 32,
	SHAPES = 20,
	POINTS = 64, // of a shape
	MARKS = 60,
};

struct link {
	struct link *next;
};

struct node {
	struct node *next;
	unsigned long key;
	double value[4];
};

struct point {
	double x, y;
	struct node *node;
};

struct shape {
	struct point *points;
	unsigned long count;
};

struct mark {
	struct point *at;
	unsigned long number;
};

static struct link *spare;
static struct node **table;
static struct shape *shapes;
static struct mark *marks;

static void more_nodes(void)
{
	struct link *slab = malloc(NODES * sizeof(struct node));

	for (int i = NODES - 1; i >= 0; i--) {
		struct link *link = (struct link *)((struct node *)slab + i);

		*(struct node *)link = (struct node){ 0 };
		link->next = spare;
		spare = link;
	}
}

static struct node *new_node(unsigned long key)
{
	struct node *node;

	if (!spare)
		more_nodes();
	node = (struct node *)spare;
	spare = spare->next;
	*node = (struct node){ table[key % BUCKETS], key, { 0.5, 1.5, 2.5, 3.5 } };
	table[key % BUCKETS] = node;
	return node;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	table = calloc(BUCKETS, sizeof(*table));
	shapes = calloc(SHAPES, sizeof(*shapes));
	marks = calloc(MARKS, sizeof(*marks));
	for (unsigned long i = 0; i < USED; i++)
		new_node(i);
	for (int i = 0; i < SHAPES; i++) {
		shapes[i] = (struct shape){ malloc(POINTS * sizeof(struct point)), POINTS };
		for (int j = 0; j < POINTS; j++)
			shapes[i].points[j] = (struct point){ i + 0.25, j + 0.25, NULL };
	}
	for (unsigned long i = 0; i < MARKS; i++)
		marks[i] = (struct mark){ &shapes[i % SHAPES].points[1 + i], i };
	puts("ready");
	getchar();
	printf("%lu %lu\n", table[0]->key, shapes[0].count + marks[0].number);
	return 0;
}
