// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values that only the table of a library leads to, of which debug information knows nothing: here, an array of numbers
 * that are addresses. Some of the values are also in a list of anything, whose contents tell their type; the others
 * are like these, and what they lead to is led to by nothing else.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	PARTS = 12000,
	RECENT = 10, // one of so many is in the list, too
	IMAGES = 4,  // one of so many has images
};

struct node {
	void *data;
	struct node *next, *previous;
};

struct images {
	char **names;
	unsigned count;
};

struct part {
	int id;
	char *name;
	void *properties; // of that library
	struct node *suppliers;
	double price;
	struct images *images;
};

static unsigned long *table;
static struct node *recent;

static struct node *prepend(struct node *list, void *data)
{
	struct node *node = NEW_ZEROED(struct node);

	node->data = data;
	node->next = list;
	if (list)
		list->previous = node;
	return node;
}

static char *new_name(const char *format, int number)
{
	char *name = NEW_TEXT(24);

	snprintf(name, 24, format, number);
	return name;
}

static struct images *new_images(int number)
{
	struct images *images = NEW(struct images);

	images->count = 3;
	images->names = NEW_ARRAY(char *, 3);
	for (int i = 0; i < 3; i++)
		images->names[i] = new_name("image %d.png", number * 3 + i);
	return images;
}

static struct part *new_part(int number)
{
	struct part *part = NEW_ZEROED(struct part);

	part->id = number;
	part->name = new_name("part number %d", number);
	part->properties = NEW_ZEROED_ARRAY(unsigned long, 10);
	part->price = number * 1.25;
	for (long i = 0; i < 2; i++)
		part->suppliers = prepend(part->suppliers, (void *)i);
	if (number % IMAGES == 0)
		part->images = new_images(number);
	return part;
}

int main(void)
{
	table = NEW_ARRAY(unsigned long, PARTS);
	for (int i = 0; i < PARTS; i++) {
		struct part *part = new_part(i);

		table[i] = (unsigned long)part;
		if (i % RECENT == 0)
			recent = prepend(recent, part);
	}
	truth_capture();
	return 0;
}
