// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values of an interpreter: heads of one size, from slabs, whose type is the low byte of a word of flags. A union in the
 * head leads to the data: a text, a table of heads, of hash entries, or another head. Entries come from slabs, too.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	SLAB = 4080, // bytes
	TYPE_MASK = 0xff,
	RECORDS = 3000,
	BUCKETS = 8, // of a record
};

enum {
	TYPE_NONE,
	TYPE_NUMBER,
	TYPE_TEXT,
	TYPE_REFERENCE,
	TYPE_LIST,
	TYPE_MAP,
	TYPE_SCOPE,
};

struct entry;
struct scope;

struct head {
	void *body;
	unsigned count;
	unsigned flags;
	union {
		char *text;
		long number;
		double real;
		struct head *target;
		struct head **elements;
		struct entry **buckets;
		struct scope *scope;
	} as;
};

struct key {
	unsigned hash;
	int length;
	char bytes[];
};

struct entry {
	struct entry *next;
	struct key *key;
	struct head *value;
};

struct scope {
	struct head *scalar, *handle, *function;
	unsigned version, count;
	struct head *map, *list, *form;
	struct head *outer;
	unsigned line, flags;
	struct head *file;
};

struct text_body {
	struct head *class;
	size_t length, room, hash;
};

struct list_body {
	struct head *class;
	long fill, room;
	struct head **start;
};

struct map_body {
	struct head *class;
	size_t keys, mask;
	unsigned rounds;
};

static struct head *free_heads;
static struct entry *free_entries;
static struct head *symbols, *names;
static unsigned seed = 1;

static unsigned draw(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 8;
}

static void more_heads(void)
{
	struct head *heads = ARRAY_OF(struct head, SLAB / sizeof(*heads), malloc(SLAB));

	memset(heads, 0, SLAB);
	for (int i = SLAB / (int)sizeof(*heads) - 1; i >= 0; i--) {
		heads[i].body = free_heads;
		free_heads = &heads[i];
	}
}

static struct head *new_head(unsigned type)
{
	struct head *head;

	if (!free_heads)
		more_heads();
	head = free_heads;
	free_heads = head->body;
	head->body = NULL;
	head->count = 1;
	head->flags = type | (draw() & 0xffff) << 8;
	return head;
}

static void more_entries(void)
{
	struct entry *entries = ARRAY_OF(struct entry, SLAB / sizeof(*entries), malloc(SLAB));

	memset(entries, 0, SLAB);
	for (int i = SLAB / (int)sizeof(*entries) - 1; i >= 0; i--) {
		entries[i].next = free_entries;
		free_entries = &entries[i];
	}
}

static struct entry *new_entry(void)
{
	struct entry *entry;

	if (!free_entries)
		more_entries();
	entry = free_entries;
	free_entries = entry->next;
	return entry;
}

static struct key *new_key(const char *name)
{
	size_t length = strlen(name);
	struct key *key = NEW_FLEXIBLE(struct key, sizeof(*key) + length + 1);

	key->hash = 5381;
	for (size_t i = 0; i < length; i++)
		key->hash = key->hash * 33 + (unsigned char)name[i];
	key->length = (int)length;
	memcpy(key->bytes, name, length + 1);
	return key;
}

static struct head *new_number(long number)
{
	struct head *head = new_head(TYPE_NUMBER);

	head->as.number = number;
	return head;
}

static struct head *new_text(const char *string)
{
	struct head *head = new_head(TYPE_TEXT);
	struct text_body *body = NEW_ZEROED(struct text_body);

	body->length = strlen(string);
	body->room = body->length + 1;
	head->body = body;
	head->as.text = NEW_TEXT(body->room);
	memcpy(head->as.text, string, body->room);
	return head;
}

static struct head *new_reference(struct head *target)
{
	struct head *head = new_head(TYPE_REFERENCE);

	head->as.target = target;
	return head;
}

static struct head *new_list(int count)
{
	struct head *head = new_head(TYPE_LIST);
	struct list_body *body = NEW_ZEROED(struct list_body);

	body->room = count;
	body->start = NEW_ZEROED_ARRAY(struct head *, count);
	head->body = body;
	head->as.elements = body->start;
	return head;
}

static void append(struct head *list, struct head *value)
{
	struct list_body *body = list->body;

	list->as.elements[body->fill++] = value;
}

static struct head *new_map(size_t buckets)
{
	struct head *head = new_head(TYPE_MAP);
	struct map_body *body = NEW_ZEROED(struct map_body);

	body->mask = buckets - 1;
	head->body = body;
	head->as.buckets = NEW_ZEROED_ARRAY(struct entry *, buckets);
	return head;
}

static void store(struct head *map, struct key *key, struct head *value)
{
	struct map_body *body = map->body;
	struct entry *entry = new_entry();
	struct entry **place = &map->as.buckets[key->hash & body->mask];

	entry->key = key;
	entry->value = value;
	entry->next = *place;
	*place = entry;
	body->keys++;
}

static struct head *new_scope(struct head *outer, struct head *file)
{
	struct head *head = new_head(TYPE_SCOPE);
	struct scope *scope = NEW_ZEROED(struct scope);

	scope->scalar = new_number((long)draw());
	scope->map = new_map(BUCKETS);
	scope->count = 1;
	scope->outer = outer;
	scope->line = draw() % 1000;
	scope->file = file;
	head->as.scope = scope;
	return head;
}

static struct head *new_record(int i, struct key **fields)
{
	struct head *record = new_map(BUCKETS), *tags = new_list(1 + i % 5);
	char text[64];

	snprintf(text, sizeof(text), "the name of record %d", i);
	store(record, fields[0], new_text(text));
	store(record, fields[1], new_number(i));
	for (int j = 0; j < 1 + i % 5; j++) {
		snprintf(text, sizeof(text), "tag %d", j);
		append(tags, new_text(text));
	}
	store(record, fields[2], new_reference(tags));
	return record;
}

int main(void)
{
	static const char *const field_names[] = { "name", "number", "tags" };
	struct key *fields[3];
	struct head *file = new_text("heads.c");
	struct head *outer = NULL;

	for (int i = 0; i < 3; i++)
		fields[i] = new_key(field_names[i]);
	symbols = new_map(32768);
	names = new_list(RECORDS);
	for (int i = 0; i < 40; i++) {
		struct head *head = new_scope(outer, file);
		char name[32];

		snprintf(name, sizeof(name), "variable%d", i);
		store(symbols, new_key(name), head);
		outer = head;
	}
	for (int i = 0; i < RECORDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "record%d", i);
		store(symbols, new_key(name), new_reference(new_record(i, fields)));
		append(names, new_text(name));
	}
	// As after a sweep that found no free element: nothing but the data itself leads to a slab.
	free_heads = NULL;
	free_entries = NULL;
	truth_capture();
	return 0;
}
