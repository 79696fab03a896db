// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks of which nobody says what they are, where they are captured without types; one of them
 * leads to all others. t/shell/declared.t has what heapsh must make of it when it is told.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weight {
	double value;
	int64_t count;
};

struct node {
	struct node *next;
	struct weight *weight;
	char *name;
	int64_t id;
};

struct tail {
	int64_t count;
	struct weight *list[];
};

union any {
	struct node *node;
	struct weight *weight;
};

struct chest {
	int64_t kind;
	struct node *first;
	struct node **table;
	struct tail *tail;
	union any any;         // either: nobody knows
	struct weight *inside; // into the middle of a block
	unsigned char *bytes;  // no text
	void *unknown;
};

static void *chest; // says nothing of what it is

static void *get(size_t size)
{
	void *block = calloc(1, size);

	if (!block)
		abort();
	return block;
}

static char *get_text(int number)
{
	char *text = get(12);

	snprintf(text, 12, "node %d", number);
	return text;
}

int main(void)
{
	struct chest *made = chest = get(sizeof(*made));

	made->table = get(5 * sizeof(*made->table));
	for (int i = 0; i < 5; i++) {
		struct node *node = get(sizeof(*node));

		node->next = made->first;
		node->weight = get(sizeof(*node->weight));
		node->name = get_text(i);
		made->first = made->table[i] = node;
	}
	made->tail = get(sizeof(*made->tail) + 3 * sizeof(*made->tail->list));
	for (int i = 0; i < 3; i++)
		made->tail->list[i] = get(sizeof(struct weight));
	made->any.weight = get(sizeof(struct weight));
	made->inside = (struct weight *)((char *)get(48) + 16);
	made->bytes = get(24);
	memset(made->bytes, 1, 24);
	made->unknown = get(40);
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
