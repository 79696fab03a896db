// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A store keeps records in order, in a skip list. An arena of char arrays has both: a record, which is its length, a key,
 * a number and a value in bytes, and behind it the node that leads to it.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	RECORDS = 6000,
	LEVELS = 8,
	BLOCK = 4096,
};

struct node {
	const char *record;
	struct node *next[1]; // as many as it has levels
};

struct arena {
	char *at;
	size_t left;
	char **blocks;
	size_t count, capacity;
};

struct store {
	struct arena arena;
	struct node *head;
	uint64_t number;
};

static struct store *stores[2];

static void *take(struct arena *arena, size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > arena->left) {
		if (arena->count == arena->capacity) {
			arena->capacity = arena->capacity ? 2 * arena->capacity : 16;
			arena->blocks = RENEW_ARRAY(char *, arena->blocks, arena->capacity);
		}
		arena->at = malloc(BLOCK);
		POOL(void, arena->at);
		arena->left = BLOCK;
		arena->blocks[arena->count++] = arena->at;
	}

	char *result = arena->at;

	arena->at += bytes;
	arena->left -= bytes;
	return result;
}

static struct node *new_node(struct arena *arena, const char *record, int levels)
{
	struct node *node =
		PART(struct node, take(arena, sizeof(*node) + (size_t)(levels - 1) * 8));

	node->record = record;
	for (int i = 0; i < levels; i++)
		node->next[i] = NULL;
	return node;
}

static int random_levels(void)
{
	int levels = 1;

	while (levels < LEVELS && next() % 4 == 0)
		levels++;
	return levels;
}

static uint32_t key_of(const struct node *node)
{
	uint32_t key;

	memcpy(&key, node->record + 1, sizeof(key));
	return __builtin_bswap32(key);
}

static void add(struct store *store, uint32_t key, size_t length)
{
	char *record = PART(char, take(&store->arena, 13 + length));
	int levels = random_levels();
	struct node *node = new_node(&store->arena, record, levels), *before = store->head;
	uint32_t big = __builtin_bswap32(key);

	record[0] = (char)(12 + length);
	memcpy(record + 1, &big, sizeof(big));
	store->number++;
	memcpy(record + 5, &store->number, sizeof(store->number));
	for (size_t i = 0; i < length; i++)
		record[13 + i] = (char)next();
	for (int i = LEVELS; i-- > 0;) {
		while (before->next[i] && key_of(before->next[i]) < key)
			before = before->next[i];
		if (i >= levels)
			continue;
		node->next[i] = before->next[i];
		before->next[i] = node;
	}
}

static struct store *new_store(void)
{
	struct store *store = NEW_ZEROED(struct store);

	store->head = new_node(&store->arena, NULL, LEVELS);
	return store;
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		stores[i] = new_store();
		for (int j = 0; j < RECORDS; j++)
			add(stores[i], (uint32_t)next(), 5 + next() % 60);
	}
	truth_capture();
	return stores[0]->number == 0;
}
