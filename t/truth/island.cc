// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An island of which there is one, in a static pointer. clang keeps it in a register of main(), which alone
 * uses it, and debug information tells nothing of where it is. All else hangs on it.
 */
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>

enum {
	TREES = 300,
	BIRDS = 3,
};

struct bird {
	struct bird *next;
	char *name;
	struct tree *home;
	double weight;
};

struct tree {
	struct tree *left, *right;
	struct bird *birds;
	uint32_t height, age;
};

struct island {
	char *name;
	struct tree *trees;
	struct tree **by_age;
	uint64_t count;
	double area;
};

static struct island *island;

static void bird_add(struct tree *home, int number)
{
	struct bird *bird = NEW(struct bird);
	char name[40];

	snprintf(name, sizeof(name), "bird number %d", number);
	*bird = { home->birds, TEXT(strdup(name)), home, number * 0.5 };
	home->birds = bird;
}

static void tree_add(struct island *on, unsigned number)
{
	struct tree *tree = NEW_ZEROED(struct tree), **at = &on->trees;

	tree->height = number * 7919 % 1000;
	tree->age = number;
	while (*at)
		at = tree->height < (*at)->height ? &(*at)->left : &(*at)->right;
	*at = tree;
	on->by_age[on->count++] = tree;
	for (int i = 0; i < BIRDS; i++)
		bird_add(tree, i);
}

int main(void)
{
	island = NEW_ZEROED(struct island);
	island->name = TEXT(strdup("the island of trees"));
	island->by_age = NEW_ZEROED_ARRAY(struct tree *, TREES);
	island->area = 12.5;
	for (unsigned i = 0; i < TREES; i++)
		tree_add(island, i);
	truth_capture();
	printf("%s, %lu\n", island->name, (unsigned long)island->count);
	return 0;
}
