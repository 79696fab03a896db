// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An adaptive trie of words, whose smallest inner nodes have leaves alone. A child is declared as what all inner nodes begin
 * with, and is a leaf where the lowest bit of its pointer is set. Leaves of short words have room for that beginning.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	SMALL = 1,
	LARGE,
	WORDS = 3000,
};

struct node {
	uint32_t skipped;
	uint8_t kind, count;
	unsigned char part[10];
};

struct small_node {
	struct node node;
	unsigned char keys[16];
	struct node *children[16];
};

struct large_node {
	struct node node;
	struct node *children[256];
};

struct leaf {
	struct meaning *meaning;
	uint32_t length;
	char word[];
};

struct meaning {
	uint64_t id;
	double weight;
	struct meaning *other;
	char tag[16];
};

struct node *root;

static struct node *child_new(unsigned number, const char *word)
{
	size_t length = strlen(word);
	struct leaf *leaf = NEW_FLEXIBLE(struct leaf, sizeof(*leaf) + length);
	struct meaning *meaning = NEW_ZEROED(struct meaning);

	meaning->id = number;
	meaning->weight = number * 0.5;
	snprintf(meaning->tag, sizeof(meaning->tag), "tag %u", number % 100);
	leaf->meaning = meaning;
	leaf->length = (uint32_t)length;
	memcpy(leaf->word, word, length);
	return (struct node *)((uintptr_t)leaf | 1);
}

static struct node *small_new(void)
{
	struct small_node *small = NEW_ZEROED(struct small_node);

	small->node.kind = SMALL;
	return &small->node;
}

static struct node *large_new(void)
{
	struct large_node *large = NEW_ZEROED(struct large_node);

	large->node.kind = LARGE;
	return &large->node;
}

static void add(unsigned number, const char *word)
{
	struct large_node *first = (struct large_node *)root, *second;
	unsigned char key = (unsigned char)(number * 40503 >> 8),
		      next = (unsigned char)(number >> 4);
	struct small_node *last;

	if (number % 50 == 0) { // a leaf of the first node
		first->children[192 + number / 50] = child_new(number, word);
		return;
	}
	if (!first->children[key % 64]) {
		first->children[key % 64] = large_new();
		first->node.count++;
	}
	second = (struct large_node *)first->children[key % 64];
	if (!second->children[next]) {
		second->children[next] = small_new();
		second->node.count++;
	}
	last = (struct small_node *)second->children[next];
	if (last->node.count == 16)
		return;
	last->keys[last->node.count] = (unsigned char)number;
	last->children[last->node.count++] = child_new(number, word);
}

int main(void)
{
	char word[40];

	root = large_new();
	for (unsigned i = 0; i < WORDS; i++) {
		snprintf(word, sizeof(word), i % 3 ? "w%u" : "a longer word, number %u", i);
		add(i, word);
	}
	truth_capture();
	printf("%u\n", root->count);
	return 0;
}
