// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Zones of names, each with a region for all that it has. The region makes a block for each object, and puts a link to
 * the one before in front of it, so that it can free them together: nothing leads to where these blocks begin but the links.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	ZONES = 1500,
	LINK = sizeof(char *),
};

#define BEHIND(T, pointer) truth_log((char *)(pointer)-LINK, TRUTH_BEHIND, #T, LINK)

struct region {
	size_t total, count;
	char *blocks;
	void (*release)(void *);
};

struct tree_node {
	struct tree_node *parent, *left, *right;
	const void *key;
	uint8_t colour;
};

struct tree {
	struct tree_node *root;
	size_t count;
	int (*compare)(const void *, const void *);
};

struct packed {
	long lifetime;
	size_t count;
	int trust, security;
	size_t *lengths;
	long *lifetimes;
	uint8_t **bytes;
};

struct entry {
	struct entry *newer, *older;
	void *data;
	uint32_t hash, flags;
	char *owner;
	size_t owner_length;
	uint16_t type, class;
	long created;
};

struct record_set {
	struct record_set *next;
	struct entry *entry;
};

struct name {
	struct tree_node node;
	char *text;
	size_t length;
	struct record_set *sets;
};

struct zone {
	struct tree_node node;
	struct zone *parent;
	char *name;
	int type;
	struct region *region;
	struct tree names;
	long lock[5];
};

static struct tree zones;

__attribute__((noinline)) static void *allocate(struct region *region, size_t size)
{
	char *block = malloc(LINK + size);

	if (!block)
		abort();
	*(char **)block = region->blocks;
	region->blocks = block;
	region->total += size;
	region->count++;
	return block + LINK;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(left, right);
}

static void insert(struct tree *tree, struct tree_node *node)
{
	struct tree_node **at = &tree->root, *parent = NULL;

	while (*at) {
		parent = *at;
		at = tree->compare(node->key, parent->key) < 0 ? &parent->left : &parent->right;
	}
	*node = (struct tree_node){ .parent = parent,
				    .key = node->key,
				    .colour = (uint8_t)(next() % 2) };
	*at = node;
	tree->count++;
}

static char *copy_text(struct region *region, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = allocate(region, size);

	BEHIND(char, copy);
	return memcpy(copy, text, size);
}

static struct packed *pack(struct region *region, const char *text)
{
	struct packed *packed = allocate(region, sizeof(*packed));

	BEHIND(struct packed, packed);
	*packed = (struct packed){ .lifetime = 3600, .count = 1 + next() % 3, .trust = 2 };
	packed->lengths = allocate(region, packed->count * sizeof(*packed->lengths));
	BEHIND(unsigned long, packed->lengths);
	packed->lifetimes = allocate(region, packed->count * sizeof(*packed->lifetimes));
	BEHIND(long, packed->lifetimes);
	packed->bytes = allocate(region, packed->count * sizeof(*packed->bytes));
	BEHIND(unsigned char *, packed->bytes);
	for (size_t i = 0; i < packed->count; i++) {
		packed->lengths[i] = strlen(text) + 1;
		packed->lifetimes[i] = 3600 + (long)i;
		packed->bytes[i] = (uint8_t *)copy_text(region, text);
	}
	return packed;
}

static void add_set(struct zone *zone, struct name *name, const char *text)
{
	struct record_set *set = allocate(zone->region, sizeof(*set));

	BEHIND(struct record_set, set);
	set->entry = allocate(zone->region, sizeof(*set->entry));
	BEHIND(struct entry, set->entry);
	*set->entry = (struct entry){ .owner = name->text,
				      .owner_length = name->length,
				      .hash = (uint32_t)next(),
				      .type = 16,
				      .class = 1 };
	set->entry->data = pack(zone->region, text);
	set->next = name->sets;
	name->sets = set;
}

static struct name *add_name(struct zone *zone, const char *text)
{
	struct name *name = allocate(zone->region, sizeof(*name));

	BEHIND(struct name, name);
	*name = (struct name){ .text = copy_text(zone->region, text), .length = strlen(text) + 1 };
	name->node.key = name->text;
	insert(&zone->names, &name->node);
	return name;
}

static struct zone *make_zone(int number)
{
	struct zone *zone = NEW_ZEROED(struct zone);
	char text[64];

	zone->region = NEW_ZEROED(struct region);
	zone->region->release = free;
	zone->names.compare = compare_texts;
	snprintf(text, sizeof(text), "zone%d.example", number);
	zone->name = TEXT(strdup(text));
	zone->node.key = zone->name;
	insert(&zones, &zone->node);
	return zone;
}

int main(void)
{
	char text[64];

	zones.compare = compare_texts;
	for (int i = 0; i < ZONES; i++) {
		struct zone *zone = make_zone((int)(next() % 1000000) * 2000 + i);
		int names = 1 + (int)(next() % 4);

		for (int j = 0; j < names; j++) {
			snprintf(text, sizeof(text), "host%d.%s", j, zone->name);
			struct name *name = add_name(zone, text);

			for (int k = j % 2; k < 2; k++) {
				snprintf(text, sizeof(text), "the text of record %d", k);
				add_set(zone, name, text);
			}
		}
	}
	truth_capture();
	printf("%zu zones\n", zones.count);
	return 0;
}
