// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A known heap of C: lists, a tree, a hash table, arrays, a thread-local, a holder that is
 * on the stack alone, a cycle and leaks. t/end-to-end/shapes.t has the numbers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum colour {
	RED,
	GREEN,
	BLUE = 7
};
enum {
	NODES = 100,
	SLOTS = 16,
	ENTRIES = 40,
	LEAKS = 5,
	POINTS = 25
};

struct node {
	struct node *next;
	int value;
};

struct twin { // a doubly linked ring
	struct twin *next, *previous;
	uint32_t number;
};

struct tree {
	struct tree *left, *right;
	enum colour colour;
	unsigned red : 1, depth : 5, weight : 10;
	double balance;
};

struct entry {
	struct entry *chain;
	char *key;
	uint64_t hash;
};

struct table {
	struct entry **slots;
	size_t count, used;
	const char *name;
};

struct point {
	float x, y, z;
};

struct message { // a flexible array
	uint16_t length;
	char *author;
	struct point path[];
};

struct holder {
	struct message *message;
	void *anything;
	char label[24];
	struct {
		int width, height;
	} size;
	union {
		struct node *node;
		uint64_t number;
	} either;
};

static struct node *list;
struct twin *ring;
struct tree *root;
static struct table *popular;
struct point *points;
char *greeting;
static _Thread_local struct node *mine;
struct node **vector;

static void *lost; // cleared before the capture

static struct node *make_node(int value, struct node *next)
{
	struct node *node = malloc(sizeof(*node));

	node->value = value;
	node->next = next;
	return node;
}

static struct tree *make_tree(int depth)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	tree->depth = depth;
	tree->red = depth & 1;
	tree->weight = 1000;
	tree->colour = depth ? BLUE : GREEN;
	tree->balance = depth / 4.0;
	if (depth > 0) {
		tree->left = make_tree(depth - 1);
		tree->right = make_tree(depth - 1);
	}
	return tree;
}

static void make_ring(int count)
{
	for (int i = 0; i < count; i++) {
		struct twin *twin = malloc(sizeof(*twin));

		twin->number = i;
		if (!ring) {
			ring = twin->next = twin->previous = twin;
			continue;
		}
		twin->next = ring;
		twin->previous = ring->previous;
		twin->previous->next = ring->previous = twin;
	}
}

static void make_table(void)
{
	popular = malloc(sizeof(*popular));
	popular->slots = calloc(SLOTS, sizeof(*popular->slots));
	popular->count = SLOTS;
	popular->used = 0;
	popular->name = "popular";
	for (int i = 0; i < ENTRIES; i++) {
		struct entry *entry = malloc(sizeof(*entry));
		char key[32];

		snprintf(key, sizeof(key), "key number %d", i);
		entry->key = strdup(key);
		entry->hash = i * 2654435761u;
		entry->chain = popular->slots[i % SLOTS];
		popular->slots[i % SLOTS] = entry;
		popular->used++;
	}
}

// Nothing but this frame knows the holder.
static void wait_for_the_end(void)
{
	struct holder *holder = calloc(1, sizeof(*holder));
	int line;

	holder->message = calloc(1, sizeof(struct message) + 3 * sizeof(struct point));
	holder->message->length = 3;
	// In one statement, a register that callees save would hold the message, too.
	holder->anything = strdup("nobody\n\x1b[31m");
	holder->message->author = holder->anything;
	holder->message->path[2].y = 2.5f;
	holder->anything = make_node(-1, NULL);
	strcpy(holder->label, "held by a frame");
	holder->size.width = 640;
	holder->size.height = -480;
	holder->either.node = make_node(-2, NULL);
	puts("ready");
	fflush(stdout);
	line = getchar();
	printf("done %d %s\n", line, holder->label);
	free(holder);
}

int main(void)
{
	// Buffers of stdio would come and go as it likes.
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < NODES; i++)
		list = make_node(i, list);
	make_ring(10);
	root = make_tree(4);
	make_table();
	points = calloc(POINTS, sizeof(*points));
	greeting = strdup("hello, world");
	mine = make_node(42, NULL);
	vector = calloc(8, sizeof(*vector));
	for (int i = 0; i < 8; i++)
		vector[i] = i < 6 ? make_node(1000 + i, NULL) : NULL;
	for (int i = 0; i < LEAKS; i++) {
		lost = malloc(777);
		memset(lost, 0, 777);
	}
	lost = NULL;
	wait_for_the_end();
	return 0;
}
