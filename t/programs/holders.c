// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Shapes in which programs hold objects: lists, a tree, a hash table, a cycle, a cache with two
 * indices, what a stack alone holds, what nothing holds. Each prints the address to ask for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	ELEMENTS = 2000,
	DEPTH = 12,
	SLOTS = 64,
	LINKS = 50000,
};

struct session {
	struct session *next, *previous;
	char *peer;
};

struct tree {
	struct tree *left, *right;
	long key;
};

struct entry {
	struct entry *next;
	struct value *value;
};

struct value {
	struct entry *entry;
	struct value *older, *newer;
	long number;
};

struct directory {
	struct item *items;
};

struct item {
	struct item *next;
	struct directory *directory;
};

struct cache {
	struct entry *slots[SLOTS];
};

struct ring {
	struct ring *next;
};

struct link {
	struct link *next;
};

struct session *sessions, *last_session;
struct link *chain;
struct tree *tree;
struct cache *cache;
struct value *oldest;
struct directory *disk;

static void *make(size_t size)
{
	void *result = calloc(1, size);

	if (!result)
		exit(1);
	return result;
}

static void make_sessions(void)
{
	struct session *middle = NULL;

	for (int i = 0; i < ELEMENTS; i++) {
		struct session *session = make(sizeof(*session));

		session->next = sessions;
		if (sessions)
			sessions->previous = session;
		else
			last_session = session;
		sessions = session;
		session->peer = make(24);
		snprintf(session->peer, 24, "10.0.0.%d", i % 256);
		if (i == ELEMENTS * 3 / 4)
			middle = session;
	}
	printf("session %p\npeer %p\n", (void *)middle, (void *)middle->peer);
}

// The first one is the last of the list.
static void make_chain(void)
{
	for (int i = 0; i < LINKS; i++) {
		struct link *link = make(sizeof(*link));

		link->next = chain;
		chain = link;
		if (i == 0)
			printf("link %p\n", (void *)link);
	}
}

static struct tree *make_tree(int depth)
{
	struct tree *node = make(sizeof(*node));

	if (depth > 0) {
		node->left = make_tree(depth - 1);
		node->right = make_tree(depth - 1);
	}
	node->key = depth;
	return node;
}

static void make_cache(void)
{
	struct value *newest = NULL;

	cache = make(sizeof(*cache));
	for (int i = 0; i < 4 * SLOTS; i++) {
		struct entry *entry = make(sizeof(*entry));
		struct value *value = make(sizeof(*value));

		*entry = (struct entry){ cache->slots[i % SLOTS], value };
		cache->slots[i % SLOTS] = entry;
		*value = (struct value){ entry, newest, NULL, i };
		if (newest)
			newest->newer = value;
		else
			oldest = value;
		newest = value;
		if (i == 100)
			printf("value %p\n", (void *)value);
	}
}

// Directories and items take turns.
static void make_disk(void)
{
	struct directory **place = &disk;

	for (int i = 0; i < 20; i++) {
		*place = make(sizeof(**place));
		(*place)->items = make(sizeof(struct item));
		place = &(*place)->items->directory;
	}
	*place = make(sizeof(**place));
	printf("directory %p\n", (void *)*place);
}

static struct ring *make_ring(int count)
{
	struct ring *first = make(sizeof(*first)), *ring = first;

	for (int i = 1; i < count; i++) {
		ring->next = make(sizeof(*ring));
		ring = ring->next;
	}
	ring->next = first;
	return first;
}

__attribute__((noinline)) static void wait_with(struct ring *local)
{
	char line[8];

	printf("local %p\nready\n", (void *)local->next);
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		exit(1);
	printf("%p\n", (void *)local);
}

int main(void)
{
	struct tree *leaf;

	make_sessions();
	make_chain();
	leaf = tree = make_tree(DEPTH);
	for (int i = 0; leaf->left; i++)
		leaf = i % 2 ? leaf->right : leaf->left;
	printf("leaf %p\n", (void *)leaf);
	make_cache();
	make_disk();
	// Held by nothing but each other; the address is hidden from the stack.
	printf("leaked %#lx\n", (unsigned long)make_ring(5));
	wait_with(make_ring(3));
	return 0;
}
