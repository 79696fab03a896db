// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks as programs have them: orders with items and texts, in a hash table, a tree and two lists; dumps itself:
//
//	orders [COUNT [wait]]
//
// COUNT blocks, about. wait: says that it is ready and waits to be killed.
#include "dumper/heapsnap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCKS_OF_ORDER = 17, // in two orders
};

struct item {
	struct item *next;
	int quantity, product;
	char name[24];
};

struct order {
	long id;
	double price;
	char *customer;
	struct item *items;
	struct order *next_open;
};

struct entry {
	struct entry *next;
	char *key;
	void *value; // struct order
	uint32_t hash;
};

struct table {
	size_t size, used;
	struct entry **buckets;
};

struct tree_node {
	struct tree_node *left, *right, *parent;
	long key;
	struct order *order;
};

struct link {
	struct link *next, *previous;
};

struct session {
	struct link link;
	int number;
	char *user;
	unsigned char buffer[64];
};

static struct table by_name;
static struct tree_node *by_id;
static struct order *open_orders;
static struct link sessions = { &sessions, &sessions };

static uint64_t next(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void *allocate(size_t size)
{
	void *block = calloc(1, size);

	if (!block)
		abort();
	return block;
}

static char *make_text(const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%d", what, (int)(next() % 1000000007u));
	return strdup(text);
}

static void add_to_table(struct order *order)
{
	struct entry *entry = allocate(sizeof(*entry)), **bucket;

	entry->hash = (uint32_t)next();
	entry->key = make_text("order");
	entry->value = order;
	bucket = &by_name.buckets[entry->hash % by_name.size];
	entry->next = *bucket;
	*bucket = entry;
	by_name.used++;
}

static void add_to_tree(struct order *order)
{
	struct tree_node **at = &by_id, *node = allocate(sizeof(*node));

	while (*at) {
		node->parent = *at;
		at = order->id < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	node->key = order->id;
	node->order = order;
	*at = node;
}

static struct order *make_order(void)
{
	struct order *order = allocate(sizeof(*order));

	order->id = (long)(next() >> 1);
	order->customer = make_text("customer");
	for (int i = (int)(next() % 4); i > 0; i--) {
		struct item *item = allocate(sizeof(*item));

		item->quantity = i;
		item->product = (int)(next() % 1000);
		snprintf(item->name, sizeof(item->name), "product %d", item->product);
		item->next = order->items;
		order->items = item;
	}
	order->next_open = open_orders;
	open_orders = order;
	return order;
}

static void add_session(int number)
{
	struct session *session = allocate(sizeof(*session));

	session->number = number;
	session->user = make_text("user");
	session->link.next = sessions.next;
	session->link.previous = &sessions;
	sessions.next->previous = &session->link;
	sessions.next = &session->link;
}

int main(int argc, char **argv)
{
	size_t count = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000) * 2 / BLOCKS_OF_ORDER;
	struct timespec start, end;

	by_name.size = count * 2 + 1;
	by_name.buckets = allocate(by_name.size * sizeof(struct entry *));
	for (size_t i = 0; i < count; i++) {
		struct order *order = make_order();

		add_to_table(order);
		add_to_tree(order);
		add_session((int)i);
	}
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (!heapsnap_dump)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	heapsnap_dump(NULL);
	if (heapsnap_wait() != 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("seconds %.3f\n", end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9);
	return 0;
}
