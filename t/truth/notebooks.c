// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Notebooks whose texts are counted by reference, behind a header that is no struct of the texts, and whose arrays grow by macros,
 * behind their length and room. Each text has a length of its own, so that hardly two of a site are alike, and some are only
 * led to by such an array. The header of an array is as large as an element, which is two numbers with fractions: where
 * no site is known, it reads like one.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct text_head {
	uint32_t references, length, room, hash;
};

struct array_head {
	size_t length, room;
};

#define TEXT_HEAD(text) ((struct text_head *)(text)-1)
#define ARRAY_HEAD(array) ((struct array_head *)(array)-1)
#define LENGTH(array) ((array) ? ARRAY_HEAD(array)->length : 0)

#define PUSH(T, array, value) \
	do { \
		if (!(array) || ARRAY_HEAD(array)->length == ARRAY_HEAD(array)->room) { \
			size_t length = LENGTH(array), room = length ? 2 * length : 4; \
			int forgotten = (array) ? truth_forget(ARRAY_HEAD(array)) : 0; \
			struct array_head *head = (struct array_head *)truth_moved( \
				forgotten, \
				realloc((array) ? ARRAY_HEAD(array) : NULL, \
					sizeof(*head) + room * sizeof(T)), \
				TRUTH_BEHIND, #T, sizeof(*head)); \
			head->length = length; \
			head->room = room; \
			(array) = (T *)(head + 1); \
		} \
		(array)[ARRAY_HEAD(array)->length++] = (value); \
	} while (0)

struct point {
	double x, y;
};

struct notebook {
	char *owner, *city;
	struct notebook **linked;
	int *pages;
	struct point *track;
	char **tags;
	unsigned year;
};

struct entry {
	char *key;
	struct notebook *notebook;
};

struct shelf {
	struct entry *entries;
	char *title;
};

struct shelf shelf;
char **cities;

static char *text_new(const char *from)
{
	size_t length = strlen(from);
	struct text_head *head =
		truth_log(malloc(sizeof(*head) + length + 1), TRUTH_BEHIND, "char", sizeof(*head));

	head->references = 1;
	head->length = (uint32_t)length;
	head->room = (uint32_t)length + 1;
	head->hash = 5381;
	for (size_t i = 0; i < length; i++)
		head->hash = head->hash * 33 + (unsigned char)from[i];
	return strcpy((char *)(head + 1), from);
}

static char *text_share(char *text)
{
	TEXT_HEAD(text)->references++;
	return text;
}

static char *city_named(const char *name)
{
	char *city;

	for (size_t i = 0; i < LENGTH(cities); i++) {
		if (strcmp(cities[i], name) == 0)
			return text_share(cities[i]);
	}
	city = text_new(name);
	PUSH(char *, cities, city);
	return text_share(city);
}

static struct notebook *notebook_new(int number)
{
	struct notebook *notebook = NEW_ZEROED(struct notebook);
	char line[64];

	snprintf(line, sizeof(line), "Person the %dth of their name", number);
	notebook->owner = text_new(line);
	snprintf(line, sizeof(line), "City %d", number % 40);
	notebook->city = city_named(line);
	notebook->year = 1900 + (unsigned)number % 100;
	for (int i = 0; i < number % 7; i++)
		PUSH(int, notebook->pages, i * 10 + number);
	for (int i = 0; i < number % 5; i++)
		PUSH(struct point, notebook->track, ((struct point){ i * .5, number * .25 }));
	for (int i = 0; i < number % 3; i++) {
		char *tag;

		snprintf(line, sizeof(line), "alias %d of %d", i, number);
		tag = text_new(line);
		PUSH(char *, notebook->tags, tag);
	}
	return notebook;
}

int main(void)
{
	shelf.title = text_new("all notebooks");
	for (int i = 0; i < 300; i++) {
		struct entry entry = { .notebook = notebook_new(i) };

		entry.key = text_share(entry.notebook->owner);
		for (int j = 0; i > 0 && j < i % 4; j++)
			PUSH(struct notebook *, entry.notebook->linked,
			     shelf.entries[(i * 31 + j) % i].notebook);
		PUSH(struct entry, shelf.entries, entry);
	}
	truth_capture();
	return 0;
}
