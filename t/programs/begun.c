// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks that begin with the struct to which all pointers lead. Of tables, one larger struct is known; of shapes, two of
 * one size that nothing tells apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TABLES = 50,
	NODES = 40,
	SHAPES = 300,
};

struct node {
	struct node *next;
	char *name;
	int flags;
	long value[2];
};

struct table {
	int size, count;
	struct node **nodes;
	void *data[10];
	void (*visit[3])(void);
};

struct index {
	int size, count;
	struct node **nodes;
	void *data[10];
	void (*visit[3])(void);
	long scans;
};

struct shape {
	struct shape *next;
	char *label;
	struct style *style;
};

struct style {
	unsigned colour;
	struct style *outer;
};

struct circle {
	struct shape shape;
	double radius;
};

struct square {
	struct shape shape;
	long side;
};

static struct table *tables[TABLES];
static struct shape *shapes;

static void visit(void)
{
}

static void add(struct table *table, int number)
{
	struct node *node = calloc(1, sizeof(*node));

	node->name = strdup("the name of a node");
	node->flags = number;
	node->next = table->nodes[number % table->size];
	table->nodes[number % table->size] = node;
	table->count++;
}

static struct table *make_table(int size)
{
	struct index *index = calloc(1, sizeof(*index));

	index->size = size;
	index->nodes = calloc(size, sizeof(*index->nodes));
	index->visit[0] = visit;
	index->scans = 3;
	return (struct table *)index;
}

static void add_shape(struct shape *shape)
{
	shape->label = strdup("the label of a shape");
	shape->style = calloc(1, sizeof(*shape->style));
	shape->style->colour = 0xff8000;
	shape->next = shapes;
	shapes = shape;
}

int main(void)
{
	for (int i = 0; i < TABLES; i++) {
		tables[i] = make_table(17);
		for (int j = 0; j < NODES; j++)
			add(tables[i], j);
	}
	for (int i = 0; i < SHAPES; i++) {
		struct circle *circle = calloc(1, sizeof(*circle));
		struct square *square = calloc(1, sizeof(*square));

		circle->radius = 0.5;
		square->side = i;
		add_shape(&circle->shape);
		add_shape(&square->shape);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return shapes->label[0] + tables[7]->count == 0;
}
