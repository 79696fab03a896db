// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory in chunks that hang together, as obstacks and the arenas of linkers have it: each begins with a small header, small
 * values share chunks, and what is too large for them, as a table, has one of its own, of just the size that it needs.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct chunk {
	struct chunk *next;
	char *used; // of the chunk before
};

struct arena {
	char *free;
	size_t left;
	struct chunk *chunks;
};

struct section {
	uint32_t name, kind;
	uint64_t flags, address, offset, size;
	uint32_t link, info;
	uint64_t align, entry;
	struct section *target;
	unsigned char *content;
};

struct file {
	struct file *next;
	char *name;
	struct arena *arena;
	void *data; // in the arena
};

// A file of one format, as far as it is known.
struct tables {
	uint64_t entry, flags, version, headers;
	struct section *sections;
	struct section **by_number;
	long count;
};

enum {
	CHUNK = 4064,
	LARGE = 400
};

struct file *files;

static void add_chunk(struct arena *arena, struct chunk *chunk)
{
	chunk->next = arena->chunks;
	chunk->used = arena->free;
	arena->chunks = chunk;
}

// The header, and one table of sections.
static void *allocate_large(struct arena *arena, size_t size)
{
	struct chunk *chunk = POOL(struct chunk, malloc(sizeof(*chunk) + size));

	add_chunk(arena, chunk);
	return chunk + 1;
}

static void *allocate(struct arena *arena, size_t size)
{
	void *result;

	if (size >= LARGE)
		return allocate_large(arena, size);
	if (size > arena->left) {
		struct chunk *chunk = POOL(struct chunk, malloc(CHUNK));

		add_chunk(arena, chunk);
		arena->free = (char *)(chunk + 1);
		arena->left = CHUNK - sizeof(*chunk);
	}
	result = arena->free;
	arena->free += size;
	arena->left -= size;
	return result;
}

static void read_section(struct tables *tables, int i)
{
	struct section *section = &tables->sections[i];

	section->name = (uint32_t)(i * 11 + 1);
	section->kind = (uint32_t)(1 + i % 7);
	section->flags = (uint64_t)(i % 3) << 1;
	section->offset = (uint64_t)(i * 64);
	section->size = (uint64_t)(i * 24 + 8);
	section->align = 8;
	section->link = (uint32_t)i / 2;
	section->info = 7;
	if (i % 5 == 4)
		section->target = &tables->sections[i - 1];
}

static void open_file(int number)
{
	struct file *file = NEW_ZEROED(struct file);
	struct tables *tables;
	char name[40];

	snprintf(name, sizeof(name), "object file %d", number);
	file->name = TEXT(strdup(name));
	file->arena = NEW_ZEROED(struct arena);
	tables = file->data = allocate(file->arena, sizeof(*tables));
	memset(tables, 0, sizeof(*tables));
	tables->entry = 0x100000001;
	tables->version = 0x300000002;
	tables->headers = 64;
	tables->count = 8 + number % 23;
	tables->by_number = allocate(file->arena, sizeof(struct section *) * (size_t)tables->count);
	tables->sections = allocate(file->arena, sizeof(struct section) * (size_t)tables->count);
	memset(tables->sections, 0, sizeof(struct section) * (size_t)tables->count);
	tables->by_number[0] = &tables->sections[0];
	for (int i = 1; i < tables->count; i++) {
		tables->by_number[i] = &tables->sections[i];
		read_section(tables, i);
	}
	file->next = files;
	files = file;
}

int main(void)
{
	long sections = 0;

	for (int i = 0; i < 300; i++)
		open_file(i);
	truth_capture();
	for (struct file *file = files; file; file = file->next)
		sections += ((struct tables *)file->data)->count;
	printf("%ld\n", sections);
	return 0;
}
