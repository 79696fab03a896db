// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/truth/truth.h"

#include <stdio.h>

struct entry {
	struct entry *chain;
	char *word;
	struct meaning *meanings;
	double weight;
	unsigned length;
};

struct meaning {
	struct meaning *next;
	const char *class;
	struct entry *see_also;
};

struct table {
	struct entry **buckets;
	unsigned size, count;
};

static struct table *table;
static struct entry *latest;

static void add(const char *word)
{
	struct entry *entry = (struct entry *)truth_log(malloc(sizeof(struct entry)), TRUTH_ARRAY,
							"struct entry (twins-words.c)", 1);

	entry->word = TEXT(strdup(word));
	entry->length = (unsigned)strlen(word);
	entry->weight = 1.0 / entry->length;
	entry->meanings = NULL;
	for (unsigned i = 0; i < 1 + table->count % 3; i++) {
		struct meaning *meaning = NEW(struct meaning);
		meaning->next = entry->meanings;
		meaning->class = i ? "noun" : "verb";
		meaning->see_also = latest;
		entry->meanings = meaning;
	}
	entry->chain = table->buckets[table->count % table->size];
	table->buckets[table->count++ % table->size] = entry;
	latest = entry;
}

void words_fill(unsigned count)
{
	char word[24];

	table = (struct table *)truth_log(calloc(1, sizeof(struct table)), TRUTH_ARRAY,
					  "struct table (twins-words.c)", 1);
	table->size = 211;
	table->buckets =
		(struct entry **)truth_log(calloc(table->size, sizeof(struct entry *)), TRUTH_ARRAY,
					   "struct entry * (twins-words.c)", table->size);
	for (unsigned i = 0; i < count; i++) {
		snprintf(word, sizeof(word), "word%x", i * 7919);
		add(word);
	}
}

unsigned words_count(void)
{
	return table->count;
}
