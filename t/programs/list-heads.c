// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables whose buckets are heads of lists, so that items lead back to places in the table's array. Another struct
 * ends in any number of such heads, and could be as large.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	TABLES = 12,
	ITEMS = 40,
	SLABS = 3,
};

struct head {
	struct head *previous, *next;
};

struct item {
	struct head link;
	unsigned key;
};

struct table {
	unsigned buckets;
	struct head *heads;
};

struct slab {
	unsigned sizes[4];
	struct slab *next;
	unsigned count, free;
	struct head lists[];
};

static struct table tables[TABLES];
static struct slab *slabs;

static void add(struct head *head, struct head *link)
{
	link->next = head->next;
	link->previous = head;
	head->next->previous = link;
	head->next = link;
}

static void make_table(struct table *table, unsigned buckets)
{
	table->buckets = buckets;
	table->heads = malloc(buckets * sizeof(*table->heads));
	for (unsigned i = 0; i < buckets; i++)
		table->heads[i] = (struct head){ &table->heads[i], &table->heads[i] };
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *item = malloc(sizeof(*item));

		item->key = i * 7;
		add(&table->heads[i % buckets], &item->link);
	}
}

static void make_slab(unsigned lists)
{
	struct slab *slab = malloc(sizeof(*slab) + lists * sizeof(slab->lists[0]));

	*slab = (struct slab){ .sizes = { 8, 16, 32, 64 }, .next = slabs, .count = lists };
	for (unsigned i = 0; i < lists; i++)
		slab->lists[i] = (struct head){ &slab->lists[i], &slab->lists[i] };
	slabs = slab;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < TABLES; i++)
		make_table(&tables[i], 8U << i % 3);
	for (unsigned i = 0; i < SLABS; i++)
		make_slab(6 + i);
	puts("ready");
	while (getchar() != EOF)
		;
	return tables[0].buckets == 0 || slabs->count == 0;
}
