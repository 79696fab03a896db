// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A cache by recent use, as of a proxy: keys at the end of entries, objects counted by
 * reference and shared, text by asprintf, expiry in a heap of pointers.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct buffer {
	char *data;
	size_t length, allocated;
};

struct object {
	unsigned references;
	int status;
	char *content_type;
	struct buffer body;
	struct header {
		const char *name;
		char *value;
	} * headers;
	size_t header_count;
};

struct entry {
	struct entry *newer, *older;
	struct entry *chain;
	struct object *object;
	time_t expires;
	uint32_t hash;
	uint16_t heap_index;
	uint8_t key_length;
	char key[1];
};

struct cache {
	struct entry **buckets;
	size_t bucket_count;
	size_t count, limit;
	struct entry *newest, *oldest;
	struct entry **heap;
	size_t hits, misses;
	void (*evicted)(const char *key, void *user_data);
	void *user_data;
};

struct statistics {
	unsigned long evictions;
	char *last;
	double rate;
};

static void buffer_append(struct buffer *buffer, const char *text, size_t length)
{
	if (buffer->length + length > buffer->allocated) {
		buffer->allocated = (buffer->length + length) * 2;
		buffer->data = RENEW_TEXT(buffer->data, buffer->allocated);
	}
	memcpy(buffer->data + buffer->length, text, length);
	buffer->length += length;
}

static void add_header(struct object *object, const char *name, char *value)
{
	object->headers = RENEW_ARRAY(struct header, object->headers, object->header_count + 1);
	object->headers[object->header_count].name = name;
	object->headers[object->header_count++].value = value;
}

static struct object *fetch(const char *url, unsigned number)
{
	struct object *object = NEW_ZEROED(struct object);
	char *tag, *date;

	object->references = 1;
	object->status = number % 17 ? 200 : 404;
	object->content_type = TEXT(strdup(number % 2 ? "text/html" : "image/svg+xml"));
	for (unsigned i = 0; i < 2 + number % 7; i++) {
		buffer_append(&object->body, "<p>", 3);
		buffer_append(&object->body, url, strlen(url));
		buffer_append(&object->body, "</p>\n", 5);
	}
	if (asprintf(&tag, "\"%08x\"", number * 2654435761u) < 0 ||
	    asprintf(&date, "Thu, %02u Jan 1970", number % 28 + 1) < 0)
		exit(1);
	add_header(object, "ETag", TEXT(tag));
	add_header(object, "Date", TEXT(date));
	if (number % 3 == 0)
		add_header(object, "Vary", TEXT(strdup("Accept")));
	return object;
}

static void object_release(struct object *object)
{
	if (--object->references)
		return;
	for (size_t i = 0; i < object->header_count; i++)
		FREE(object->headers[i].value);
	FREE(object->headers);
	FREE(object->content_type);
	FREE(object->body.data);
	FREE(object);
}

static uint32_t hash_key(const char *key)
{
	uint32_t hash = 2166136261u;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619;
	return hash;
}

static void unlink_entry(struct cache *cache, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct cache *cache, struct entry *entry)
{
	entry->older = cache->newest;
	entry->newer = NULL;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void heap_place(struct cache *cache, struct entry *entry, size_t at)
{
	while (at && cache->heap[(at - 1) / 2]->expires > entry->expires) {
		cache->heap[at] = cache->heap[(at - 1) / 2];
		cache->heap[at]->heap_index = (uint16_t)at;
		at = (at - 1) / 2;
	}
	cache->heap[at] = entry;
	entry->heap_index = (uint16_t)at;
}

static void heap_remove(struct cache *cache, struct entry *entry)
{
	struct entry *last = cache->heap[--cache->count];

	cache->heap[cache->count] = NULL;
	if (last != entry)
		heap_place(cache, last, entry->heap_index);
}

static void evict(struct cache *cache, struct entry *entry)
{
	struct entry **at = &cache->buckets[entry->hash % cache->bucket_count];

	while (*at != entry)
		at = &(*at)->chain;
	*at = entry->chain;
	unlink_entry(cache, entry);
	heap_remove(cache, entry);
	cache->evicted(entry->key, cache->user_data);
	object_release(entry->object);
	FREE(entry);
}

static struct entry *insert(struct cache *cache, const char *key, struct object *object)
{
	size_t length = strlen(key);
	struct entry *entry = NEW_FLEXIBLE(struct entry, offsetof(struct entry, key) + length + 1);

	if (cache->count == cache->limit)
		evict(cache, cache->oldest);
	memcpy(entry->key, key, length + 1);
	entry->key_length = (uint8_t)length;
	entry->hash = hash_key(key);
	entry->chain = cache->buckets[entry->hash % cache->bucket_count];
	cache->buckets[entry->hash % cache->bucket_count] = entry;
	entry->object = object;
	entry->expires = 1700000000 + entry->hash % 3600;
	link_newest(cache, entry);
	heap_place(cache, entry, cache->count++);
	return entry;
}

static struct object *get(struct cache *cache, const char *key, unsigned number)
{
	struct entry *entry = cache->buckets[hash_key(key) % cache->bucket_count];

	while (entry && strcmp(entry->key, key))
		entry = entry->chain;
	if (entry) {
		cache->hits++;
		unlink_entry(cache, entry);
		link_newest(cache, entry);
	} else {
		cache->misses++;
		entry = insert(cache, key, fetch(key, number));
	}
	entry->object->references++;
	return entry->object;
}

static void count_eviction(const char *key, void *user_data)
{
	struct statistics *statistics = user_data;

	statistics->evictions++;
	FREE(statistics->last);
	statistics->last = TEXT(strdup(key));
}

static struct cache *cache_create(size_t limit)
{
	struct cache *cache = NEW_ZEROED(struct cache);
	struct statistics *statistics = NEW_ZEROED(struct statistics);

	cache->bucket_count = limit / 2;
	cache->limit = limit;
	cache->buckets = NEW_ZEROED_ARRAY(struct entry *, cache->bucket_count);
	cache->heap = NEW_ZEROED_ARRAY(struct entry *, limit + 1);
	cache->evicted = count_eviction;
	cache->user_data = statistics;
	return cache;
}

int main(void)
{
	struct cache *cache = cache_create(800);
	struct object *pinned[10];
	char key[64];

	for (unsigned i = 0; i < 5000; i++) {
		struct object *object;
		snprintf(key, sizeof(key), "/pages/%u/%s.html", i * 37 % 1301,
			 i % 2 ? "index" : "a-longer-name");
		object = get(cache, key, i);
		if (i % 500 == 0)
			pinned[i / 500] = object;
		else
			object_release(object);
	}
	truth_capture();
	printf("%zu hits, %zu misses, %d\n", cache->hits, cache->misses, pinned[3]->status);
	return 0;
}
