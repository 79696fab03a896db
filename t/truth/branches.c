// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A B+tree whose nodes begin with a flag that tells branches from leaves. Both are of one size, all pointers but those of
 * leaves are to what both begin with, and values are behind void pointers. Nothing but the root is led to from outside:
 * that its children lead back to it is all that tells what it is.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	ORDER = 8,
};

struct node {
	bool is_leaf;
	uint16_t count;
	struct node *parent;
};

struct branch {
	struct node node;
	uint32_t keys[ORDER];
	struct node *children[ORDER + 1];
};

struct leaf {
	struct node node;
	uint32_t keys[ORDER];
	void *values[ORDER];
	struct leaf *next;
};

struct row {
	uint32_t number;
	char *name;
	double amount;
	struct row *before;
};

struct tree {
	struct node *root;
	size_t size, height;
	const char *name;
	int (*print)(const void *value);
};

struct tree *rows;

static int print_row(const void *value)
{
	const struct row *row = value;

	return printf("%u %s\n", row->number, row->name);
}

static struct leaf *leaf_new(void)
{
	struct leaf *leaf = NEW_ZEROED(struct leaf);

	leaf->node.is_leaf = true;
	return leaf;
}

static void insert_child(struct tree *tree, struct node *left, uint32_t key, struct node *right)
{
	struct branch *parent = (struct branch *)left->parent;
	int at;

	if (!parent) {
		parent = NEW_ZEROED(struct branch);
		parent->children[0] = left;
		left->parent = &parent->node;
		tree->root = &parent->node;
		tree->height++;
	}
	for (at = parent->node.count; at > 0 && parent->keys[at - 1] > key; at--) {
		parent->keys[at] = parent->keys[at - 1];
		parent->children[at + 1] = parent->children[at];
	}
	parent->keys[at] = key;
	parent->children[at + 1] = right;
	right->parent = &parent->node;
	if (++parent->node.count < ORDER)
		return;

	struct branch *other = NEW_ZEROED(struct branch);
	int half = ORDER / 2;

	other->node.count = (uint16_t)(ORDER - half - 1);
	parent->node.count = (uint16_t)half;
	memcpy(other->keys, parent->keys + half + 1, other->node.count * sizeof(*other->keys));
	memcpy(other->children, parent->children + half + 1,
	       (other->node.count + 1U) * sizeof(*other->children));
	for (int i = 0; i <= other->node.count; i++)
		other->children[i]->parent = &other->node;
	insert_child(tree, &parent->node, parent->keys[half], &other->node);
}

static struct leaf *find_leaf(const struct tree *tree, uint32_t key)
{
	struct node *node = tree->root;

	while (!node->is_leaf) {
		struct branch *branch = (struct branch *)node;
		int at = 0;

		while (at < node->count && key >= branch->keys[at])
			at++;
		node = branch->children[at];
	}
	return (struct leaf *)node;
}

static void insert(struct tree *tree, uint32_t key, void *value)
{
	struct leaf *leaf = find_leaf(tree, key), *right;
	int at, half = ORDER / 2;

	for (at = leaf->node.count; at > 0 && leaf->keys[at - 1] > key; at--) {
		leaf->keys[at] = leaf->keys[at - 1];
		leaf->values[at] = leaf->values[at - 1];
	}
	leaf->keys[at] = key;
	leaf->values[at] = value;
	tree->size++;
	if (++leaf->node.count < ORDER)
		return;
	right = leaf_new();
	right->node.count = (uint16_t)(ORDER - half);
	leaf->node.count = (uint16_t)half;
	memcpy(right->keys, leaf->keys + half, right->node.count * sizeof(*right->keys));
	memcpy(right->values, leaf->values + half, right->node.count * sizeof(*right->values));
	right->next = leaf->next;
	leaf->next = right;
	insert_child(tree, &leaf->node, right->keys[0], &right->node);
}

static void print_all(const struct tree *tree)
{
	for (struct leaf *leaf = find_leaf(tree, 0); leaf; leaf = leaf->next) {
		for (int i = 0; i < leaf->node.count; i++)
			tree->print(leaf->values[i]);
	}
}

int main(void)
{
	struct row *last = NULL;

	rows = NEW_ZEROED(struct tree);
	rows->root = &leaf_new()->node;
	rows->name = "rows";
	rows->print = print_row;
	rows->height = 1;
	for (uint32_t i = 0; i < 700; i++) {
		struct row *row = NEW(struct row);
		char name[40];

		snprintf(name, sizeof(name), "The row with number %u", i);
		row->number = i;
		row->name = TEXT(strdup(name));
		row->amount = i * 1.1;
		row->before = i % 3 ? last : NULL;
		last = row;
		insert(rows, i * 2654435761U % 100003, row);
	}
	print_all(rows);
	truth_capture();
	return 0;
}
