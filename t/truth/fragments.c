// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of a collector, which are known by the number they begin with, in a heap that has been in use for a while: many lie
 * in chunks that are 16 bytes larger than asked for. Maps have a pointer to the end of their entries, which lies inside
 * the entries' block if that is larger.
 */
#include "t/truth/truth.h"

#include <malloc.h>

enum {
	GAPS = 9000,
	MAPS = 3000,
	KIND_MAP = 5,
	KIND_PAIR = 6,
	KIND_CELL = 9,
};

struct object {
	struct object *next;
	unsigned char kind, marked;
};

struct entry {
	struct object *key, *value;
	long hash;
};

struct map {
	struct object *next;
	unsigned char kind, marked;
	unsigned short flags;
	unsigned size;
	struct entry *entries, *end;
	struct map *parent;
	struct object *gray;
	long version;
};

struct pair {
	struct object *next;
	unsigned char kind, marked;
	struct object *first, *second;
};

struct cell {
	struct object *next;
	unsigned char kind, marked;
	double number;
};

struct page {
	struct page *next;
	long numbers[8];
};

struct note {
	struct note *next;
	long numbers[4];
};

static struct object *all, *root;
static struct page *pages;
static struct note *notes;

// Leaves free chunks that have no free neighbours, 16 bytes larger than those of maps, or of entries.
#define LEAVE_GAPS(T, list) \
	do { \
		T *gaps[GAPS]; \
\
		for (int i = 0; i < GAPS; i++) \
			gaps[i] = malloc(sizeof(T)); \
		for (int i = 0; i < GAPS; i++) { \
			if (i % 3 == 0) { \
				free(gaps[i]); \
				continue; \
			} \
			OF(T, gaps[i]); \
			memset(gaps[i], 0, sizeof(*gaps[i])); \
			gaps[i]->next = (list); \
			(list) = gaps[i]; \
		} \
		memset(gaps, 0, sizeof(gaps)); \
	} while (0)

static void *link_object(struct object *object, int kind)
{
	object->next = all;
	object->kind = (unsigned char)kind;
	all = object;
	return object;
}

static struct object *new_cell(double number)
{
	struct cell *cell = link_object((struct object *)NEW_ZEROED(struct cell), KIND_CELL);

	cell->number = number;
	return (struct object *)cell;
}

static struct object *new_pair(struct object *first, struct object *second)
{
	struct pair *pair = link_object((struct object *)NEW_ZEROED(struct pair), KIND_PAIR);

	pair->first = first;
	pair->second = second;
	return (struct object *)pair;
}

static struct map *new_map(struct map *parent, int number, unsigned size)
{
	struct map *map = link_object((struct object *)NEW_ZEROED(struct map), KIND_MAP);

	map->size = size;
	map->entries = NEW_ZEROED_ARRAY(struct entry, size);
	map->end = map->entries + size;
	map->parent = parent;
	for (unsigned i = 0; i < size; i++) {
		map->entries[i].key = new_cell(number + i / 8.0);
		map->entries[i].value = new_pair(map->entries[i].key, (struct object *)parent);
		map->entries[i].hash = number % 97;
	}
	return map;
}

int main(void)
{
	struct map *map = NULL;

	mallopt(M_MXFAST, 0);
	LEAVE_GAPS(struct page, pages);
	LEAVE_GAPS(struct note, notes);
	for (int i = 0; i < MAPS; i++)
		map = new_map(i % 10 == 0 ? NULL : map, i, i % 3 == 0 ? 2 : 1);
	root = (struct object *)map;
	map = NULL;
	truth_capture();
	return root == NULL;
}
