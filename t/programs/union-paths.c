// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A syntax tree whose nodes have a union of pointers: paths through it name the member that leads to the block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct set {
	unsigned char bits[32];
	_Bool negated;
};

enum kind {
	LEAF,
	MANY,
};

struct node {
	enum kind kind;
	union {
		struct set *set;
		struct {
			struct node **parts;
			unsigned count;
		} many;
	} u;
};

static struct node *root;

static struct node *make_leaf(void)
{
	struct node *node = calloc(1, sizeof(*node));
	struct set *set = calloc(1, sizeof(*set));

	set->bits[3] = 7;
	node->kind = LEAF;
	node->u.set = set;
	return node;
}

static struct node *make_many(unsigned count, int depth)
{
	struct node *node = calloc(1, sizeof(*node));

	node->kind = MANY;
	node->u.many.parts = calloc(count, sizeof(struct node *));
	node->u.many.count = count;
	for (unsigned i = 0; i < count; i++)
		node->u.many.parts[i] = depth > 0 ? make_many(i + 1, depth - 1) : make_leaf();
	return node;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	root = make_many(1, 2);
	puts("ready");
	getchar();
	printf("%u\n", root->u.many.count);
	return 0;
}
