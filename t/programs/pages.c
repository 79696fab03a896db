// SPDX-License-Identifier: GPL-3.0-or-later
// A cache whose items end in a flexible array, cut from pages by size, as memory caches do. An item may
// be as large as a page, by its type alone. One item is a block of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DATA
union data {
	unsigned long version;
	char end;
};
#define DATA union data
#endif

enum {
	PAGE = 64 * 1024,
	CLASSES = 3,
	ITEMS = 1000,
	BUCKETS = 256,
};

struct item {
	struct item *next, *previous; // of its class, by last use
	struct item *chain;           // of its bucket
	unsigned size;
	unsigned char class, key_length;
	DATA data[];
};

struct size_class {
	size_t size;
	char *free; // of the last page
	size_t left;
	char **pages;
	unsigned page_count;
	struct item *head, *tail;
};

struct size_class classes[CLASSES] = { { .size = 96 }, { .size = 160 }, { .size = 240 } };
struct item **table;
struct item *large;

static struct item *take(struct size_class *class)
{
	struct item *item;

	if (class->left < class->size) {
		class->pages =
			realloc(class->pages, (class->page_count + 1) * sizeof(*class->pages));
		class->free = class->pages[class->page_count++] = malloc(PAGE);
		class->left = PAGE;
	}
	item = (struct item *)class->free;
	class->free += class->size;
	class->left -= class->size;
	return item;
}

static void add(int number)
{
	unsigned which = (unsigned)number % CLASSES, bucket = (unsigned)number % BUCKETS;
	struct size_class *class = &classes[which];
	struct item *item = take(class);

	memset(item, 0, sizeof(*item));
	item->class = (unsigned char)which;
	item->key_length = (unsigned char)snprintf((char *)item->data, 40, "key:%d", number);
	item->size = (unsigned)class->size;
	item->next = class->head;
	if (class->head)
		class->head->previous = item;
	else
		class->tail = item;
	class->head = item;
	item->chain = table[bucket];
	table[bucket] = item;
}

int main(void)
{
	table = calloc(BUCKETS, sizeof(*table));
	for (int i = 0; i < ITEMS; i++)
		add(i);
	large = calloc(1, sizeof(*large) + 4000);
	large->chain = table[7];
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
