// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A key-value server: values behind a void * and a tag in bit-fields, strings whose pointer is
 * past their header, a hash table with a union in its entries, skip lists with levels at
 * their ends, packed lists of bytes.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// --- text with a header before it

typedef char *sds;

struct sds_header {
	uint32_t length, allocated;
	char text[];
};

static struct sds_header *sds_header(sds string)
{
	return (struct sds_header *)(string - offsetof(struct sds_header, text));
}

static sds sds_new_length(const char *text, size_t length)
{
	struct sds_header *header = NEW_FLEXIBLE(struct sds_header, sizeof(*header) + length + 1);

	header->length = header->allocated = (uint32_t)length;
	memcpy(header->text, text, length);
	header->text[length] = '\0';
	return header->text;
}

static sds sds_new(const char *text)
{
	return sds_new_length(text, strlen(text));
}

static sds sds_append(sds string, const char *text)
{
	struct sds_header *header = sds_header(string);
	size_t added = strlen(text);

	if (header->length + added > header->allocated) {
		size_t size = (header->length + added) * 2;
		header = RENEW_FLEXIBLE(struct sds_header, header, sizeof(*header) + size + 1);
		header->allocated = (uint32_t)size;
	}
	memcpy(header->text + header->length, text, added + 1);
	header->length += (uint32_t)added;
	return header->text;
}

static void sds_free(sds string)
{
	FREE(sds_header(string));
}

// --- hash table

typedef struct dict_entry {
	void *key;
	union {
		void *value;
		uint64_t number;
		double real;
	} v;
	struct dict_entry *next;
} dict_entry;

typedef struct dict_type {
	uint64_t (*hash)(const void *key);
	bool (*equal)(const void *left, const void *right);
} dict_type;

typedef struct dict_half {
	dict_entry **table;
	unsigned long size, mask, used;
} dict_half;

typedef struct dict {
	const dict_type *type;
	void *private_data;
	dict_half half[2];
	long rehash; // -1: not being moved
} dict;

static uint64_t hash_sds(const void *key)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *at = key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	return hash ^ hash >> 29;
}

static bool equal_sds(const void *left, const void *right)
{
	return !strcmp(left, right);
}

static const dict_type by_sds = { hash_sds, equal_sds };

static dict *dict_create(const dict_type *type)
{
	dict *created = NEW_ZEROED(dict);

	created->type = type;
	created->rehash = -1;
	return created;
}

static void half_resize(dict_half *half, unsigned long size)
{
	half->table = NEW_ZEROED_ARRAY(dict_entry *, size);
	half->size = size;
	half->mask = size - 1;
	half->used = 0;
}

static void dict_move_one(dict *in)
{
	dict_entry *entry, *next;
	dict_half *from = &in->half[0], *to = &in->half[1];

	for (entry = from->table[in->rehash]; entry; entry = next) {
		unsigned long slot = in->type->hash(entry->key) & to->mask;
		next = entry->next;
		entry->next = to->table[slot];
		to->table[slot] = entry;
		from->used--;
		to->used++;
	}
	from->table[in->rehash++] = NULL;
	if (!from->used) {
		FREE(from->table);
		*from = *to;
		memset(to, 0, sizeof(*to));
		in->rehash = -1;
	}
}

static dict_entry *dict_find(dict *in, const void *key)
{
	uint64_t hash = in->type->hash(key);

	for (int i = 0; i < 2 && in->half[i].size; i++)
		for (dict_entry *entry = in->half[i].table[hash & in->half[i].mask]; entry;
		     entry = entry->next)
			if (in->type->equal(entry->key, key))
				return entry;
	return NULL;
}

static dict_entry *dict_add(dict *in, void *key)
{
	dict_half *half;
	dict_entry *entry;

	if (!in->half[0].size)
		half_resize(&in->half[0], 4);
	else if (in->rehash < 0 && in->half[0].used >= in->half[0].size) {
		half_resize(&in->half[1], in->half[0].size * 2);
		in->rehash = 0;
	}
	if (in->rehash >= 0)
		dict_move_one(in);
	half = &in->half[in->rehash >= 0];
	entry = NEW(dict_entry);
	entry->key = key;
	entry->v.value = NULL;
	entry->next = half->table[in->type->hash(key) & half->mask];
	half->table[in->type->hash(key) & half->mask] = entry;
	half->used++;
	return entry;
}

// --- skip list

typedef struct skip_node {
	sds member;
	double score;
	struct skip_node *backward;
	struct skip_level {
		struct skip_node *forward;
		unsigned long span;
	} level[];
} skip_node;

typedef struct skip_list {
	skip_node *header, *tail;
	unsigned long length;
	int levels;
} skip_list;

typedef struct sorted_set {
	dict *scores;
	skip_list *list;
} sorted_set;

enum {
	LEVELS = 12
};

static skip_node *skip_node_create(int levels, double score, sds member)
{
	skip_node *node =
		NEW_FLEXIBLE(skip_node, sizeof(*node) + (size_t)levels * sizeof(struct skip_level));

	node->member = member;
	node->score = score;
	node->backward = NULL;
	memset(node->level, 0, (size_t)levels * sizeof(struct skip_level));
	return node;
}

static skip_list *skip_create(void)
{
	skip_list *list = NEW_ZEROED(skip_list);

	list->levels = 1;
	list->header = skip_node_create(LEVELS, 0, NULL);
	return list;
}

static void skip_insert(skip_list *list, double score, sds member)
{
	static uint32_t random = 12345;
	skip_node *update[LEVELS], *at = list->header, *node;
	int levels = 1;

	while (levels < LEVELS && (random = random * 1103515245 + 12345) >> 30 == 0)
		levels++;
	for (int i = levels > list->levels ? levels - 1 : list->levels - 1; i >= 0; i--) {
		while (at->level[i].forward && at->level[i].forward->score < score)
			at = at->level[i].forward;
		update[i] = at;
	}
	node = skip_node_create(levels, score, member);
	for (int i = 0; i < levels; i++) {
		node->level[i].forward = update[i]->level[i].forward;
		update[i]->level[i].forward = node;
	}
	node->backward = update[0] == list->header ? NULL : update[0];
	*(node->level[0].forward ? &node->level[0].forward->backward : &list->tail) = node;
	if (levels > list->levels)
		list->levels = levels;
	list->length++;
}

// --- values

enum {
	TYPE_STRING,
	TYPE_LIST,
	TYPE_HASH,
	TYPE_SORTED
};
enum {
	ENCODING_RAW,
	ENCODING_INTEGER,
	ENCODING_PACKED,
	ENCODING_TABLE,
	ENCODING_SKIP
};

typedef struct object {
	unsigned type : 4;
	unsigned encoding : 4;
	unsigned lru : 24;
	int references;
	void *value;
} object;

typedef struct database {
	dict *keys, *expires;
	int number;
	double average_ttl;
	struct client *clients;
} database;

typedef struct client {
	struct client *next;
	sds query;
	int argc;
	object **argv;
	database *selected;
	char *reply;
	size_t reply_length;
} client;

static unsigned clock_ticks;

static object *object_create(unsigned type, unsigned encoding, void *value)
{
	object *created = NEW(object);

	created->type = type;
	created->encoding = encoding;
	created->lru = clock_ticks++;
	created->references = 1;
	created->value = value;
	return created;
}

static object *string_create(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (!*end && number >= 0)
		return object_create(TYPE_STRING, ENCODING_INTEGER, (void *)number);
	return object_create(TYPE_STRING, ENCODING_RAW, sds_new(text));
}

static object *packed_create(unsigned count)
{
	size_t size = 0, allocated = 16;
	unsigned char *bytes = (unsigned char *)NEW_TEXT(allocated);

	for (unsigned i = 0; i < count; i++) {
		if (size + 6 > allocated) {
			allocated *= 2;
			bytes = (unsigned char *)RENEW_TEXT(bytes, allocated);
		}
		bytes[size++] = 4;
		memcpy(bytes + size, &i, 4);
		size += 4;
	}
	bytes[size] = 0xff;
	return object_create(TYPE_LIST, ENCODING_PACKED, bytes);
}

static object *hash_create(unsigned fields)
{
	dict *table = dict_create(&by_sds);
	char text[40];

	for (unsigned i = 0; i < fields; i++) {
		snprintf(text, sizeof(text), "field:%u", i);
		dict_entry *entry = dict_add(table, sds_new(text));
		snprintf(text, sizeof(text), "value of field %u", i * 7);
		entry->v.value = sds_new(text);
	}
	return object_create(TYPE_HASH, ENCODING_TABLE, table);
}

static object *sorted_create(unsigned members)
{
	sorted_set *set = NEW(sorted_set);
	char text[40];

	set->scores = dict_create(&by_sds);
	set->list = skip_create();
	for (unsigned i = 0; i < members; i++) {
		snprintf(text, sizeof(text), "player:%u", i * 7919 % 1000);
		sds member = sds_new(text);
		dict_add(set->scores, member)->v.real = i * 31 % 97;
		skip_insert(set->list, i * 31 % 97, member);
	}
	return object_create(TYPE_SORTED, ENCODING_SKIP, set);
}

static object *value_create(unsigned i)
{
	char text[64];

	switch (i % 10) {
	case 0:
		return hash_create(3 + i % 9);
	case 1:
		return sorted_create(2 + i % 20);
	case 2:
	case 3:
		return packed_create(i % 40);
	case 4:
		snprintf(text, sizeof(text), "%u", i);
		return string_create(text);
	default:
		snprintf(text, sizeof(text), "a string that is the value of %u", i);
		return string_create(text);
	}
}

static void serve(client *of, const char *command)
{
	char *copy = strdup(command), *save, *word;
	dict_entry *entry;

	sds_header(of->query)->length = 0;
	of->query = sds_append(of->query, command);
	of->argc = 0;
	of->argv = NEW_ARRAY(object *, 8);
	for (word = strtok_r(copy, " ", &save); word && of->argc < 8;
	     word = strtok_r(NULL, " ", &save))
		of->argv[of->argc++] = string_create(word);
	free(copy);
	entry = dict_find(of->selected->keys, of->argv[1]->value);
	of->reply_length = (size_t)snprintf(of->reply, 256, "%s", entry ? "+found" : "-none");
}

static client *client_create(database *selected)
{
	client *created = NEW_ZEROED(client);

	created->query = sds_new("");
	created->selected = selected;
	created->reply = NEW_TEXT(256);
	created->next = selected->clients;
	selected->clients = created;
	return created;
}

static database databases[4];

int main(void)
{
	char text[64];

	for (int i = 0; i < 4; i++) {
		databases[i].number = i;
		databases[i].keys = dict_create(&by_sds);
		databases[i].expires = dict_create(&by_sds);
	}
	for (unsigned i = 0; i < 1100; i++) {
		sds key;
		snprintf(text, sizeof(text), "key:%u", i);
		key = sds_new(text);
		dict_add(databases[i % 2].keys, key)->v.value = value_create(i);
		if (i % 5 == 0) // shares the key
			dict_add(databases[i % 2].expires, key)->v.number = 1700000000000 + i;
	}
	for (unsigned i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "GET key:%u WITH some arguments", i * 10);
		serve(client_create(&databases[i % 4]), text);
	}
	sds_free(databases[0].clients->query);
	databases[0].clients->query = sds_new("PING");
	truth_capture();
	printf("%s, %ld\n", databases[0].clients->reply, databases[1].keys->rehash);
	return 0;
}
