// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A document whose versions share what has not changed. Arrays of structs, of pointers and of numbers, and texts, are
 * copied when they are written to: a count of references and their length stand before them, and all pointers lead
 * behind these. Many have few references, whose number alone reads as a letter.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	NAMES = 64,
	DEPTH = 5,
	CHILDREN = 3,
	VERSIONS = 30,
};

struct shared {
	int references, used, room, size;
};

struct attribute {
	char *name, *value;
};

struct element {
	char *name;
	struct attribute *attributes;
	struct element **children;
	int *classes;
	double box[4];
};

struct version {
	int number;
	struct element *root;
	struct version *before;
	char *comment;
};

static char *names[NAMES];
static struct version *newest;

static void *shared_new(int room, int size, const char *type)
{
	struct shared *shared = truth_log(malloc(sizeof(*shared) + (size_t)room * size),
					  TRUTH_BEHIND, type, sizeof(*shared));

	shared->references = 1;
	shared->used = shared->room = room;
	shared->size = size;
	return shared + 1;
}

#define SHARED_ARRAY(T, n) ((T *)shared_new(n, sizeof(T), #T))

static void *shared_again(void *values)
{
	if (values)
		((struct shared *)values)[-1].references++;
	return values;
}

static char *shared_text(const char *text)
{
	int size = (int)strlen(text) + 1;

	return memcpy(shared_new(size, 1, "char"), text, size);
}

static char *intern(unsigned number)
{
	char name[20];

	snprintf(name, sizeof(name), "tag-%u", number % NAMES);
	if (!names[number % NAMES])
		names[number % NAMES] = shared_text(name);
	return shared_again(names[number % NAMES]);
}

static void fill(struct element *element)
{
	int attributes = (int)(next() % 4), classes = (int)(next() % 6);

	element->name = intern((unsigned)next());
	element->attributes = attributes ? SHARED_ARRAY(struct attribute, attributes) : NULL;
	for (int i = 0; i < attributes; i++) {
		element->attributes[i].name = intern(i);
		element->attributes[i].value = shared_text("value of the attribute");
	}
	element->classes = classes ? SHARED_ARRAY(int, classes) : NULL;
	for (int i = 0; i < classes; i++)
		element->classes[i] = i;
}

static struct element *element_new(int depth)
{
	struct element *element = NEW_ZEROED(struct element);

	fill(element);
	element->box[2] = 100.5;
	if (depth == 0)
		return element;
	element->children = SHARED_ARRAY(struct element *, CHILDREN);
	for (int i = 0; i < CHILDREN; i++)
		element->children[i] = element_new(depth - 1);
	return element;
}

// A copy of an element in which the first child of each is a copy, too.
static struct element *element_copy(const struct element *original)
{
	struct element *element = NEW(struct element);

	*element = *original;
	shared_again(element->name);
	shared_again(element->attributes);
	shared_again(element->classes);
	if (!original->children)
		return element;
	element->children = SHARED_ARRAY(struct element *, CHILDREN);
	element->children[0] = element_copy(original->children[0]);
	for (int i = 1; i < CHILDREN; i++)
		element->children[i] = original->children[i];
	return element;
}

int main(void)
{
	for (int i = 0; i < VERSIONS; i++) {
		struct version *version = NEW(struct version);

		version->number = i;
		version->root = newest ? element_copy(newest->root) : element_new(DEPTH);
		version->before = newest;
		version->comment = shared_text("changed the first one");
		newest = version;
	}
	truth_capture();
	return newest->number == 0;
}
