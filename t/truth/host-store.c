// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin that keeps pairs in a hash table.
#include "t/truth/host.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	BUCKETS = 8,
	PAIRS = 6,
	KEY = 16,  // bytes
	NOTE = 40, // bytes
};

struct pair {
	char *key;
	struct item *item;
	struct pair *next;
};

struct item {
	long references;
	struct pair *home;
	char *note;
};

struct store {
	struct pair *buckets[BUCKETS];
	struct instance *owner;
	unsigned long count;
	struct item *newest;
};

static void *create(const struct host *host, struct instance *owner, int number)
{
	struct store *store = OF(struct store, host->allocate(sizeof(*store)));

	store->owner = owner;
	store->count = (unsigned long)number;
	return store;
}

static void run(const struct host *host, struct instance *owner, void *state)
{
	struct store *store = state;

	for (int i = 0; i < PAIRS; i++) {
		struct pair *pair = OF(struct pair, host->allocate(sizeof(*pair)));
		struct item *item = OF(struct item, host->allocate(sizeof(*item)));

		pair->key = TEXT(host->allocate(KEY));
		snprintf(pair->key, KEY, "key %d", i);
		pair->item = item;
		pair->next = store->buckets[i % BUCKETS];
		store->buckets[i % BUCKETS] = pair;
		*item = (struct item){ 1, pair, NULL };
		if (i % 2) {
			item->note = TEXT(host->allocate(NOTE));
			strcpy(item->note, "a note of the item");
		}
		store->newest = item;
		store->count++;
	}
	host->emit(owner, 2, store->newest);
}

const struct plugin store_plugin = { "store", create, run };
