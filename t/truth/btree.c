// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A B+tree of an embedded database: nodes whose arrays hold children or values, by a union and a flag, keys
 * of any length, values in a union by their kinds, a log that grows, cursors that point into pages.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	ORDER = 8,
	TREES = 2,
	ENTRIES = 1500,
	CURSORS = 6,
	PAGES = 20,
	PAGE_SIZE = 1024,
	KEY_SIZE = 64,
};

enum value_kind {
	VALUE_INTEGER,
	VALUE_TEXT,
	VALUE_BLOB,
};

struct key {
	size_t length;
	unsigned char bytes[];
};

struct value {
	enum value_kind kind;
	union {
		int64_t integer;
		char *text;
		struct {
			uint8_t *bytes;
			uint32_t length;
		} blob;
	} as;
};

struct node {
	bool is_leaf;
	int count;
	struct key **keys;
	union {
		struct node **children;
		struct value **values;
	};
	struct node *next;
	struct key *common; // the beginning that all keys have
};

struct page {
	uint32_t number, right;
	uint16_t kind, slots;
	unsigned char bytes[PAGE_SIZE - 12];
};

struct frame {
	struct page *image;
	uint32_t number;
	bool is_dirty;
	struct frame *newer, *older;
};

struct record {
	uint64_t number;
	uint32_t page;
	uint16_t kind, length;
	char payload[];
};

struct cursor {
	struct tree *tree;
	struct frame *frame;
	struct key *current;
	struct cursor *next;
	int depth;
};

struct tree {
	struct node *root;
	struct frame *frames;
	struct frame *newest;
	struct cursor *cursors;
	char *name;
	size_t entries;
};

static struct tree *trees[TREES];
static struct record **records;
static size_t record_count, record_capacity;

static int compare(const struct key *left, const struct key *right)
{
	size_t least = left->length < right->length ? left->length : right->length;
	int order = memcmp(left->bytes, right->bytes, least);

	return order ? order : (left->length > right->length) - (left->length < right->length);
}

static struct key *make_key(const void *bytes, size_t length)
{
	struct key *key = NEW_FLEXIBLE(struct key, sizeof(*key) + length);

	key->length = length;
	memcpy(key->bytes, bytes, length);
	return key;
}

static struct node *make_node(bool is_leaf)
{
	struct node *node = NEW_ZEROED(struct node);

	node->is_leaf = is_leaf;
	node->keys = NEW_ZEROED_ARRAY(struct key *, ORDER + 1);
	if (is_leaf)
		node->values = NEW_ZEROED_ARRAY(struct value *, ORDER + 2);
	else
		node->children = NEW_ZEROED_ARRAY(struct node *, ORDER + 2);
	return node;
}

static struct value *make_value(int i)
{
	struct value *value = NEW(struct value);
	char text[48];

	value->kind = (enum value_kind)(i % 3);
	switch (value->kind) {
	case VALUE_INTEGER:
		value->as.integer = i;
		break;
	case VALUE_TEXT:
		snprintf(text, sizeof(text), "the text of entry %d", i);
		value->as.text = TEXT(strdup(text));
		break;
	case VALUE_BLOB:
		value->as.blob.length = 16 + (uint32_t)i % 40;
		value->as.blob.bytes = NEW_ARRAY(uint8_t, value->as.blob.length);
		for (uint32_t j = 0; j < value->as.blob.length; j++)
			value->as.blob.bytes[j] = (uint8_t)(((uint32_t)i * 31 + j * 7) | 0x80);
		break;
	}
	return value;
}

// Splits a full child: a parent has room for one more.
static void split(struct node *parent, int at)
{
	struct node *left = parent->children[at];
	struct node *right = make_node(left->is_leaf);
	int half = left->count / 2, from = left->is_leaf ? half : half + 1;
	struct key *middle = left->keys[half];

	right->count = left->count - from;
	memcpy(right->keys, left->keys + from, (size_t)right->count * sizeof(*right->keys));
	if (left->is_leaf) {
		memcpy(right->values, left->values + from,
		       (size_t)right->count * sizeof(*right->values));
		memset(left->values + half, 0, (size_t)right->count * sizeof(*left->values));
		right->next = left->next;
		left->next = right;
		middle = make_key(middle->bytes, middle->length);
	} else {
		memcpy(right->children, left->children + from,
		       ((size_t)right->count + 1) * sizeof(*right->children));
		memset(left->children + from, 0,
		       ((size_t)right->count + 1) * sizeof(*left->children));
	}
	memset(left->keys + half, 0, (size_t)(left->count - half) * sizeof(*left->keys));
	left->count = half;
	memmove(parent->keys + at + 1, parent->keys + at,
		(size_t)(parent->count - at) * sizeof(*parent->keys));
	memmove(parent->children + at + 2, parent->children + at + 1,
		(size_t)(parent->count - at) * sizeof(*parent->children));
	parent->keys[at] = middle;
	parent->children[at + 1] = right;
	parent->count++;
}

static int find(const struct node *node, const struct key *key)
{
	int at = 0;

	while (at < node->count && compare(node->keys[at], key) < (node->is_leaf ? 0 : 1))
		at++;
	return at;
}

static void insert(struct tree *tree, struct key *key, struct value *value)
{
	struct node *node = tree->root;
	int at;

	if (node->count == ORDER) {
		tree->root = make_node(false);
		tree->root->children[0] = node;
		split(tree->root, 0);
		node = tree->root;
	}
	while (at = find(node, key), !node->is_leaf) {
		if (node->children[at]->count == ORDER)
			split(node, at);
		else
			node = node->children[at];
	}
	memmove(node->keys + at + 1, node->keys + at,
		(size_t)(node->count - at) * sizeof(*node->keys));
	memmove(node->values + at + 1, node->values + at,
		(size_t)(node->count - at) * sizeof(*node->values));
	node->keys[at] = key;
	node->values[at] = value;
	node->count++;
	tree->entries++;
}

// Keeps the beginning that all keys of a leaf have.
static void compress(struct node *node)
{
	const struct key *first = node->keys[0], *last = node->keys[node->count - 1];
	size_t common = 0;

	for (int i = 0; !node->is_leaf && i <= node->count; i++)
		compress(node->children[i]);
	if (!node->is_leaf || node->count < 2)
		return;
	while (common < first->length && common < last->length &&
	       first->bytes[common] == last->bytes[common])
		common++;
	if (common > 0)
		node->common = make_key(first->bytes, common);
}

static void log_record(uint32_t page, const char *payload)
{
	size_t length = strlen(payload) + 1;
	struct record *record = NEW_FLEXIBLE(struct record, sizeof(*record) + length);

	if (record_count == record_capacity) {
		record_capacity = record_capacity ? 2 * record_capacity : 16;
		records = RENEW_ARRAY(struct record *, records, record_capacity);
	}
	record->number = record_count;
	record->page = page;
	record->kind = 3;
	record->length = (uint16_t)length;
	memcpy(record->payload, payload, length);
	records[record_count++] = record;
}

static void read_pages(struct tree *tree)
{
	tree->frames = NEW_ZEROED_ARRAY(struct frame, PAGES);
	for (uint32_t i = 0; i < PAGES; i++) {
		struct frame *frame = &tree->frames[i];

		frame->number = i * 3;
		frame->older = tree->newest;
		if (tree->newest)
			tree->newest->newer = frame;
		tree->newest = frame;
		if (i % 4 == 3)
			continue;
		frame->image = NEW_ZEROED(struct page);
		frame->image->number = frame->number;
		frame->image->slots = 5;
	}
}

static struct tree *open_tree(const char *name, int entries)
{
	struct tree *tree = NEW_ZEROED(struct tree);
	char text[KEY_SIZE];

	tree->name = TEXT(strdup(name));
	tree->root = make_node(true);
	read_pages(tree);
	for (int i = 0; i < entries; i++) {
		int length = snprintf(text, sizeof(text), "%s/key/%06u", name,
				      (unsigned)(next() % 1000000));

		insert(tree, make_key(text, (size_t)length), make_value(i));
		log_record((uint32_t)i, text);
	}
	compress(tree->root);
	for (int i = 0; i < CURSORS; i++) {
		struct cursor *cursor = NEW_ZEROED(struct cursor);

		cursor->tree = tree;
		cursor->frame = &tree->frames[i];
		cursor->current = make_key("here", 4);
		cursor->next = tree->cursors;
		tree->cursors = cursor;
	}
	return tree;
}

int main(void)
{
	trees[0] = open_tree("customers", ENTRIES);
	trees[1] = open_tree("orders/archive", ENTRIES / 2);
	truth_capture();
	return trees[0]->entries + trees[1]->entries == 0;
}
