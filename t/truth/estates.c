// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Resources of a routing daemon, which a pool frees all at once: each begins with links to its neighbours in the pool
 * and a class with functions. Memory for anything else is a resource that ends in bytes. The program has pointers to
 * these bytes, as what it keeps there.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct link {
	struct link *next, *previous;
};

struct resource {
	struct link link;
	const struct class *class;
};

struct class
{
	const char *name;
	void (*free)(struct resource *);
	size_t (*size)(struct resource *);
};

struct pool {
	struct resource resource;
	struct link inside;
	const char *name;
};

struct piece {
	struct resource resource;
	size_t size;
	unsigned char data[];
};

struct timer {
	struct resource resource;
	void (*hook)(struct timer *);
	void *data;
	uint64_t expires;
};

static void free_piece(struct resource *resource)
{
	struct piece *piece = (struct piece *)resource;

	memset(piece->data, 0, piece->size);
}

static size_t size_piece(struct resource *resource)
{
	struct piece *piece = (struct piece *)resource;

	return sizeof(*piece) + piece->size;
}

static void free_timer(struct resource *resource)
{
	struct timer *timer = (struct timer *)resource;

	timer->hook = NULL;
}

static size_t size_timer(struct resource *resource)
{
	return sizeof(struct timer) + (resource->class == NULL);
}

static const struct class piece_class = { "Memory", free_piece, size_piece };
static const struct class timer_class = { "Timer", free_timer, size_timer };
static const struct class pool_class = { "Pool", NULL, NULL };

struct protocol { // a border begins with it
	struct protocol *next;
	const char *name;
	struct channel *channels;
	struct pool *pool;
	struct timer *timer;
	uint32_t state, flags;
};

struct border {
	struct protocol protocol;
	struct neighbour *neighbours;
	uint64_t remote, local;
	uint64_t counters[4];
};

struct channel {
	struct channel *next;
	struct protocol *protocol;
	uint32_t limit, preference;
	double rate;
};

struct neighbour {
	struct neighbour *next;
	struct border *border;
	uint64_t address;
	struct attributes *attributes;
	uint32_t *communities;
	uint32_t count, flags;
};

struct attributes {
	struct attributes *next;
	uint32_t hash, uses;
	uint16_t origin, length;
	uint32_t path;
	uint64_t from, gateway;
};

static struct pool *root;
static struct protocol *protocols;
static struct attributes *buckets[64];

static void add(struct pool *pool, struct resource *resource, const struct class *class)
{
	struct link *last = pool->inside.previous;

	resource->class = class;
	resource->link = (struct link){ &pool->inside, last };
	last->next = &resource->link;
	pool->inside.previous = &resource->link;
}

static struct pool *new_pool(struct pool *parent, const char *name)
{
	struct pool *pool = NEW(struct pool);

	*pool = (struct pool){ .name = name };
	pool->inside = (struct link){ &pool->inside, &pool->inside };
	if (parent)
		add(parent, &pool->resource, &pool_class);
	return pool;
}

static struct timer *new_timer(struct pool *pool, void *data, uint64_t expires)
{
	struct timer *timer = NEW(struct timer);

	*timer = (struct timer){ .data = data, .expires = expires };
	add(pool, &timer->resource, &timer_class);
	return timer;
}

// The block is logged as what lies behind its header.
static __attribute__((noinline)) void *take(struct pool *pool, size_t size, int kind,
					    const char *type)
{
	struct piece *piece = truth_log(malloc(sizeof(*piece) + size), kind, type, sizeof(*piece));

	piece->size = size;
	add(pool, &piece->resource, &piece_class);
	return piece->data;
}

#define TAKE(T, pool) ((struct T *)take(pool, sizeof(struct T), TRUTH_BEHIND, "struct " #T))

static char *take_text(struct pool *pool, const char *format, unsigned number)
{
	char buffer[64];
	size_t size = (size_t)snprintf(buffer, sizeof(buffer), format, number) + 1;

	return memcpy(take(pool, size, TRUTH_BEHIND, "char"), buffer, size);
}

static struct attributes *find_attributes(uint32_t hash, uint64_t from)
{
	struct attributes **bucket = &buckets[hash % 64], *attributes = *bucket;

	while (attributes && attributes->hash != hash)
		attributes = attributes->next;
	if (!attributes) {
		attributes = TAKE(attributes, root);
		*attributes = (struct attributes){ *bucket, hash, 0, 1, 2, hash * 7, from, ~from };
		*bucket = attributes;
	}
	attributes->uses++;
	return attributes;
}

static void add_channels(struct protocol *protocol, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct channel *channel = TAKE(channel, protocol->pool);

		*channel = (struct channel){ protocol->channels, protocol, i * 100, 170, 0.5 * i };
		protocol->channels = channel;
	}
}

static void start(struct protocol *protocol, const char *format, unsigned number)
{
	protocol->next = protocols;
	protocols = protocol;
	protocol->pool = new_pool(root, "protocol");
	protocol->name = take_text(protocol->pool, format, number);
	protocol->timer = new_timer(protocol->pool, protocol, number * UINT64_C(1000));
	add_channels(protocol, 1 + number % 3);
}

static void start_border(unsigned number)
{
	struct border *border = TAKE(border, root);

	*border = (struct border){ .remote = number * 17 + 1,
				   .local = 65000,
				   .counters = { 1, number, 3, number * 5 } };
	start(&border->protocol, "border%u", number);
	for (unsigned i = 0; i < 5; i++) {
		struct neighbour *neighbour = TAKE(neighbour, border->protocol.pool);

		*neighbour = (struct neighbour){
			border->neighbours, border, number * 256 + i, NULL, NULL, i + 2, 0
		};
		neighbour->attributes = find_attributes(number * 5 + i, neighbour->address);
		border->neighbours = neighbour;
	}
}

int main(void)
{
	root = new_pool(NULL, "root");
	for (unsigned i = 0; i < 120; i++)
		start_border(i);
	truth_capture();
	for (struct link *link = root->inside.next; link != &root->inside; link = link->next) {
		struct resource *resource = (struct resource *)link;

		if (resource->class->size)
			printf("%zu\n", resource->class->size(resource));
	}
	return protocols == NULL;
}
