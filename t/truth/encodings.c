// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A cache of values in several encodings, which only a number beside a void pointer tells apart: strings whose
 * length stands before them, short strings in one block with their value, packed lists of bytes, and tables.
 * The keys of its hash table are void pointers, too.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

typedef char *string; // behind its length

enum encoding {
	ENCODING_STRING,
	ENCODING_SHORT, // in the same block
	ENCODING_PACKED,
	ENCODING_TABLE,
};

struct value {
	unsigned type : 4;
	unsigned encoding : 4;
	unsigned clock : 24;
	int references;
	void *data;
};

struct entry {
	void *key;
	union {
		void *value;
		uint64_t number;
		double real;
	} v;
	struct entry *next;
};

struct table {
	struct entry **buckets;
	unsigned long size, used;
	void *context;
};

// A list keeps its packed parts as what they are.
struct part {
	struct part *next;
	unsigned char *packed;
	size_t size;
};

enum {
	HEADER = 3,
	PACKED_HEADER = 6,
	LONGEST_SHORT = 44,
	KEYS = 6000,
	PARTS = 400,
};

static struct table *database;
static struct part *parts;

// Both strings and packed lists grow and shrink by it.
__attribute__((noinline)) static void *resize(void *block, size_t size)
{
	void *moved = realloc(block, size);

	if (!moved)
		abort();
	return moved;
}

static void fill(char *block, const char *text, size_t length)
{
	block[0] = block[1] = (char)length;
	block[2] = 1;
	memcpy(block + HEADER, text, length + 1);
}

__attribute__((noinline)) static string make_string(const char *text)
{
	size_t length = strlen(text);
	char *block = truth_log(malloc(HEADER + length + 1), TRUTH_BEHIND, "char", HEADER);

	fill(block, text, length);
	return block + HEADER;
}

// A string gives back what it has not used.
__attribute__((noinline)) static string shrink_string(string text)
{
	size_t length = strlen(text);
	int forgotten = truth_forget(text - HEADER);
	char *block = truth_moved(forgotten, resize(text - HEADER, HEADER + length + 1),
				  TRUTH_BEHIND, "char", HEADER);

	return block + HEADER;
}

static struct value *make_value(enum encoding encoding, void *data)
{
	struct value *value = NEW(struct value);

	*value = (struct value){ 0, encoding, 77, 1, data };
	return value;
}

__attribute__((noinline)) static struct value *make_short_value(const char *text)
{
	size_t length = strlen(text);
	struct value *value =
		FLEXIBLE_OF(struct value, malloc(sizeof(struct value) + HEADER + length + 1));

	*value = (struct value){ 0, ENCODING_SHORT, 77, 1, (char *)(value + 1) + HEADER };
	fill((char *)(value + 1), text, length);
	return value;
}

__attribute__((noinline)) static unsigned char *make_packed(void)
{
	unsigned char *packed = (unsigned char *)NEW_TEXT(PACKED_HEADER + 1);

	memset(packed, 0, PACKED_HEADER + 1);
	packed[0] = PACKED_HEADER + 1;
	packed[PACKED_HEADER] = 0xff;
	return packed;
}

__attribute__((noinline)) static unsigned char *insert(unsigned char *packed, const char *text)
{
	uint32_t size, length = (uint32_t)strlen(text);
	int forgotten = truth_forget(packed);

	memcpy(&size, packed, sizeof(size));
	packed = truth_moved(forgotten, resize(packed, size + length + 2), TRUTH_TEXT, "char", 0);
	packed[size - 1] = (unsigned char)(0x80 | length);
	memcpy(packed + size, text, length);
	packed[size + length] = (unsigned char)(length + 1);
	packed[size + length + 1] = 0xff;
	size += length + 2;
	memcpy(packed, &size, sizeof(size));
	packed[4]++;
	return packed;
}

static unsigned char *pack(int number, int count)
{
	unsigned char *packed = make_packed();
	char text[40];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "member %d %d", number, i * i);
		packed = insert(packed, text);
	}
	return packed;
}

static struct table *make_table(unsigned long size)
{
	struct table *table = NEW(struct table);

	*table = (struct table){ NEW_ZEROED_ARRAY(struct entry *, size), size, 0, NULL };
	return table;
}

static void add(struct table *table, const char *key, void *value)
{
	struct entry *entry = NEW(struct entry);
	unsigned long hash = 5381;

	for (const char *at = key; *at; at++)
		hash = hash * 33 ^ (unsigned char)*at;
	entry->key = make_string(key);
	entry->v.value = value;
	entry->next = table->buckets[hash % table->size];
	table->buckets[hash % table->size] = entry;
	table->used++;
}

static struct value *make_any(int i)
{
	static char text[200];
	struct table *table;

	snprintf(text, sizeof(text), "value %d ", i);
	memset(text + strlen(text), 'x', (size_t)(i * 7) % 120 + 1);
	switch (i % 5) {
	case 0:
		return make_value(ENCODING_STRING, shrink_string(make_string(text)));
	case 1:
		text[i % LONGEST_SHORT + 1] = '\0';
		return make_short_value(text);
	case 2:
	case 3:
		return make_value(ENCODING_PACKED, pack(i, i % 7 + 1));
	default:
		table = make_table(4);
		for (int j = 0; j < 3; j++) {
			snprintf(text, sizeof(text), "member %d of %d", j, i);
			add(table, text, NULL);
		}
		return make_value(ENCODING_TABLE, table);
	}
}

int main(void)
{
	char key[40];

	database = make_table(4096);
	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "%s:%d", i % 2 ? "user" : "session", i);
		add(database, key, make_any(i));
	}
	for (int i = 0; i < PARTS; i++) {
		struct part *part = NEW(struct part);

		part->packed = pack(i, i % 9 + 1);
		memcpy(key, part->packed, sizeof(uint32_t));
		part->size = (unsigned char)key[0];
		part->next = parts;
		parts = part;
	}
	truth_capture();
	return database->used == 0;
}
