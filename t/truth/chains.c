// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lists whose links are cut from chunks. The header of a chunk is a pointer and a number, so that all of a chunk looks
 * like an array of headers, whose numbers seem to hold pointers. Nothing tells what the links keep.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	LINKS = 200, // of a chunk
	LISTS = 70,
	EACH = 60
};

struct link {
	struct link *previous, *next;
	void *data;
};

struct chunk {
	struct chunk *next;
	size_t used; // bytes
};

static struct chunk *chunks;
static struct link *lists[LISTS];

static struct link *make_link(void)
{
	struct link *link;

	if (!chunks || chunks->used == LINKS * sizeof(struct link)) {
		struct chunk *chunk = POOL(
			struct chunk, malloc(sizeof(struct chunk) + LINKS * sizeof(struct link)));

		chunk->next = chunks;
		chunk->used = 0;
		chunks = chunk;
	}
	link = PART(struct link, (char *)(chunks + 1) + chunks->used);
	chunks->used += sizeof(struct link);
	return link;
}

static void append(struct link **list, void *data)
{
	struct link *link = make_link();

	link->data = data;
	link->next = *list;
	link->previous = NULL;
	if (*list)
		(*list)->previous = link;
	*list = link;
}

// As many numbers as lists have been filled before, with a text behind.
static void *make_data(int list, int number)
{
	size_t size = (size_t)(list % 30 + 4) * sizeof(long);
	char *text = NEW_TEXT(24);
	long *data = truth_log(malloc(size), TRUTH_POOL, "void", 0);

	memset(data, 0, size);
	snprintf(text, 24, "list %d, number %d", list, number);
	memcpy(data + 1, &text, sizeof(text));
	data[0] = number;
	return data;
}

static size_t count_links(void)
{
	size_t count = 0;

	for (int i = 0; i < LISTS; i++)
		for (const struct link *link = lists[i]; link; link = link->next)
			count++;
	return count;
}

int main(void)
{
	for (int i = 0; i < EACH; i++)
		for (int list = 0; list < LISTS; list++)
			append(&lists[list], make_data(list, i));
	truth_capture();
	return count_links() != EACH * LISTS;
}
