// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of a version control system, in one hash table of pointers to what all begin with. A blob is no more than that, but
 * has a type of its own, which the function alone that makes it knows.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	COMMITS = 100,
	NAME = 20
};

struct object {
	unsigned is_parsed : 1, type : 3, flags : 28;
	unsigned char name[NAME];
};

struct blob {
	struct object object;
};

struct tree {
	struct object object;
	void *buffer;
	unsigned long size;
};

struct commits {
	struct commit *commit;
	struct commits *next;
};

struct commit {
	struct object object;
	uint64_t date;
	struct commits *parents;
	struct tree *tree;
	unsigned index;
};

struct tag {
	struct object object;
	struct object *tagged;
	char *name;
};

static struct store {
	struct object **table;
	unsigned used, room;
} store;

static void put(struct object **table, unsigned room, struct object *object)
{
	unsigned at;

	memcpy(&at, object->name, sizeof(at));
	for (at %= room; table[at]; at = (at + 1) % room) {
	}
	table[at] = object;
}

static void grow(void)
{
	unsigned room = store.room ? store.room * 2 : 32;
	struct object **table = NEW_ZEROED_ARRAY(struct object *, room);

	for (unsigned i = 0; i < store.room; i++) {
		if (store.table[i])
			put(table, room, store.table[i]);
	}
	FREE(store.table);
	store.table = table;
	store.room = room;
}

static void *add_object(void *block, unsigned type)
{
	struct object *object = block;

	object->type = type;
	for (int i = 0; i < NAME; i++)
		object->name[i] = (unsigned char)(next() >> 40);
	if (store.used * 2 >= store.room)
		grow();
	put(store.table, store.room, object);
	store.used++;
	return object;
}

static struct blob *blob_new(void)
{
	return add_object(NEW_ZEROED(struct blob), 3);
}

static struct tree *tree_new(unsigned entries)
{
	struct tree *tree = add_object(NEW_ZEROED(struct tree), 2);

	tree->size = entries * sizeof(tree->object.name);
	tree->buffer = NEW_TEXT(tree->size);
	for (unsigned i = 0; i < entries; i++) {
		struct blob *blob = blob_new();

		memcpy((char *)tree->buffer + i * NAME, blob->object.name, NAME);
	}
	return tree;
}

static struct commit *commit_new(struct commit *parent)
{
	struct commit *commit = add_object(NEW_ZEROED(struct commit), 1);

	commit->date = 1700000000 + store.used;
	commit->tree = tree_new(1 + (unsigned)(next() >> 40) % 5);
	commit->index = store.used;
	if (parent) {
		struct commits *link = NEW(struct commits);

		link->commit = parent;
		link->next = NULL;
		commit->parents = link;
	}
	return commit;
}

static void add_tag(struct commit *commit)
{
	struct tag *tag = add_object(NEW_ZEROED(struct tag), 4);

	tag->tagged = &commit->object;
	tag->name = TEXT(strdup("release"));
}

int main(void)
{
	struct commit *last = NULL;

	for (int i = 0; i < COMMITS; i++) {
		last = commit_new(last);
		if (i % 10 == 0)
			add_tag(last);
	}
	truth_capture();
	printf("%u\n", last->index);
	return 0;
}
