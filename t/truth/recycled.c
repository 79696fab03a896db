// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An event loop whose objects come from caches: sizes are rounded up, types of one rounded size
 * share a cache, and what is given back is handed out again as another type. So a block is larger than its
 * object by a constant, the code that allocated it may have made something else, and many pointers
 * lead to the links inside objects.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	ROUND = 64,
	CACHES = 8,
	CLIENTS = 1200,
};

struct link {
	struct link *next, *previous;
};

struct tree_node {
	struct tree_node *branches[2];
	struct tree_node *parent;
	uint32_t key, bit;
};

struct task {
	uint16_t state, nice;
	uint32_t calls;
	struct task *(*process)(struct task *task, void *context);
	void *context;
	struct tree_node wait; // in the tree of times
	struct link run;       // in the queue
	uint64_t expires, woken, used;
};

struct wake_up {
	uint32_t state, calls;
	void (*process)(void *context);
	void *context;
	struct link link;
	int thread;
};

struct client {
	struct link by_listener;
	struct wake_up *wake_up;
	struct task *task;
	int descriptor;
	uint32_t flags;
	struct link streams;
	uint64_t in, out;
	struct listener *listener;
};

struct stream {
	struct client *client;
	struct link by_client;
	struct task *task;
	uint64_t started, sent;
	uint32_t status;
	uint16_t method, retries;
	struct tree_node by_number;
	double rate;
};

struct session {
	struct link all;
	struct client *client;
	uint64_t begun, idle;
	struct wake_up *waits[8];
	char peer[46];
	uint16_t port;
};

struct listener {
	struct link clients;
	const char *name;
	int port;
};

struct cache {
	size_t size;
	void *idle; // a list through the first words
	unsigned live;
};

static struct cache caches[CACHES];
static struct listener listener = { { &listener.clients, &listener.clients }, "front", 80 };
static struct link queue = { &queue, &queue };
static struct link sessions = { &sessions, &sessions };
static struct tree_node *times, *numbers;

static void *cache_get(size_t size)
{
	struct cache *cache = &caches[(size - 1) / ROUND];
	void *object = cache->idle;

	cache->live++;
	if (object) {
		cache->idle = *(void **)object;
		return object;
	}
	cache->size = ((size - 1) / ROUND + 1) * ROUND;
	return malloc(cache->size);
}

static void cache_put(void *object, size_t size)
{
	struct cache *cache = &caches[(size - 1) / ROUND];

	*(void **)object = cache->idle;
	cache->idle = object;
	cache->live--;
	truth_forget(object);
}

static void link_add(struct link *list, struct link *item)
{
	item->next = list;
	item->previous = list->previous;
	list->previous->next = item;
	list->previous = item;
}

static void link_remove(struct link *item)
{
	item->previous->next = item->next;
	item->next->previous = item->previous;
	item->next = item->previous = item;
}

static void tree_add(struct tree_node **root, struct tree_node *node, uint32_t key)
{
	struct tree_node *parent = NULL;

	while (*root) {
		parent = *root;
		root = &parent->branches[key > parent->key];
	}
	*node = (struct tree_node){ { NULL, NULL }, parent, key, 31 };
	*root = node;
}

static void tree_remove_leaf(struct tree_node **root, struct tree_node *node)
{
	if (node->parent)
		node->parent->branches[node->parent->branches[1] == node] = NULL;
	else
		*root = NULL;
}

static struct task *client_expire(struct task *task, void *context)
{
	struct client *client = context;

	client->flags |= 1;
	task->calls++;
	return task;
}

static void client_io(void *context)
{
	struct client *client = context;

	client->in++;
}

static struct task *task_new(struct task *(*process)(struct task *, void *), void *context)
{
	struct task *task = OF(struct task, cache_get(sizeof(*task)));

	memset(task, 0, sizeof(*task));
	task->process = process;
	task->context = context;
	task->run = (struct link){ &task->run, &task->run };
	return task;
}

static struct wake_up *wake_up_new(void (*process)(void *), void *context)
{
	struct wake_up *wake_up = OF(struct wake_up, cache_get(sizeof(*wake_up)));

	*wake_up = (struct wake_up){ 0, 1, process, context, { NULL, NULL }, -1 };
	wake_up->link = (struct link){ &wake_up->link, &wake_up->link };
	return wake_up;
}

static struct client *client_new(int number)
{
	struct client *client = OF(struct client, cache_get(sizeof(*client)));

	memset(client, 0, sizeof(*client));
	client->descriptor = number;
	client->listener = &listener;
	link_add(&listener.clients, &client->by_listener);
	client->streams = (struct link){ &client->streams, &client->streams };
	client->wake_up = wake_up_new(client_io, client);
	client->task = task_new(client_expire, client);
	client->task->expires = (uint64_t)number * 1000;
	tree_add(&times, &client->task->wait, (uint32_t)number * 2654435761U);
	if (number % 3 == 0)
		link_add(&queue, &client->task->run);
	return client;
}

static void stream_new(struct client *client, uint32_t number)
{
	struct stream *stream = OF(struct stream, cache_get(sizeof(*stream)));

	memset(stream, 0, sizeof(*stream));
	stream->client = client;
	stream->task = client->task;
	stream->started = number;
	stream->rate = number / 8.0;
	link_add(&client->streams, &stream->by_client);
	tree_add(&numbers, &stream->by_number, number * 40503U);
}

static void session_new(struct client *client)
{
	struct session *session = OF(struct session, cache_get(sizeof(*session)));

	memset(session, 0, sizeof(*session));
	session->client = client;
	session->waits[0] = client->wake_up;
	session->port = (uint16_t)client->descriptor;
	snprintf(session->peer, sizeof(session->peer), "10.0.0.%d", client->descriptor % 256);
	link_add(&sessions, &session->all);
}

static bool is_leaf(const struct tree_node *node)
{
	return !node->branches[0] && !node->branches[1];
}

// Closes a client without streams, if its task is a leaf of the tree.
static void client_close(struct client *client)
{
	if (client->descriptor % 7 == 3 || client->streams.next != &client->streams ||
	    !is_leaf(&client->task->wait))
		return;
	tree_remove_leaf(&times, &client->task->wait);
	link_remove(&client->task->run);
	link_remove(&client->by_listener);
	cache_put(client->task, sizeof(*client->task));
	cache_put(client->wake_up, sizeof(*client->wake_up));
	cache_put(client, sizeof(*client));
}

static struct client *client_of(struct link *link)
{
	return (struct client *)((char *)link - offsetof(struct client, by_listener));
}

// Every fourth client is closed, some get a stream or a session, and new ones come.
static void turn(int round)
{
	int number = 0;

	for (struct link *at = listener.clients.next, *next; at != &listener.clients; at = next) {
		next = at->next;
		if (++number % 4 == round)
			client_close(client_of(at));
	}
	number = 0;
	for (struct link *at = listener.clients.next; at != &listener.clients; at = at->next) {
		if (++number % 5 == 0)
			stream_new(client_of(at), (uint32_t)number);
		else if (number % 7 == 0)
			session_new(client_of(at));
	}
	for (int i = 0; i < CLIENTS / 20; i++)
		client_new(CLIENTS + round * 1000 + i);
}

int main(void)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = client_new(i);

		if (i % 60 == 3) {
			stream_new(client, (uint32_t)(CLIENTS + i));
			session_new(client);
		}
	}
	for (int round = 0; round < 3; round++)
		turn(round);
	truth_capture();
	return listener.port == (int)caches[0].live;
}
