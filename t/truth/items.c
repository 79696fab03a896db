// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A dictionary whose table leads to the keys alone, which are the ends of its items: the item of a key is found by
 * subtraction. Nothing leads to where items begin.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	NESTED = 3000,
};

enum value_type {
	VALUE_NONE,
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_DICTIONARY,
};

struct value {
	enum value_type type;
	char locked;
	union {
		long number;
		char *text;
		struct dictionary *dictionary;
	} as;
};

struct item {
	struct value value;
	unsigned char flags;
	char key[1];
};

struct slot {
	unsigned long hash;
	char *key;
};

struct table {
	size_t mask, used, filled;
	struct slot *slots;
	struct slot few[4];
};

struct dictionary {
	int references, locked;
	struct table table;
	struct dictionary *next, *previous;
};

static struct dictionary *dictionaries;

#define ITEM_OF(string) ((struct item *)((string)-offsetof(struct item, key)))

static unsigned long hash_of(const char *key)
{
	unsigned long hash = 5381;

	while (*key)
		hash = hash * 101 + (unsigned char)*key++;
	return hash;
}

static void insert(struct table *table, char *key)
{
	unsigned long hash = hash_of(key);
	size_t at = hash & table->mask;

	while (table->slots[at].key)
		at = (at + 1) & table->mask;
	table->slots[at] = (struct slot){ hash, key };
}

static void grow(struct table *table)
{
	struct slot *old = table->slots;
	size_t mask = table->mask;

	table->mask = (mask + 1) * 4 - 1;
	table->slots = NEW_ZEROED_ARRAY(struct slot, table->mask + 1);
	for (size_t i = 0; i <= mask; i++) {
		if (old[i].key)
			insert(table, old[i].key);
	}
	if (old != table->few)
		FREE(old);
}

static struct item *add(struct dictionary *dictionary, const char *key)
{
	struct item *item =
		FLEXIBLE_OF(struct item, malloc(offsetof(struct item, key) + strlen(key) + 1));

	strcpy(item->key, key);
	item->flags = 0;
	item->value = (struct value){ VALUE_NONE, 0, { 0 } };
	if (dictionary->table.used * 2 > dictionary->table.mask)
		grow(&dictionary->table);
	insert(&dictionary->table, item->key);
	dictionary->table.used++;
	return item;
}

static struct dictionary *make_dictionary(void)
{
	struct dictionary *dictionary = NEW_ZEROED(struct dictionary);

	dictionary->references = 1;
	dictionary->table.mask = 3;
	dictionary->table.slots = dictionary->table.few;
	dictionary->next = dictionaries;
	if (dictionaries)
		dictionaries->previous = dictionary;
	dictionaries = dictionary;
	return dictionary;
}

int main(void)
{
	struct dictionary *all = make_dictionary();
	unsigned long sum = 0;
	char text[32];

	for (int i = 0; i < NESTED; i++) {
		struct dictionary *one = make_dictionary();
		struct item *item;

		snprintf(text, sizeof(text), "dictionary %d", i);
		item = add(all, text);
		item->value = (struct value){ VALUE_DICTIONARY, 0, { .dictionary = one } };
		for (unsigned j = 0; j < 1 + next() % 7; j++) {
			snprintf(text, sizeof(text), "key%u", j * 7919);
			item = add(one, text);
			if (j % 2) {
				item->value = (struct value){ VALUE_NUMBER,
							      0,
							      { .number = (long)(next() % 9999) } };
				continue;
			}
			snprintf(text, sizeof(text), "the value %lu",
				 (unsigned long)(next() % 99999));
			item->value =
				(struct value){ VALUE_TEXT, 1, { .text = TEXT(strdup(text)) } };
		}
	}
	for (size_t i = 0; i <= all->table.mask; i++) {
		if (all->table.slots[i].key)
			sum += (unsigned long)ITEM_OF(all->table.slots[i].key)->value.type;
	}
	truth_capture();
	printf("%lu\n", sum);
	return 0;
}
