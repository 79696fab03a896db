// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables in one block each: places by hash, then entries, to which alone a void pointer leads. Code that allocates such a
 * block fills it with the processor's vectors, so that the only typed variable with it is a pointer to these.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
	ENTRIES = 8,
	PLACES = 2 * ENTRIES,
	NOWHERE = -1
};

struct value {
	union {
		long number;
		char *text;
		struct table *table;
	} is;
	uint32_t kind, next;
};

struct entry {
	struct value value;
	unsigned long hash;
	char *key;
};

struct table {
	uint32_t flags, mask;
	void *data; // behind the places
	uint32_t used, size;
};

#if defined(__SSE2__)
#define FILL(memory, place) \
	_mm_storeu_si128((__m128i *)((uint32_t *)(memory) + (place)), _mm_set1_epi8(NOWHERE))
#else
#define FILL(memory, place) memset((uint32_t *)(memory) + (place), NOWHERE, 16)
#endif

static __attribute__((noinline)) void make_room(struct table *table)
{
	table->data = malloc(PLACES * sizeof(uint32_t) + ENTRIES * sizeof(struct entry));
	table->mask = PLACES - 1;
	FILL(table->data, 0);
	FILL(table->data, 4);
	FILL(table->data, 8);
	FILL(table->data, 12);
	POOL(void, table->data);
	table->data = (uint32_t *)table->data + PLACES;
}

static struct table *make_table(int number)
{
	struct table *table = NEW_ZEROED(struct table);

	make_room(table);
	for (int i = 0; i < 1 + number % ENTRIES; i++) {
		struct entry *entry = (struct entry *)table->data + table->used;
		uint32_t *place;
		char key[40];

		snprintf(key, sizeof(key), "key %d of %d", i, number);
		entry->key = TEXT(strdup(key));
		entry->hash = (unsigned long)(number * 31 + i) * 0x9e3779b97f4a7c15;
		entry->value.kind = 1;
		entry->value.is.number = i;
		place = (uint32_t *)table->data - 1 - (entry->hash & table->mask);
		entry->value.next = *place;
		*place = table->used++;
	}
	return table;
}

int main(void)
{
	enum {
		TABLES = 1500
	};
	struct table **all = NEW_ARRAY(struct table *, TABLES);
	long used = 0;

	for (int i = 0; i < TABLES; i++)
		all[i] = make_table(i);
	truth_capture();
	for (int i = 0; i < TABLES; i++)
		used += all[i]->used;
	printf("%ld\n", used);
	return 0;
}
