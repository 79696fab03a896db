// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Implicitly shared data: a header, and behind it numbers or pointers that no type tells of. Who holds it has a
 * pointer to the header, and one to the data. Beside it, arrays of structs with a pointer to an element's member.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	STRINGS = 60,
	LISTS = 20,
	TRACKS = 15,
	POINTS = 6,
};

struct shared {
	int references;
	unsigned flags;
	size_t capacity;
};

struct string {
	struct shared *shared;
	uint16_t *units;
	size_t length;
};

struct list {
	struct shared *shared;
	struct string **strings;
	size_t count;
};

struct point {
	double x, y;
	long tag;
};

struct track {
	struct point *points;
	long *second_tag;
};

static struct string strings[STRINGS];
static struct list lists[LISTS];
static struct track tracks[TRACKS];

static struct shared *make(size_t width, size_t capacity)
{
	struct shared *shared = calloc(1, sizeof(*shared) + width * capacity);

	shared->references = 1;
	shared->capacity = capacity;
	return shared;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < STRINGS; i++) {
		size_t length = 1 + i % 30;

		strings[i].shared = make(sizeof(uint16_t), length);
		strings[i].units = (uint16_t *)(strings[i].shared + 1);
		strings[i].length = length;
		for (size_t j = 0; j < length; j++)
			strings[i].units[j] = (uint16_t)('a' + (i + j) % 26);
	}
	for (size_t i = 0; i < LISTS; i++) {
		lists[i].count = 2 + i % 5;
		lists[i].shared = make(sizeof(struct string *), lists[i].count);
		lists[i].strings = (struct string **)(lists[i].shared + 1);
		for (size_t j = 0; j < lists[i].count; j++)
			lists[i].strings[j] = &strings[(i + j) % STRINGS];
	}
	for (size_t i = 0; i < TRACKS; i++) {
		tracks[i].points = calloc(POINTS, sizeof(*tracks[i].points));
		tracks[i].second_tag = &tracks[i].points[1].tag;
		*tracks[i].second_tag = (long)i;
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return strings[0].length + lists[0].count + (size_t)*tracks[0].second_tag == 0;
}
