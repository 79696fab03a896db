// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lists and maps of anything, in which there are several structs that size and contents do not tell apart. Code that puts a
 * struct into a container, or takes one from it, has both: a member, or a variable, that leads to the container or is it.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

enum {
	BUCKETS = 64,
	VALUES = 250,
};

// --- containers

struct link {
	struct link *next;
	void *data;
};

struct list {
	struct link *first, *last;
	size_t count;
};

struct entry {
	struct entry *next;
	char *key;
	void *value;
};

struct map {
	struct entry **buckets; // [BUCKETS]
	size_t count;
};

static OUTLINE void list_append(struct list *list, void *data)
{
	struct link *link = NEW(struct link);

	link->next = NULL;
	link->data = data;
	if (list->last)
		list->last->next = link;
	else
		list->first = link;
	list->last = link;
	list->count++;
}

static OUTLINE void *list_shift(struct list *list)
{
	struct link *first = list->first;
	void *data;

	if (!first)
		return NULL;
	data = first->data;
	list->first = first->next;
	if (!list->first)
		list->last = NULL;
	FREE(first);
	return data;
}

static unsigned hash(const char *key)
{
	unsigned result = 5381;

	while (*key)
		result = result * 33 + (unsigned char)*key++;
	return result % BUCKETS;
}

static OUTLINE struct map *map_new(void)
{
	struct map *map = NEW_ZEROED(struct map);

	map->buckets = NEW_ZEROED_ARRAY(struct entry *, BUCKETS);
	return map;
}

static OUTLINE void map_put(struct map *map, const char *key, void *value)
{
	struct entry **bucket = &map->buckets[hash(key)];
	struct entry *entry = NEW(struct entry);

	entry->key = TEXT(strdup(key));
	entry->value = value;
	entry->next = *bucket;
	*bucket = entry;
	map->count++;
}

static OUTLINE void *map_get(const struct map *map, const char *key)
{
	for (const struct entry *entry = map->buckets[hash(key)]; entry; entry = entry->next) {
		if (strcmp(entry->key, key) == 0)
			return entry->value;
	}
	return NULL;
}

// --- what is in them: all alike

struct client {
	uint64_t number, since;
	double balance;
	uint64_t orders[6];
};

struct folder {
	uint64_t label, pages;
	double weight;
	uint64_t sheets[6];
};

struct letter {
	uint64_t stamp, sender;
	double postage;
	uint64_t stops[6];
};

struct visit {
	uint64_t begin, end;
	double fee;
	uint64_t rooms[6];
};

struct errand {
	uint64_t due, distance;
	double reward;
	uint64_t streets[6];
};

struct clerk {
	uint64_t desk, grade;
	double wage;
	uint64_t hours[6];
};

struct office { // has all but errands and clerks
	char name[24];
	struct map *clients, *folders;
	struct list letters;
	struct list visits;
};

static struct office *office;
static struct list errands;
static struct map *clerks;

static OUTLINE struct client *client_new(unsigned i)
{
	struct client *client = NEW_ZEROED(struct client);

	client->number = i;
	client->balance = i * 0.5;
	client->orders[i % 6] = i;
	return client;
}

static OUTLINE void folder_add(struct office *to, const char *key, unsigned i)
{
	struct folder *folder = NEW_ZEROED(struct folder);

	folder->label = i;
	folder->weight = i / 8.0;
	folder->sheets[i % 6] = i;
	map_put(to->folders, key, folder);
}

static OUTLINE void *letter_new(unsigned i)
{
	struct letter *letter = NEW_ZEROED(struct letter);

	letter->stamp = i;
	letter->postage = 0.5 + i;
	letter->stops[i % 6] = i;
	return (char *)letter + 0 * i;
}

static OUTLINE double letter_free(struct letter *letter)
{
	double postage = letter->postage;

	FREE(letter);
	return postage;
}

static OUTLINE void visit_add(struct office *to, unsigned i)
{
	struct visit *visit = NEW_ZEROED(struct visit);

	visit->begin = i;
	visit->fee = 3.0 * i;
	visit->rooms[i % 6] = i;
	list_append(&to->visits, visit);
}

static OUTLINE void *errand_new(unsigned i)
{
	struct errand *errand = NEW_ZEROED(struct errand);

	errand->due = i;
	errand->reward = i / 16.0;
	errand->streets[i % 6] = i;
	return (char *)errand + 0 * i;
}

static OUTLINE double errand_run(void)
{
	struct errand *errand = list_shift(&errands);
	double reward = errand->reward + (double)errand->due;

	FREE(errand);
	return reward;
}

static OUTLINE void *clerk_new(unsigned i)
{
	struct clerk *clerk = NEW_ZEROED(struct clerk);

	clerk->desk = i;
	clerk->wage = 100.0 + i;
	clerk->hours[i % 6] = i;
	return (char *)clerk + 0 * i;
}

static OUTLINE double clerk_wage(const char *name)
{
	const struct clerk *clerk = map_get(clerks, name);

	return clerk ? clerk->wage + (double)clerk->grade : 0;
}

int main(void)
{
	double sum = 0;
	char key[40];

	office = NEW_ZEROED(struct office);
	snprintf(office->name, sizeof(office->name), "the office");
	office->clients = map_new();
	office->folders = map_new();
	clerks = map_new();
	for (unsigned i = 0; i < VALUES; i++) {
		snprintf(key, sizeof(key), "number %u", i * 31);
		map_put(office->clients, key, client_new(i));
		folder_add(office, key, i);
		list_append(&office->letters, letter_new(i));
		visit_add(office, i);
		list_append(&errands, errand_new(i));
		map_put(clerks, key, clerk_new(i));
		sum += clerk_wage(key);
	}
	for (unsigned i = 0; i < 5; i++)
		sum += errand_run() + letter_free(list_shift(&office->letters));
	truth_capture();
	printf("%g\n", sum);
	return 0;
}
