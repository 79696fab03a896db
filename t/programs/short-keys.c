// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Items that end in a key, as those of an interpreter's dictionaries: to them only pointers to their keys lead. The number of
 * one is the length of its key, by chance, and another struct has such a number before characters.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ITEMS = 200,
};

enum kind {
	NUMBER = 5,
	LIST = 11,
};

// A value, and what is called so.
struct item {
	enum kind kind;
	union {
		long number;
		struct item **list;
	} value;
	unsigned char flags, scope;
	unsigned char key[1];
};

// As libc has for a message to the kernel, on the stack.
struct request {
	uint32_t size;
	uint16_t type, flags;
	uint32_t sequence, port;
	unsigned char family, prefix;
	char padding[0];
};

struct entry {
	unsigned long hash;
	unsigned char *key;
};

// Of the size of an item with a short key.
struct node {
	struct node *next;
	long number, weight;
};

struct request request;
struct node *nodes;
struct entry *entries;
unsigned char *values[ITEMS];

static void add(long number, const char *key)
{
	struct item *item = calloc(1, offsetof(struct item, key) + strlen(key) + 1);

	if (!item)
		abort();
	item->kind = number % 2 ? NUMBER : LIST;
	if (item->kind == NUMBER)
		item->value.number = number;
	else
		item->value.list = calloc(4, sizeof(struct item *));
	item->flags = 16;
	strcpy((char *)item->key, key);
	entries[number] = (struct entry){ (unsigned long)number, item->key };
}

int main(void)
{
	entries = calloc(ITEMS, sizeof(*entries));
	if (!entries)
		return 1;
	for (int i = 0; i < ITEMS; i++) {
		char text[24];
		struct node *node = malloc(sizeof(*node));

		if (!node)
			return 1;
		*node = (struct node){ nodes, i, -i };
		nodes = node;

		add(i, "a");
		snprintf(text, sizeof(text), "value %d", i);
		values[i] = (unsigned char *)strdup(text);
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF && request.size;
}
