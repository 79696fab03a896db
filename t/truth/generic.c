// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Containers that know nothing of what they hold: a hash table of void *, a list of void *
 * data, a growing array of void *; and what an application keeps in them.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef struct list_node {
	void *data;
	struct list_node *next, *prev;
} list_node;

typedef struct {
	list_node *head, *tail;
	size_t length;
	void (*destroy)(void *data);
} list;

typedef struct hash_entry {
	void *key, *value;
	unsigned hash;
	struct hash_entry *next;
} hash_entry;

typedef struct hash_table {
	hash_entry **buckets;
	size_t size, used;
	unsigned (*hash)(const void *key);
	bool (*equal)(const void *left, const void *right);
} hash_table;

typedef struct {
	void **items;
	size_t count, allocated;
} ptr_array;

// --- containers

static list *list_new(void (*destroy)(void *))
{
	list *created = NEW_ZEROED(list);

	created->destroy = destroy;
	return created;
}

static void list_append(list *into, void *data)
{
	list_node *node = NEW(list_node);

	node->data = data;
	node->next = NULL;
	node->prev = into->tail;
	*(into->tail ? &into->tail->next : &into->head) = node;
	into->tail = node;
	into->length++;
}

static void *list_shift(list *from)
{
	list_node *first = from->head;
	void *data = first->data;

	from->head = first->next;
	*(from->head ? &from->head->prev : &from->tail) = NULL;
	from->length--;
	FREE(first);
	return data;
}

static hash_table *hash_new(unsigned (*hash)(const void *),
			    bool (*equal)(const void *, const void *))
{
	hash_table *table = NEW(hash_table);

	table->size = 64;
	table->used = 0;
	table->buckets = NEW_ZEROED_ARRAY(hash_entry *, table->size);
	table->hash = hash;
	table->equal = equal;
	return table;
}

static void hash_resize(hash_table *table)
{
	size_t size = table->size * 2;
	hash_entry **buckets = NEW_ZEROED_ARRAY(hash_entry *, size);

	for (size_t i = 0; i < table->size; i++)
		for (hash_entry *entry = table->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			entry->next = buckets[entry->hash % size];
			buckets[entry->hash % size] = entry;
		}
	FREE(table->buckets);
	table->buckets = buckets;
	table->size = size;
}

static void *hash_get(hash_table *table, const void *key)
{
	unsigned hash = table->hash(key);

	for (hash_entry *entry = table->buckets[hash % table->size]; entry; entry = entry->next)
		if (entry->hash == hash && table->equal(entry->key, key))
			return entry->value;
	return NULL;
}

static void hash_put(hash_table *table, void *key, void *value)
{
	hash_entry *entry;

	if (table->used++ > table->size)
		hash_resize(table);
	entry = NEW(hash_entry);
	entry->key = key;
	entry->value = value;
	entry->hash = table->hash(key);
	entry->next = table->buckets[entry->hash % table->size];
	table->buckets[entry->hash % table->size] = entry;
}

static void ptr_array_add(ptr_array *array, void *item)
{
	if (array->count == array->allocated) {
		array->allocated = array->allocated ? array->allocated * 2 : 8;
		array->items = RENEW_ARRAY(void *, array->items, array->allocated);
	}
	array->items[array->count++] = item;
}

// --- application

struct account {
	char *owner;
	long cents;
	list *history;
};

struct transfer {
	time_t when;
	struct account *from, *to;
	long cents;
};

struct customer {
	unsigned id;
	char *name, *email;
	ptr_array accounts;
};

struct audit {
	uint64_t serial;
	int severity;
	char text[48];
};

static unsigned string_hash(const void *key)
{
	unsigned hash = 5381;

	for (const char *at = key; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	return hash;
}

static bool string_equal(const void *left, const void *right)
{
	return !strcmp(left, right);
}

static unsigned id_hash(const void *key)
{
	return *(const unsigned *)key * 2654435761u;
}

static bool id_equal(const void *left, const void *right)
{
	return *(const unsigned *)left == *(const unsigned *)right;
}

static hash_table *by_name, *by_id;
static list *audits;

static void record(int severity, const char *what, unsigned id)
{
	static uint64_t serial;
	struct audit *audit = NEW(struct audit);

	audit->serial = ++serial;
	audit->severity = severity;
	snprintf(audit->text, sizeof(audit->text), "%s %u", what, id);
	list_append(audits, audit);
	if (audits->length > 500) {
		struct audit *oldest = list_shift(audits);
		FREE(oldest);
	}
}

static struct account *account_open(struct customer *customer)
{
	struct account *account = NEW(struct account);

	account->owner = TEXT(strdup(customer->name));
	account->cents = 10000;
	account->history = list_new(free);
	ptr_array_add(&customer->accounts, account);
	return account;
}

static void customer_create(unsigned id)
{
	struct customer *customer = NEW_ZEROED(struct customer);

	customer->id = id;
	if (asprintf(&customer->name, "customer %u", id) < 0 ||
	    asprintf(&customer->email, "c%u@bank.example", id) < 0)
		exit(1);
	TEXT(customer->name);
	TEXT(customer->email);
	for (unsigned i = 0; i <= id % 3; i++)
		account_open(customer);
	hash_put(by_name, customer->name, customer);
	hash_put(by_id, &customer->id, customer);
	record(1, "created", id);
}

static void transfer(unsigned from_id, unsigned to_id, long cents)
{
	struct customer *from = hash_get(by_id, &from_id), *to = hash_get(by_id, &to_id);
	struct transfer *transfer;

	if (!from || !to) {
		record(3, "unknown", from ? to_id : from_id);
		return;
	}
	transfer = NEW(struct transfer);
	transfer->when = 1700000000 + from_id;
	transfer->from = from->accounts.items[from_id % from->accounts.count];
	transfer->to = to->accounts.items[0];
	transfer->cents = cents;
	transfer->from->cents -= cents;
	transfer->to->cents += cents;
	list_append(transfer->from->history, transfer);
	list_append(transfer->to->history, transfer);
}

int main(void)
{
	long sum = 0;

	by_name = hash_new(string_hash, string_equal);
	by_id = hash_new(id_hash, id_equal);
	audits = list_new(free);
	for (unsigned i = 0; i < 700; i++)
		customer_create(i);
	for (unsigned i = 0; i < 2500; i++)
		transfer(i % 701, i * 31 % 703, (long)(i % 50));
	truth_capture();
	for (list_node *node = audits->head; node; node = node->next)
		sum += ((struct audit *)node->data)->severity;
	printf("%ld %s\n", sum, ((struct customer *)hash_get(by_name, "customer 7"))->email);
	return 0;
}
