// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of classes, which hold links, pairs or names, and a flag that nearly all share. Links are known
 * from elsewhere, pairs only by the union. Objects of the third class hold either, so that the flag would
 * explain more pointers than the class, which is the tag.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	LINKS = 1000,
	PAIRS = 900,
	EITHER = 200,
	NAMES = 100,
	OBJECTS = LINKS + PAIRS + EITHER + NAMES,
	STEP = 787, // mixes the classes; it has no divisor in common with OBJECTS
};

struct link {
	struct link *next, *previous, *up, *down;
};

struct pair {
	int first, second;
	double weights[3];
};

struct name {
	char letters[60];
	int length;
};

struct object {
	int class, flag;
	union {
		struct pair *pair;
		struct link *link;
		struct name *name;
	} as;
};

static struct object *objects[OBJECTS];
static struct link *known_links[LINKS];
static struct name *known_names[NAMES];
static struct link *anchor;

static void *fill_link(void *block)
{
	*(struct link *)block = (struct link){ anchor, anchor, anchor, anchor };
	return block;
}

static void *fill_pair(void *block, int at)
{
	*(struct pair *)block = (struct pair){ at + 1, 7, { at * 0.5, 1, 2 } };
	return block;
}

// All blocks are made in one place, which tells nothing of their types.
static void fill(int at)
{
	struct object *object = objects[at] = malloc(sizeof(*object));
	int is_name = at >= OBJECTS - NAMES;
	void *block = calloc(1, is_name ? sizeof(struct name) : sizeof(struct link));

	object->flag = is_name;
	object->class = is_name ? 4 : at < LINKS ? 1 : at < LINKS + PAIRS ? 2 : 3;
	if (is_name) {
		object->as.name = known_names[at - (OBJECTS - NAMES)] = block;
		*object->as.name = (struct name){ "a name", 6 };
	} else if (at < LINKS || (at >= LINKS + PAIRS && at % 2)) {
		object->as.link = fill_link(block);
	} else {
		object->as.pair = fill_pair(block, at);
	}
	if (at < LINKS)
		known_links[at] = block;
}

int main(void)
{
	anchor = calloc(1, sizeof(*anchor));
	for (int i = 0; i < OBJECTS; i++)
		fill((int)((long)i * STEP % OBJECTS));
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
