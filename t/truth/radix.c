// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An adaptive radix tree: inner nodes begin alike, and have room for 4, 16 or 256 children. A child is declared as an
 * inner node, and is a leaf where the lowest bit of its pointer is set. Beside it, a red-black tree whose pointers to
 * parents have the colour in that bit: these lead to what they are declared with.
 */
#include "t/truth/truth.h"
#include "t/truth/random.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	NODE4 = 1,
	NODE16,
	NODE256
};

struct node {
	uint8_t type, reserved;
	uint16_t count;
	uint8_t bytes[8];
};

struct node4 {
	struct node node;
	uint8_t keys[4];
	struct node *children[4];
};

struct node16 {
	struct node node;
	uint8_t keys[16];
	struct node *children[16];
};

struct node256 {
	struct node node;
	struct node *children[256];
};

struct leaf {
	struct town *value;
	uint32_t length;
	unsigned char key[];
};

struct town {
	char name[20];
	unsigned people;
	double where[2];
};

struct booking {
	struct booking *parent; // with its own colour
	struct booking *left, *right;
	uint64_t from;
	struct town *town;
};

static struct node *by_name;
static struct booking *bookings;
static struct town **towns;

static struct leaf *leaf_of(struct node *node)
{
	return (struct leaf *)((uintptr_t)node & ~(uintptr_t)1);
}

static struct node *new_leaf(const char *key, struct town *town)
{
	size_t length = strlen(key);
	struct leaf *leaf = NEW_FLEXIBLE(struct leaf, sizeof(*leaf) + length);

	leaf->value = town;
	leaf->length = (uint32_t)length;
	memcpy(leaf->key, key, length);
	return (struct node *)((uintptr_t)leaf | 1);
}

static struct node *new_node4(void)
{
	struct node4 *node = NEW_ZEROED(struct node4);

	node->node.type = NODE4;
	return &node->node;
}

static uint8_t byte_at(const unsigned char *key, uint32_t length, uint32_t depth)
{
	return depth < length ? key[depth] : 0;
}

static struct node **find(struct node *node, uint8_t byte)
{
	struct node4 *four = (struct node4 *)node;
	struct node16 *sixteen = (struct node16 *)node;

	for (int i = 0; node->type == NODE4 && i < node->count; i++) {
		if (four->keys[i] == byte)
			return &four->children[i];
	}
	for (int i = 0; node->type == NODE16 && i < node->count; i++) {
		if (sixteen->keys[i] == byte)
			return &sixteen->children[i];
	}
	if (node->type == NODE256 && ((struct node256 *)node)->children[byte])
		return &((struct node256 *)node)->children[byte];
	return NULL;
}

static struct node *grow_to_16(struct node4 *old)
{
	struct node16 *node = NEW_ZEROED(struct node16);

	node->node = old->node;
	node->node.type = NODE16;
	memcpy(node->keys, old->keys, sizeof(old->keys));
	memcpy(node->children, old->children, sizeof(old->children));
	FREE(old);
	return &node->node;
}

static struct node *grow_to_256(struct node16 *old)
{
	struct node256 *node = NEW_ZEROED(struct node256);

	node->node = old->node;
	node->node.type = NODE256;
	for (int i = 0; i < 16; i++)
		node->children[old->keys[i]] = old->children[i];
	FREE(old);
	return &node->node;
}

static void add(struct node **at, uint8_t byte, struct node *child)
{
	if ((*at)->type == NODE4 && (*at)->count == 4)
		*at = grow_to_16((struct node4 *)*at);
	if ((*at)->type == NODE16 && (*at)->count == 16)
		*at = grow_to_256((struct node16 *)*at);
	if ((*at)->type == NODE4) {
		((struct node4 *)*at)->keys[(*at)->count] = byte;
		((struct node4 *)*at)->children[(*at)->count] = child;
	} else if ((*at)->type == NODE16) {
		((struct node16 *)*at)->keys[(*at)->count] = byte;
		((struct node16 *)*at)->children[(*at)->count] = child;
	} else {
		((struct node256 *)*at)->children[byte] = child;
	}
	(*at)->count++;
}

static void insert(struct node **at, const char *key, struct town *town)
{
	const unsigned char *bytes = (const unsigned char *)key;
	uint32_t length = (uint32_t)strlen(key), depth = 0;
	struct node **child;

	for (; !((uintptr_t)*at & 1); depth++, at = child) {
		child = find(*at, byte_at(bytes, length, depth));
		if (!child) {
			add(at, byte_at(bytes, length, depth), new_leaf(key, town));
			return;
		}
	}
	for (bool more = true; more; depth++, at = &((struct node4 *)*at)->children[0]) {
		struct leaf *other = leaf_of(*at);
		uint8_t theirs = byte_at(other->key, other->length, depth);
		struct node *leaf = *at;

		more = theirs == byte_at(bytes, length, depth);
		*at = new_node4();
		add(at, theirs, leaf);
		if (!more)
			add(at, byte_at(bytes, length, depth), new_leaf(key, town));
	}
}

static void book(struct town *town, uint64_t from)
{
	struct booking **at = &bookings, *parent = NULL;
	struct booking *booking = NEW_ZEROED(struct booking);

	while (*at) {
		parent = *at;
		at = from < parent->from ? &parent->left : &parent->right;
	}
	booking->from = from;
	booking->town = town;
	booking->parent = (struct booking *)((uintptr_t)parent | (parent ? next() & 1 : 0));
	*at = booking;
}

int main(void)
{
	towns = NEW_ZEROED_ARRAY(struct town *, 600);
	by_name = new_node4();
	for (int i = 0; i < 600; i++) {
		struct town *town = NEW_ZEROED(struct town);
		char key[32];

		towns[i] = town;
		town->people = (unsigned)(next() % 100000);
		town->where[0] = (double)(next() % 180);
		snprintf(town->name, sizeof(town->name), "%c%cville %d", (int)('A' + next() % 26),
			 (int)('a' + next() % 26), i);
		insert(&by_name, town->name, town);
		snprintf(key, sizeof(key), "%c%c%d", (int)('0' + next() % 10),
			 (int)('0' + next() % 10), i);
		insert(&by_name, key, town);
		book(town, next() % 100000);
	}
	truth_capture();
	printf("%d %lu %s\n", by_name->count, bookings->from, towns[3]->name);
	return 0;
}
