// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Rows that are sorted: all of one size, in an arena whose chunks have their size, their block and their owner before
 * them.
 */
#include "t/truth/truth.h"

#include <stdint.h>

enum {
	ROWS = 1200,
	KEPT = 40,
	SIZE = 64, // of a row
	BLOCK = 16384,
};

struct block {
	struct owner *owner;
	struct block *next;
	char *free, *end;
};

struct chunk {
	size_t size;
	struct block *block;
	struct owner *owner;
};

struct owner {
	const char *name;
	struct block *blocks;
	size_t rows;
};

struct row {
	uint32_t length;
	uint16_t columns, flags;
	double price;
	char name[]; // and more columns
};

struct entry {
	void *row;
	uint64_t key;
};

static struct owner *owner;
static struct entry *entries;
static struct row *kept[KEPT];

static void *owner_alloc(struct owner *in, size_t size)
{
	struct block *block = in->blocks;
	struct chunk *chunk;

	if (!block || (size_t)(block->end - block->free) < sizeof(*chunk) + size) {
		block = POOL(struct block, malloc(BLOCK));
		*block = (struct block){ in, in->blocks, (char *)(block + 1),
					 (char *)block + BLOCK };
		in->blocks = block;
	}
	chunk = (struct chunk *)block->free;
	block->free += sizeof(*chunk) + size;
	*chunk = (struct chunk){ size, block, in };
	return chunk + 1;
}

static void fill(struct row *row, size_t size, unsigned i)
{
	memset(row, 0, size);
	row->length = (uint32_t)size;
	row->columns = 3;
	row->price = i * 0.25;
	memcpy(row->name, "a name", 6);
}

static void *make_row(unsigned i)
{
	struct row *row = truth_log(owner_alloc(owner, SIZE), TRUTH_PART, "struct row", 1);

	fill(row, SIZE, i);
	return row;
}

// Rows that are kept have other sizes.
static struct row *make_kept(unsigned i)
{
	size_t size = sizeof(struct row) + 8 + i;
	struct row *row = truth_log(malloc(size), TRUTH_FLEXIBLE, "struct row", 1);

	fill(row, size, i);
	return row;
}

int main(void)
{
	double sum = 0;

	owner = NEW_ZEROED(struct owner);
	entries = NEW_ZEROED_ARRAY(struct entry, ROWS);
	for (unsigned i = 0; i < ROWS; i++)
		entries[i] = (struct entry){ make_row(i * 7 % ROWS), i };
	for (unsigned i = 0; i < KEPT; i++)
		kept[i] = make_kept(i);
	truth_capture();
	for (unsigned i = 0; i < ROWS; i++)
		sum += ((struct row *)entries[i].row)->price + kept[i % KEPT]->price;
	return sum < 0;
}
