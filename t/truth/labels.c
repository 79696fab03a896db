// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Texts with references, whose counters stand before the address that all have. One of them is the length, as in the lines
 * of a log, which are structs that end in their text. Most labels lead to entries of a table that is known late.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

typedef char *label;

struct counters {
	unsigned references, flags, length;
};

struct line {
	struct line *previous;
	unsigned length;
	char text[];
};

struct token {
	int kind;
	label text;
};

struct entry {
	struct entry *next;
	unsigned hash, length;
	label value;
};

struct table {
	struct entry **entries;
	unsigned size;
	struct table *parent;
};

static struct table *root;
static struct token tokens[100];
static struct line *last;

static label make_label(const char *text)
{
	size_t length = strlen(text);
	struct counters *counters = malloc(sizeof(*counters) + length + 1);

	truth_log(counters, TRUTH_BEHIND, "char", sizeof(*counters));
	*counters = (struct counters){ 1, 3, length };
	return memcpy(counters + 1, text, length + 1);
}

static void put(struct table *table, const char *key, label value)
{
	size_t length = strlen(key);
	struct entry *entry = NEW_FLEXIBLE(struct entry, sizeof(*entry) + length + 1);

	entry->hash = next() % 1000;
	entry->length = length;
	entry->value = value;
	memcpy(entry + 1, key, length + 1);
	entry->next = table->entries[entry->hash % table->size];
	table->entries[entry->hash % table->size] = entry;
}

static void add_table(unsigned number)
{
	struct table *table = NEW(struct table);
	char key[40];

	table->size = 64;
	table->entries = NEW_ZEROED_ARRAY(struct entry *, table->size);
	table->parent = root;
	root = table;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "section%u.key%u", number, i);
		put(table, key, make_label(i % 3 ? "enabled by default" : "no"));
	}
}

static void add_line(const char *text)
{
	size_t length = strlen(text);
	struct line *line = NEW_FLEXIBLE(struct line, offsetof(struct line, text) + length + 1);

	line->previous = last;
	line->length = length;
	memcpy(line->text, text, length + 1);
	last = line;
}

int main(void)
{
	char text[60];

	for (unsigned i = 0; i < 4; i++)
		add_table(i);
	for (unsigned i = 0; i < 100; i++) {
		tokens[i] = (struct token){ i % 7, make_label("identifier") };
		snprintf(text, sizeof(text), "what has happened as number %u", i);
		add_line(text);
	}
	truth_capture();
	printf("%p %p %s\n", (void *)root, (void *)last, tokens[next() % 100].text);
	return 0;
}
