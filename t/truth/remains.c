// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list whose first nodes lie in chunks that are 16 bytes larger than asked for: glibc takes a free chunk whole if what
 * remains of it would be too small for one. Its texts lie in front of the links of the free chunks that these were.
 */
#include "t/truth/truth.h"

#include <malloc.h>
#include <stdio.h>

enum {
	GAPS = 8000,
	NODES = 5000,
};

struct item {
	long id;
	char *name;
	double weight;
};

struct node {
	struct node *next;
	long number;
	struct item *item;
};

struct keeper {
	struct keeper *next;
	long numbers[4];
};

static struct node *list;
static struct keeper *keepers;

// Leaves free chunks of 48 bytes that have no free neighbours.
static void make_gaps(void)
{
	void *gaps[GAPS];

	for (int i = 0; i < GAPS; i++)
		gaps[i] = malloc(sizeof(struct keeper));
	for (int i = 0; i < GAPS; i++) {
		struct keeper *keeper;

		if (i % 3 == 0) {
			free(gaps[i]);
			continue;
		}
		keeper = OF(struct keeper, gaps[i]);
		memset(keeper, 0, sizeof(*keeper));
		keeper->next = keepers;
		keepers = keeper;
	}
	memset(gaps, 0, sizeof(gaps));
}

static struct node *new_node(int number)
{
	struct node *node = NEW(struct node);
	struct item *item = NEW(struct item);

	item->id = number;
	item->weight = number / 3.0;
	item->name = NEW_TEXT(20);
	snprintf(item->name, 20, "item %d", number);
	node->number = number;
	node->item = item;
	return node;
}

int main(void)
{
	mallopt(M_MXFAST, 0);
	make_gaps();
	for (int i = 0; i < NODES; i++) {
		struct node *node = new_node(i);

		node->next = list;
		list = node;
	}
	truth_capture();
	return 0;
}
