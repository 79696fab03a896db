// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables of anything: keys and values lie in arrays, to which void pointers lead. A table has the functions that
 * free its keys and values, and whoever has a table knows what is in it.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	FILES = 1500,
	USERS = 120,
	LEAST_SLOTS = 8,
};

struct table {
	size_t slots, used;
	unsigned mask, flags;
	void *keys;
	unsigned *hashes;
	void *values; // the keys, of a set
	unsigned (*hash)(const void *key);
	int (*equal)(const void *a, const void *b);
	int references;
	void (*free_key)(void *key);
	void (*free_value)(void *value);
};

struct file {
	char *path;
	uint64_t modified, size;
	struct user *owner;
	unsigned mode;
};

struct user {
	char *name;
	struct table *groups; // a set of texts
	struct table *limits; // texts by text
	struct array *logins; // times
	unsigned id;
};

struct volume {
	char *label;
	double used, total;
	struct table *devices; // of devices by their name
};

struct device {
	uint64_t blocks, bad;
	float speed[4];
	char *model;
};

struct store {
	struct table *files, *users, *volumes;
	char *name;
};

// All that users of growing arrays of values see of them.
struct array {
	char *data;
	unsigned length;
};

struct growing_array {
	unsigned char *data;
	unsigned length, capacity, element_size;
	unsigned is_zeroed : 1;
	int references;
	void (*clear)(void *element);
};

static struct store *store;

static unsigned hash_text(const void *key)
{
	unsigned hash = 5381;

	for (const char *text = key; *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash < 2 ? 2 : hash;
}

static int equal_texts(const void *a, const void *b)
{
	return strcmp(a, b) == 0;
}

static void free_text(void *text)
{
	FREE(text);
}

static struct table *make_table(void (*free_value)(void *))
{
	struct table *table = NEW_ZEROED(struct table);

	table->slots = LEAST_SLOTS;
	table->mask = LEAST_SLOTS - 1;
	table->hash = hash_text;
	table->equal = equal_texts;
	table->references = 1;
	table->free_key = free_text;
	table->free_value = free_value;
	table->keys = NEW_ZEROED_ARRAY(void *, LEAST_SLOTS);
	table->hashes = NEW_ZEROED_ARRAY(unsigned, LEAST_SLOTS);
	table->values = table->keys;
	return table;
}

static size_t find_slot(const struct table *table, const void *key, unsigned hash)
{
	size_t slot = hash & table->mask;

	while (table->hashes[slot] != 0 &&
	       (table->hashes[slot] != hash || !table->equal(((void **)table->keys)[slot], key)))
		slot = (slot + 1) & table->mask;
	return slot;
}

static void grow(struct table *table)
{
	void **keys = table->keys, **values = table->values;
	unsigned *hashes = table->hashes;
	size_t slots = table->slots;

	table->slots *= 2;
	table->mask = (unsigned)table->slots - 1;
	table->keys = NEW_ZEROED_ARRAY(void *, table->slots);
	table->hashes = NEW_ZEROED_ARRAY(unsigned, table->slots);
	table->values = values == keys ? table->keys : NEW_ZEROED_ARRAY(void *, table->slots);
	for (size_t i = 0; i < slots; i++) {
		size_t to;

		if (hashes[i] == 0)
			continue;
		to = find_slot(table, keys[i], hashes[i]);
		table->hashes[to] = hashes[i];
		((void **)table->keys)[to] = keys[i];
		((void **)table->values)[to] = values[i];
	}
	if (values != keys)
		FREE(values);
	FREE(keys);
	FREE(hashes);
}

static void insert(struct table *table, void *key, void *value)
{
	unsigned hash = table->hash(key);
	size_t slot;

	if (table->used * 4 >= table->slots * 3)
		grow(table);
	slot = find_slot(table, key, hash);
	if (table->hashes[slot] != 0) {
		table->free_key(key);
		return;
	}
	if (value != key && table->values == table->keys) {
		table->values = NEW_ZEROED_ARRAY(void *, table->slots);
		memcpy(table->values, table->keys, table->slots * sizeof(void *));
	}
	table->used++;
	table->hashes[slot] = hash;
	((void **)table->keys)[slot] = key;
	((void **)table->values)[slot] = value;
}

static void *look_up(const struct table *table, const char *key)
{
	size_t slot = find_slot(table, key, hash_text(key));

	return table->hashes[slot] ? ((void **)table->values)[slot] : NULL;
}

static void free_table(struct table *table)
{
	for (size_t i = 0; i < table->slots; i++) {
		if (table->hashes[i] == 0)
			continue;
		if (table->free_value && table->values != table->keys)
			table->free_value(((void **)table->values)[i]);
		table->free_key(((void **)table->keys)[i]);
	}
	if (table->values != table->keys)
		FREE(table->values);
	FREE(table->keys);
	FREE(table->hashes);
	FREE(table);
}

static char *format(const char *pattern, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), pattern, number);
	return TEXT(strdup(text));
}

__attribute__((noinline)) static struct array *make_array(unsigned element_size)
{
	struct growing_array *array = NEW_ZEROED(struct growing_array);

	array->element_size = element_size;
	array->references = 1;
	return (struct array *)array;
}

__attribute__((noinline)) static void append(struct array *array, const void *element)
{
	struct growing_array *own = (struct growing_array *)array;

	if (own->length == own->capacity) {
		own->capacity = own->capacity ? 2 * own->capacity : 4;
		own->data = (unsigned char *)RENEW_TEXT(own->data,
							own->capacity * (size_t)own->element_size);
	}
	memcpy(own->data + own->length++ * own->element_size, element, own->element_size);
}

static void free_array(struct array *array)
{
	struct growing_array *own = (struct growing_array *)array;

	FREE(own->data);
	FREE(own);
}

static void free_file(void *value)
{
	struct file *file = value;

	FREE(file->path);
	FREE(file);
}

static void free_user(void *value)
{
	struct user *user = value;

	FREE(user->name);
	free_table(user->groups);
	free_table(user->limits);
	free_array(user->logins);
	FREE(user);
}

static void free_device(void *value)
{
	struct device *device = value;

	FREE(device->model);
	FREE(device);
}

static void free_volume(void *value)
{
	struct volume *volume = value;

	FREE(volume->label);
	free_table(volume->devices);
	FREE(volume);
}

static struct user *make_user(unsigned number)
{
	struct user *user = NEW_ZEROED(struct user);

	user->name = format("user %u", number);
	user->id = 1000 + number;
	user->groups = make_table(NULL);
	for (unsigned i = 0; i < number % 7 + 1; i++) {
		char *group = format("group %u", (number + i) % 30);

		insert(user->groups, group, group);
	}
	user->logins = make_array(sizeof(uint64_t));
	for (uint64_t i = 0; i < number % 10 + 1; i++)
		append(user->logins, &(uint64_t){ 1700000000 + i * 3600 });
	user->limits = make_table(free_text);
	for (unsigned i = 0; i < number % 5 + 1; i++)
		insert(user->limits, format("limit %u", i),
		       format("%u kilobytes", number * 100 + i));
	return user;
}

static void add_files(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		struct file *file = NEW_ZEROED(struct file);
		char owner[32];

		snprintf(owner, sizeof(owner), "user %u", (unsigned)(next() % USERS));
		file->path = format("/srv/share/document-%u.txt", i);
		file->modified = 1700000000 + i * 60;
		file->size = next() % 100000;
		file->mode = 0644;
		file->owner = look_up(store->users, owner);
		insert(store->files, format("document-%u.txt", i), file);
	}
}

static void add_volumes(void)
{
	for (unsigned i = 0; i < 40; i++) {
		struct volume *volume = NEW_ZEROED(struct volume);

		volume->label = format("volume %u", i);
		volume->total = 1e12;
		volume->used = 1e9 * i;
		volume->devices = make_table(free_device);
		for (unsigned j = 0; j < i % 9 + 1; j++) {
			struct device *device = NEW_ZEROED(struct device);

			device->blocks = 1000000 + i;
			device->bad = j;
			device->speed[0] = 1.5f;
			device->model = format("model %u", i * 10 + j);
			insert(volume->devices, format("sd%u", j), device);
		}
		insert(store->volumes, format("/mnt/%u", i), volume);
	}
}

int main(void)
{
	store = NEW_ZEROED(struct store);
	store->name = TEXT(strdup("the store"));
	store->users = make_table(free_user);
	store->files = make_table(free_file);
	store->volumes = make_table(free_volume);
	for (unsigned i = 0; i < USERS; i++) {
		struct user *user = make_user(i);

		insert(store->users, format("user %u", i), user);
	}
	add_files();
	add_volumes();
	truth_capture();
	free_table(store->files);
	free_table(store->users);
	free_table(store->volumes);
	return 0;
}
