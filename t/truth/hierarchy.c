// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A configuration whose memory is a tree: each allocation has a header before it, with its
 * parent, its children and a destructor, so that freeing a section frees all that is in it.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct memory {
	struct memory *parent, *child, *next, *previous;
	int (*destructor)(void *pointer);
	size_t size;
	const char *name;
	uint64_t magic;
};

#define MAGIC UINT64_C(0xe814ec70e814ec70)

static struct memory *memory_of(const void *pointer)
{
	return (struct memory *)((char *)pointer - sizeof(struct memory));
}

static void *memory_named(const void *parent, size_t size, const char *name)
{
	struct memory *memory =
		(struct memory *)POOL(struct memory, calloc(1, sizeof(struct memory) + size));

	memory->size = size;
	memory->name = name;
	memory->magic = MAGIC;
	if (parent) {
		memory->parent = memory_of(parent);
		memory->next = memory->parent->child;
		if (memory->next)
			memory->next->previous = memory;
		memory->parent->child = memory;
	}
	return memory + 1;
}

static void memory_free(void *pointer)
{
	struct memory *memory = memory_of(pointer);

	while (memory->child)
		memory_free(memory->child + 1);
	if (memory->destructor)
		memory->destructor(pointer);
	if (memory->previous)
		memory->previous->next = memory->next;
	else if (memory->parent)
		memory->parent->child = memory->next;
	if (memory->next)
		memory->next->previous = memory->previous;
	PART_FREE(pointer);
	FREE(memory);
}

static char *memory_strdup(const void *parent, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(PART(char, memory_named(parent, size, "char")), text, size);
}

#define memory_new(parent, T) PART(T, memory_named(parent, sizeof(T), #T))

struct option {
	struct option *next;
	char *key, *value;
	bool is_default;
};

struct listen {
	struct listen *next;
	char *host;
	uint16_t port;
	int descriptor;
};

struct section {
	struct section *next, *outer;
	char *title;
	struct option *options;
	struct listen *listens;
	unsigned line;
};

struct config {
	struct section *sections;
	unsigned generation;
	int log;
};

static struct config *current;
static unsigned closed;

static int close_listen(void *pointer)
{
	const struct listen *listen = pointer;

	closed += listen->descriptor >= 0;
	return 0;
}

static void add_option(struct section *section, const char *key, unsigned value)
{
	struct option *option = memory_new(section, struct option);
	char text[32];

	snprintf(text, sizeof(text), "%u", value);
	option->key = memory_strdup(option, key);
	option->value = memory_strdup(option, text);
	option->is_default = value % 3 == 0;
	option->next = section->options;
	section->options = option;
}

static void add_listen(struct section *section, unsigned number)
{
	struct listen *listen = memory_new(section, struct listen);
	char text[32];

	snprintf(text, sizeof(text), "192.0.2.%u", number % 256);
	listen->host = memory_strdup(listen, text);
	listen->port = (uint16_t)(8000 + number);
	listen->descriptor = (int)number;
	listen->next = section->listens;
	section->listens = listen;
	memory_of(listen)->destructor = close_listen;
}

static struct config *load(unsigned generation, unsigned sections)
{
	struct config *config = memory_new(NULL, struct config);
	char title[40];

	config->generation = generation;
	for (unsigned i = 0; i < sections; i++) {
		struct section *section = memory_new(config, struct section);
		snprintf(title, sizeof(title), "server %u.example.org", i);
		section->title = memory_strdup(section, title);
		section->line = i * 12;
		section->outer = i % 5 ? config->sections : NULL;
		for (unsigned j = 0; j < 2 + i % 4; j++)
			add_option(section, j % 2 ? "timeout" : "keep-alive", i * j);
		if (i % 2)
			add_listen(section, i);
		section->next = config->sections;
		config->sections = section;
	}
	return config;
}

int main(void)
{
	for (unsigned generation = 0; generation < 4; generation++) {
		struct config *fresh = load(generation, 150 + generation * 20);
		if (current)
			memory_free(current);
		current = fresh;
	}
	truth_capture();
	printf("generation %u, %u closed\n", current->generation, closed);
	return 0;
}
