// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A long list whose links lead to a member of its nodes, among many other blocks. The nodes come from
 * an allocator that says nothing of types: each is known by its neighbours alone. Free buffers are linked by their
 * first words, with which a struct of any length begins, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES = 3000,
	TEXTS = 9000,
	BUFFERS = 200,
};

struct link {
	struct link *next, *previous;
};

struct connection {
	int number;
	struct link link;
	char buffer[200];
};

struct keyword {
	const char *name;
	long number;
};

struct keywords { // none of them is in the heap
	struct link link;
	struct keyword words[];
};

static struct keywords keywords = { .words = { { "one", 1 }, { "two", 2 }, { NULL, 0 } } };
static struct link buffers = { &buffers, &buffers };
static struct link connections = { &connections, &connections };
static char *texts[TEXTS];

// No debug information tells what it makes; blocks of all kinds share the site.
static void *(*volatile allocate)(size_t size) = malloc;

static void make(size_t size, int number)
{
	void *block = allocate(size);

	memset(block, 0, size);
	if (size == sizeof(struct connection)) {
		struct connection *made = block;

		made->number = number;
		made->link.next = connections.next;
		made->link.previous = &connections;
		connections.next->previous = &made->link;
		connections.next = &made->link;
	} else {
		texts[number] = block;
		snprintf(block, size, "text number %d", number);
	}
}

static void release_buffers(void)
{
	for (int i = 0; i < BUFFERS; i++) {
		struct link *link = allocate(i % 2 ? 4104 : 1000);

		memset(link, 0, 1000);
		link->next = buffers.next;
		link->previous = &buffers;
		buffers.next->previous = link;
		buffers.next = link;
	}
}

int main(void)
{
	keywords.link.next = keywords.link.previous = &keywords.link;
	release_buffers();
	for (int i = 0; i < TEXTS; i++)
		make(32 + i % 7, i);
	for (int i = 0; i < NODES; i++)
		make(sizeof(struct connection), i);
	puts("ready");
	fflush(stdout);
	getchar();
	puts("done");
	return 0;
}
