// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Cells and texts in pieces that the program cuts off chunks, by a union of bytes and the link by which pieces hang together
 * while they are free. Larger pieces are blocks of their own. Few pieces are free, so that no list shows how chunks are cut.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stddef.h>
#include <stdio.h>

enum {
	UNIT = 16,
	KINDS = 8,   // of pieces: 16 to 128 bytes
	CHUNK = 128, // units
	CELLS = 3000,
	BUCKETS = 64,
	TABLES = 60,
};

union piece {
	char bytes[UNIT];
	union piece *next;
};

struct text {
	size_t length;
	unsigned references;
	char letters[];
};

struct cell {
	short kind, flags;
	void *value;
	double number;
};

struct node {
	struct node *next, *list;
	struct text *key;
	struct cell cell;
	unsigned hash;
};

struct table {
	struct node **buckets;
	size_t count, size;
};

enum kind {
	KIND_NUMBER,
	KIND_TEXT,
};

static union piece *free_pieces[KINDS];
static struct table *tables[TABLES];

// Each function that allocates something knows its type, but not where it comes from.
static void *take(size_t size)
{
	static union piece *left;
	static size_t units_left;
	size_t units = (size + UNIT - 1) / UNIT;
	union piece *piece;

	if (units > KINDS)
		return malloc(units * UNIT);
	piece = free_pieces[units - 1];
	if (piece) {
		free_pieces[units - 1] = piece->next;
		return piece;
	}
	if (units > units_left) {
		if (units_left > 0) {
			left->next = free_pieces[units_left - 1];
			free_pieces[units_left - 1] = left;
		}
		left = (union piece *)POOL(void, malloc(CHUNK * sizeof(*left)));
		units_left = CHUNK;
	}
	piece = left;
	left += units;
	units_left -= units;
	return piece;
}

static int is_large(size_t size)
{
	return size > (size_t)UNIT * KINDS;
}

static struct text *new_text(const char *letters, size_t length)
{
	size_t size = offsetof(struct text, letters) + length + 1;
	struct text *text = take(size);

	if (is_large(size))
		truth_log(text, TRUTH_FLEXIBLE, "struct text", 0);
	text->length = length;
	text->references = 1;
	memcpy(text->letters, letters, length);
	text->letters[length] = '\0';
	return text;
}

static struct table *new_table(void)
{
	struct table *table = PART(struct table, take(sizeof(*table)));

	table->size = BUCKETS;
	table->count = 0;
	table->buckets = truth_log(take(BUCKETS * sizeof(struct node *)), TRUTH_ARRAY,
				   "struct node *", BUCKETS);
	memset(table->buckets, 0, BUCKETS * sizeof(struct node *));
	return table;
}

static struct cell *find(struct table *table, const char *key)
{
	unsigned hash = 5381;
	struct node *node;

	for (const char *at = key; *at != '\0'; at++)
		hash = hash * 33 + (unsigned char)*at;
	node = PART(struct node, take(sizeof(*node)));
	memset(node, 0, sizeof(*node));
	node->hash = hash;
	node->key = new_text(key, strlen(key));
	node->next = table->buckets[hash % BUCKETS];
	table->buckets[hash % BUCKETS] = node;
	table->count++;
	return &node->cell;
}

static void set_text(struct cell *cell, const char *letters)
{
	cell->kind = KIND_TEXT;
	cell->value = new_text(letters, strlen(letters));
}

int main(void)
{
	for (int i = 0; i < TABLES; i++)
		tables[i] = new_table();
	for (int i = 0; i < CELLS; i++) {
		char key[40], value[400];
		struct cell *cell;

		snprintf(key, sizeof(key), "key %d", i);
		cell = find(tables[i % TABLES], key);
		if (i % 3 == 0) {
			cell->kind = KIND_NUMBER;
			cell->number = i + 0.5;
			continue;
		}
		memset(value, 'a' + i % 26, sizeof(value));
		value[i % 8 == 1 ? 140 + next() % 200 : 5 + next() % 60] = '\0';
		set_text(cell, value);
	}
	truth_capture();
	return tables[0] == NULL;
}
