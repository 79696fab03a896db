// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables whose links are the first member of what they hold, as macros make them: a void pointer to the value before and
 * behind, and the number that the key is hashed to. Two trees are linked by them, whose structs differ in their
 * last members; the same words are keys in both, so that their hashes come again.
 */
#include "t/truth/truth.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hash_table;

struct hash_link {
	struct hash_table *table;
	void *previous, *next; // values
	struct hash_link *previous_link, *next_link;
	const void *key;
	unsigned key_length, hash;
};

struct hash_bucket {
	struct hash_link *first;
	unsigned count, factor;
};

struct hash_table {
	struct hash_bucket *buckets;
	unsigned bucket_count, shift, items;
	struct hash_link *tail;
	ptrdiff_t link_offset;
	unsigned signature;
};

enum {
	BUCKETS = 32
};

struct message {
	struct message *next;
	char *topic;
	void *payload;
	long length;
	int quality;
	long id;
};

struct leaf {
	struct leaf *previous, *next;
	struct client *client;
	unsigned char quality;
};

// Who wants the messages of a topic.
struct level {
	struct hash_link link;
	struct level *parent, *children;
	struct leaf *leaves;
	struct share *shares;
	char *topic;
	uint16_t length;
};

// The last message of a topic.
struct kept {
	struct hash_link link;
	struct kept *parent, *children;
	struct message *message;
	char *topic;
	uint16_t length;
};

// Clients that take turns.
struct share {
	struct hash_link link;
	char *name;
	struct leaf *leaves;
};

struct client {
	char *id;
	int socket;
	struct hash_link link;
	struct level **levels;
	int level_count;
};

struct level *subscriptions;
struct kept *messages;
struct client *clients;

static unsigned hash_of(const char *key)
{
	unsigned hash = 0xfeedbeef;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 0x9e3779b1 ^ hash >> 15;
	return hash;
}

#define HASH_FIRST(head, added) \
	do { \
		(head) = (added); \
		(added)->link.table = NEW_ZEROED(struct hash_table); \
		(added)->link.table->buckets = NEW_ZEROED_ARRAY(struct hash_bucket, BUCKETS); \
		(added)->link.table->bucket_count = BUCKETS; \
		(added)->link.table->shift = 5; \
		(added)->link.table->signature = 0xa0111fe1; \
		(added)->link.table->link_offset = offsetof(__typeof__(*(added)), link); \
	} while (0)

#define HASH_NEXT(head, added) \
	do { \
		struct hash_link *tail = (head)->link.table->tail; \
		(added)->link.table = (head)->link.table; \
		(added)->link.previous = (char *)tail - (head)->link.table->link_offset; \
		tail->next = (added); \
	} while (0)

#define HASH_ADD(head, added, word) \
	do { \
		struct hash_bucket *bucket; \
		if (!(head)) \
			HASH_FIRST(head, added); \
		else \
			HASH_NEXT(head, added); \
		(added)->link.key = (word); \
		(added)->link.key_length = (unsigned)strlen(word); \
		(added)->link.hash = hash_of(word); \
		(head)->link.table->tail = &(added)->link; \
		(head)->link.table->items++; \
		bucket = &(head)->link.table->buckets[(added)->link.hash % BUCKETS]; \
		(added)->link.next_link = bucket->first; \
		if (bucket->first) \
			bucket->first->previous_link = &(added)->link; \
		bucket->first = &(added)->link; \
		bucket->count++; \
	} while (0)

#define HASH_FIND(head, word, found) \
	do { \
		struct hash_link *at = \
			(head) ? (head)->link.table->buckets[hash_of(word) % BUCKETS].first \
			       : NULL; \
		while (at && strcmp(at->key, word) != 0) \
			at = at->next_link; \
		(found) = at ? (void *)((char *)at - (head)->link.table->link_offset) : NULL; \
	} while (0)

static struct level *find_level(struct level *parent, const char *word)
{
	struct level *found;

	HASH_FIND(parent->children, word, found);
	if (found)
		return found;
	found = NEW_ZEROED(struct level);
	found->topic = TEXT(strdup(word));
	found->length = (uint16_t)strlen(word);
	found->parent = parent;
	HASH_ADD(parent->children, found, found->topic);
	return found;
}

static struct kept *find_kept(struct kept *parent, const char *word)
{
	struct kept *found;

	HASH_FIND(parent->children, word, found);
	if (found)
		return found;
	found = NEW_ZEROED(struct kept);
	found->topic = TEXT(strdup(word));
	found->length = (uint16_t)strlen(word);
	found->parent = parent;
	HASH_ADD(parent->children, found, found->topic);
	return found;
}

static const char *word_at(const char *path, int depth, char *word)
{
	while (depth-- > 0 && path)
		path = (path = strchr(path, '/')) ? path + 1 : NULL;
	if (!path)
		return NULL;
	snprintf(word, 40, "%.*s", (int)strcspn(path, "/"), path);
	return word;
}

static void subscribe(struct client *client, const char *topic, int i)
{
	struct level *level = subscriptions;
	struct leaf *leaf = NEW_ZEROED(struct leaf);
	char word[40];

	for (int depth = 0; word_at(topic, depth, word); depth++)
		level = find_level(level, word);
	leaf->client = client;
	leaf->quality = (unsigned char)(i % 3);
	leaf->next = level->leaves;
	if (level->leaves)
		level->leaves->previous = leaf;
	level->leaves = leaf;
	if (i % 97 == 0) {
		struct share *share = NEW_ZEROED(struct share);

		snprintf(word, sizeof(word), "share %d", i % 8);
		share->name = TEXT(strdup(word));
		HASH_ADD(level->shares, share, share->name);
	}
	client->levels[client->level_count++] = level;
}

static void keep(const char *topic, long id)
{
	struct kept *kept = messages;
	struct message *message;
	char word[40];

	for (int depth = 0; word_at(topic, depth, word); depth++)
		kept = find_kept(kept, word);
	if (kept->message)
		return;
	message = NEW_ZEROED(struct message);
	message->topic = TEXT(strdup(topic));
	message->payload = TEXT(strdup("a message that is kept"));
	message->length = 22;
	message->id = id;
	kept->message = message;
}

static void connect_client(int i)
{
	struct client *client = NEW_ZEROED(struct client);
	char text[80];

	snprintf(text, sizeof(text), "client-%d", i);
	client->id = TEXT(strdup(text));
	client->socket = i + 10;
	client->levels = NEW_ZEROED_ARRAY(struct level *, 30);
	HASH_ADD(clients, client, client->id);
	for (int k = 0; k < 30; k++) {
		if (k % 2)
			snprintf(text, sizeof(text), "site/%d/number/%d/temp", i % 20, k);
		else
			snprintf(text, sizeof(text), "dev/%d/%d", i % 10, k);
		subscribe(client, text, i * 30 + k);
	}
}

// How many have leaves, as what removes a client asks.
static long count_leaves(struct level *level)
{
	long count = 0;

	for (struct leaf *leaf = level->leaves; leaf; leaf = leaf->next)
		count++;
	for (struct level *child = level->children; child; child = child->link.next)
		count += count_leaves(child);
	return count;
}

static long count_kept(struct kept *kept)
{
	long count = kept->message != NULL;

	for (struct kept *child = kept->children; child; child = child->link.next)
		count += count_kept(child);
	return count;
}

int main(void)
{
	struct level *level = NEW_ZEROED(struct level);
	struct kept *kept = NEW_ZEROED(struct kept);
	char text[80];

	HASH_ADD(subscriptions, level, "all");
	HASH_ADD(messages, kept, "");
	for (int i = 0; i < 200; i++)
		connect_client(i);
	keep("info/version/number", 0);
	for (int i = 1; i < 600; i++) {
		snprintf(text, sizeof(text), i % 2 ? "site/%d/room/%d/temp" : "dev/%d/%d", i % 20,
			 i % 30);
		keep(text, i);
	}
	truth_capture();
	printf("%ld %ld\n", count_leaves(subscriptions), count_kept(messages));
	return 0;
}
