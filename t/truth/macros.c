// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Macros of a processor of texts, in a hash table of anything: only functions that cast what they get tell their type. The
 * kind of most is never set, so that old bytes are there.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	COUNT = 600,
	BUCKETS = 128,
};

enum kind {
	CODE,
	KEYWORD,
	STRING
};

struct macro {
	const char *key, *value;
	char *storage;
	enum kind kind;
};

struct place {
	void *data;
	struct place *next;
};

struct table {
	struct place *places;
	size_t count;
	size_t (*hash)(const void *data);
};

static struct table *macros;
static char keys[COUNT][32];

static size_t hash_macro(const void *data)
{
	const struct macro *macro = data;
	size_t hash = 5381;

	for (const char *at = macro->key; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	return hash;
}

static void insert(struct table *table, void *data)
{
	struct place *place = &table->places[table->hash(data) % BUCKETS];

	if (place->data) {
		struct place *more = NEW(struct place);

		*more = (struct place){ data, place->next };
		place->next = more;
	} else {
		place->data = data;
	}
	table->count++;
}

static char *make_text(const char *format, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), format, number);
	return TEXT(strdup(text));
}

static void add_macro(unsigned number)
{
	struct macro *macro = NEW(struct macro);

	// This was there before.
	memset(macro, (int)(next() % 200) + 20, sizeof(*macro));
	macro->key = keys[number];
	macro->value = number % 3 == 0 ? "1" : make_text("what stands for %u", number);
	macro->storage = NULL;
	if (number % 8 == 0)
		macro->kind = STRING;
	insert(macros, macro);
}

int main(void)
{
	macros = NEW_ZEROED(struct table);
	macros->places = NEW_ZEROED_ARRAY(struct place, BUCKETS);
	macros->hash = hash_macro;
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(keys[i], sizeof(keys[i]), "the macro of %u", i);
		add_macro(i);
	}
	truth_capture();
	return macros->count == 0;
}
