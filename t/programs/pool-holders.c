// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Slabs that are cut into items, which a list and a hash table hold together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLABS = 20,
	ITEMS = 50,
	BUCKETS = 64,
};

struct item {
	struct item *next, *next_in_bucket;
	char *label;
	unsigned number;
};

static struct item *list, **table;

static void new_slab(unsigned first)
{
	char *slab = malloc(ITEMS * sizeof(struct item) + 24);

	memset(slab, 0, 24);
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *item = (struct item *)(slab + 24 + i * sizeof(struct item));
		struct item **bucket = &table[(first + i) % BUCKETS];

		*item = (struct item){ list, *bucket, NULL, first + i };
		if (i % 2)
			item->label = strdup("an odd number");
		list = *bucket = item;
	}
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	table = calloc(BUCKETS, sizeof(*table));
	for (unsigned i = 0; i < SLABS; i++)
		new_slab(i * ITEMS);
	puts("ready");
	getchar();
	printf("%u\n", list->number);
	return 0;
}
