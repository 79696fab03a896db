// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A slice allocator: pages of chunks of one size class, which mix whatever is of that size, and a bump
 * allocator for what lives as long as a session.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PAGE = 496,
	CLASSES = 8, // of 16 bytes, 32, ...
	ARENA = 8192,
};

// At the end of a page.
struct page {
	struct page *next;
	uint64_t class, used, magic;
};

struct chunk {
	struct chunk *next;
};

static struct chunk *free_chunks[CLASSES + 1];
static struct page *pages;

static void *slice_alloc(size_t size)
{
	size_t class = (size + 15) / 16;
	struct chunk *chunk;

	if (!free_chunks[class]) {
		char *start = POOL(void, malloc(PAGE));
		struct page *page = (struct page *)(start + PAGE - sizeof(*page));

		*page = (struct page){ pages, class, 0, 0x51ab51ab };
		pages = page;
		for (size_t at = 0; at + class * 16 <= PAGE - sizeof(*page); at += class * 16) {
			chunk = (struct chunk *)(start + at);
			chunk->next = free_chunks[class];
			free_chunks[class] = chunk;
		}
	}
	chunk = free_chunks[class];
	free_chunks[class] = chunk->next;
	return chunk;
}

#define SLICE(T) PART(T, slice_alloc(sizeof(T)))

struct style { // 48 bytes, as node
	const char *name;
	struct style *base;
	double red, green, blue;
	uint64_t flags;
};

struct node {
	struct node *parent, *first, *next;
	struct style *style;
	struct attribute *attributes;
	uint64_t id;
};

struct attribute { // 32 bytes, as event
	struct attribute *next;
	uint64_t key;
	struct node *owner;
	struct event *last;
};

struct event {
	struct event *next;
	struct node *target;
	uint64_t time, kind;
};

// Three words, allocated from a chunk of four.
struct link {
	struct link *next, *previous;
	void *data;
};

struct session {
	struct session *next;
	char *arena;
	size_t used;
	struct request *requests;
	uint64_t id;
};

struct request {
	struct request *next;
	struct header *headers;
	struct node *subject;
};

struct header {
	struct header *next;
	uint64_t key;
	char value[24];
};

static struct node *document;
static struct event *events;
static struct link *first, *last;
static struct session *sessions;

static void append(void *data)
{
	struct link *link = SLICE(struct link);

	*link = (struct link){ NULL, last, data };
	*(last ? &last->next : &first) = link;
	last = link;
}

static struct node *grow(struct node *parent, int depth, struct style *style, uint64_t *id)
{
	struct node *node = SLICE(struct node);

	*node = (struct node){ parent, NULL, NULL, style, NULL, (*id)++ };
	append(node);
	for (uint64_t i = 0; i < node->id % 3; i++) {
		struct attribute *attribute = SLICE(struct attribute);
		struct event *event = SLICE(struct event);

		*event = (struct event){ events, node, node->id * 10, i };
		events = event;
		*attribute = (struct attribute){ node->attributes, i, node, event };
		node->attributes = attribute;
	}
	if (node->id % 5 == 0) {
		struct style *own = SLICE(struct style);

		*own = (struct style){ "own", style, 0.5, 0.25, (double)node->id, 1 };
		node->style = style = own;
	}
	for (int i = 0; depth > 0 && i < 4; i++) {
		struct node *child = grow(node, depth - 1, style, id);

		child->next = node->first;
		node->first = child;
	}
	return node;
}

static void *take(struct session *session, size_t size)
{
	void *result = session->arena + session->used;

	session->used += (size + 7) & ~(size_t)7;
	return result;
}

static void serve(uint64_t id)
{
	struct session *session = NEW(struct session);

	*session = (struct session){ sessions, NULL, 0, NULL, id };
	session->arena = POOL(void, malloc(ARENA));
	sessions = session;
	for (unsigned i = 0; session->used + 400 < ARENA; i++) {
		struct request *request = PART(struct request, take(session, sizeof(*request)));

		*request = (struct request){ session->requests, NULL, document };
		session->requests = request;
		for (unsigned j = 0; j < 1 + i % 3; j++) {
			struct header *header = PART(struct header, take(session, sizeof(*header)));

			*header = (struct header){ request->headers, j, "" };
			snprintf(header->value, sizeof(header->value), "value %u of %u", j, i);
			request->headers = header;
		}
	}
}

int main(void)
{
	struct style plain = { "plain", NULL, 0, 0, 0, 0 };
	uint64_t id = 1;

	document = grow(NULL, 5, SLICE(struct style), &id);
	*document->style = plain;
	for (uint64_t i = 0; i < 20; i++)
		serve(i);
	truth_capture();
	printf("%p\n", (void *)document);
	return 0;
}
