// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Keys of a hash table whose code is inlined right behind the allocation of a key. Its pointer to a bucket, which is as large
 * as a key, is in one register wherever it is in scope, as compilers say it of variables whose address an inlined function
 * takes: until it is set, the key is there.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __x86_64__
#define RESULT "rax"
#else
#define RESULT "x0"
#endif

enum {
	COUNT = 200,
	BUCKETS = 512,
};

struct price {
	double amount;
	char currency[8];
};

struct bucket {
	const void *key;
	int number;
};

struct table {
	struct bucket *buckets;
	unsigned count, used;
};

static struct table *prices;

static inline __attribute__((always_inline)) void put(struct table *table, const void *key,
						      int number)
{
	register struct bucket *place __asm__(RESULT);
	unsigned at = (unsigned)number * 7 & (table->count - 1);

	table->used++;
	place = table->buckets + at;
	__asm__ volatile("" : "+r"(place));
	place->key = key;
	place->number = number;
}

static __attribute__((noinline)) void fill(struct table *table, const struct price *least)
{
	for (int i = 0; i < COUNT; i++)
		put(table, malloc(sizeof(*least)), i);
}

// Sets prices, and logs them where nothing is inlined.
static __attribute__((noinline)) void set(const void *key, int number)
{
	struct price *price =
		(struct price *)truth_log((void *)key, TRUTH_ARRAY, "struct price", 1);

	*price = (struct price){ number * 1.25, "EUR" };
}

int main(void)
{
	prices = NEW(struct table);
	prices->count = BUCKETS;
	prices->used = 0;
	prices->buckets = NEW_ZEROED_ARRAY(struct bucket, BUCKETS);
	fill(prices, &(struct price){ 1.25, "EUR" });
	for (int i = 0; i < BUCKETS; i++) {
		if (prices->buckets[i].key)
			set(prices->buckets[i].key, i);
	}
	truth_capture();
	return prices->used == 0;
}
