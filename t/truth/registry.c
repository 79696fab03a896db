// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables of entries with void pointers, in chains. The head of a table also leads to the settings, and to the words
 * that all tables share. Documents know their tables by void pointers. What the entries of macros lead to only the
 * functions of their table tell; what those of marks lead to, only contents. Code of one small table takes
 * the pointer from the entry, and so tells what it is cast to there.
 * Arrays of numbers have places that look like a text behind its length.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	SLOTS = 256,
	DOCUMENTS = 6,
	MARKS = 300,
	MACROS = 1000,
	STYLES = 150,
	ACCENTS = 12,
	REMARKS = 40,
};

struct settings {
	float shrink, grow;
};

// The words of all tables.
struct words {
	char **list;
	size_t count, capacity;
};

struct entry {
	void *value;
	struct entry *next;
};

struct table {
	struct entry *slots;
	size_t size, used;
	struct words *words;
	const struct settings *settings;
	size_t (*hash)(const void *value);
	int (*equal)(const void *a, const void *b);
};

struct style {
	char *name;
	uint64_t color, width, weight, indent;
	struct style *base;
};

struct mark {
	struct mark *next;
	char *id;
	struct style *style;
	const char *kind;
	unsigned line;
	struct document *document;
};

struct macro {
	const char *name;
	char *body;
	char *storage;
	uint64_t uses;
};

struct accent {
	char *base, *above, *below;
};

// Has its text behind it.
struct remark {
	int level, length;
	char text[];
};

struct steps {
	int *list, *at;
	struct steps *next;
};

struct document {
	char *title;
	void *marks, *styles;
	struct document *next;
};

static const struct settings settings = { 0.25f, 0.75f };
static struct words *words;
static struct document *documents;
static struct table *macros, *accents;
static struct steps *steps;
static struct remark *remarks[REMARKS];

static char *format(const char *pattern, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), pattern, number);
	return TEXT(strdup(text));
}

static char *add_word(const char *pattern, unsigned number)
{
	if (words->count == words->capacity) {
		words->capacity = words->capacity ? words->capacity * 2 : 8;
		words->list = RENEW_ARRAY(char *, words->list, words->capacity);
	}
	return words->list[words->count++] = format(pattern, number);
}

static size_t hash_text(const char *text)
{
	size_t hash = 5381;

	for (; *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash;
}

static size_t hash_macro(const void *value)
{
	const struct macro *macro = value;

	return hash_text(macro->name);
}

static int equal_macros(const void *a, const void *b)
{
	const struct macro *left = a, *right = b;

	return strcmp(left->name, right->name) == 0;
}

static size_t hash_address(const void *value)
{
	return (uintptr_t)value / 16 * 2654435761u;
}

static int equal_addresses(const void *a, const void *b)
{
	return a == b;
}

__attribute__((noinline)) static struct table *make_table(size_t (*hash)(const void *),
							  int (*equal)(const void *, const void *))
{
	struct table *table = NEW_ZEROED(struct table);

	table->size = SLOTS;
	table->slots = NEW_ZEROED_ARRAY(struct entry, SLOTS);
	table->words = words;
	table->settings = &settings;
	table->hash = hash;
	table->equal = equal;
	return table;
}

__attribute__((noinline)) static void insert(struct table *table, void *value)
{
	struct entry *slot = &table->slots[table->hash(value) % table->size];

	table->used++;
	if (slot->value) {
		struct entry *entry = NEW(struct entry);

		*entry = *slot;
		slot->next = entry;
	}
	slot->value = value;
}

static void add_macros(void)
{
	macros = make_table(hash_macro, equal_macros);
	for (unsigned i = 0; i < MACROS; i++) {
		struct macro *macro = NEW(struct macro);

		*macro = (struct macro){ add_word("macro %u", i), NULL, NULL, next() % 10 };
		macro->body = macro->storage = format("the body of number %u", i);
		insert(macros, macro);
	}
}

static void add_accents(void)
{
	accents = make_table(hash_address, equal_addresses);
	for (unsigned i = 0; i < ACCENTS; i++) {
		struct accent *accent = NEW(struct accent);

		*accent = (struct accent){ format("base %u", i), format("above %u", i), NULL };
		insert(accents, accent);
	}
}

static struct style *add_styles(struct table *table)
{
	struct style *style = NULL;

	for (unsigned i = 0; i < STYLES; i++) {
		struct style *base = style;

		style = NEW(struct style);
		*style = (struct style){ add_word("style %u", i), next() % 4096, i, 400, 2, base };
		insert(table, style);
	}
	return style;
}

static void add_marks(struct table *table, struct document *document, struct style *style)
{
	for (unsigned i = 0; i < MARKS; i++) {
		struct mark *mark = NEW(struct mark);

		*mark = (struct mark){ NULL, format("mark %u", i), style, NULL, i, document };
		if (style->base)
			style = style->base;
		insert(table, mark);
	}
}

static void add_document(unsigned number)
{
	struct document *document = NEW(struct document);
	struct table *marks = make_table(hash_address, equal_addresses);
	struct table *styles = make_table(hash_address, equal_addresses);

	*document = (struct document){ format("document %u", number), marks, styles, documents };
	documents = document;
	add_marks(marks, document, add_styles(styles));
}

static void add_remarks(void)
{
	for (int i = 0; i < REMARKS; i++) {
		char text[40];
		int length = snprintf(text, sizeof(text), "remark number %d", i);
		struct remark *remark =
			NEW_FLEXIBLE(struct remark, sizeof(*remark) + (size_t)length + 1);

		remark->level = i % 3;
		remark->length = length;
		strcpy(remark->text, text);
		remarks[i] = remark;
	}
}

static void add_steps(void)
{
	for (int i = 0; i < REMARKS; i++) {
		struct steps *own = NEW(struct steps);

		*own = (struct steps){ NEW_ARRAY(int, 14), NULL, steps };
		for (int j = 0; j < 14; j++)
			own->list[j] = j == 2 ? '\r' : 1;
		own->at = own->list + 2;
		steps = own;
	}
}

// The only code that takes values from entries.
static size_t print_accents(void)
{
	size_t length = 0;

	for (size_t i = 0; i < accents->size; i++) {
		for (struct entry *at = &accents->slots[i]; at; at = at->next) {
			struct accent *accent = at->value;

			if (accent)
				length += strlen(accent->base) + strlen(accent->above);
		}
	}
	return length;
}

int main(void)
{
	words = NEW_ZEROED(struct words);
	add_macros();
	add_accents();
	for (unsigned i = 0; i < DOCUMENTS; i++)
		add_document(i);
	add_remarks();
	add_steps();
	truth_capture();
	printf("%zu %s %s %d\n", print_accents(), documents->title, remarks[1]->text, *steps->at);
	return 0;
}
