// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The objects of an interpreter. All begin with an object that ends in its properties, to which alone pointers lead, and those of
 * some classes have members behind it, and room for more properties. The handlers of a class tell no type.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	OBJECTS = 900,
	CALLABLES = 400,
	PROPERTIES = 3,
};

struct value {
	union {
		long number;
		char *text;
	} is;
	unsigned kind, unused;
};

struct class
{
	char *name;
	int properties;
};

struct handlers {
	int offset;
	void (*release)(void *);
};

struct object {
	unsigned references, flags;
	const struct class *class;
	const struct handlers *handlers;
	void *properties;
	struct value table[1];
};

struct code {
	unsigned char kind;
	unsigned lines;
	const char *name;
	struct code *prototype;
};

struct callable {
	struct object object;
	struct code code;
	struct object *bound;
	long calls;
};

struct coroutine {
	struct object object;
	long position, step, largest;
	struct object *delegate, *waiting;
};

static void release(void *object)
{
	free(object);
}

static const struct handlers plain = { 0, release }, called = { 8, release },
			     resumed = { 16, release };
static struct class classes[] = { { "point", PROPERTIES }, { "callable", 2 }, { "coroutine", 3 } };
static struct object **objects;

static void object_init(struct object *object, const struct class *class,
			const struct handlers *handlers)
{
	object->references = 1;
	object->flags = 8;
	object->class = class;
	object->handlers = handlers;
	object->properties = NULL;
}

static __attribute__((noinline)) struct object *object_new(const struct class *class)
{
	size_t size = sizeof(struct object) + (class->properties - 1) * sizeof(struct value);
	struct object *object = OF(struct object, malloc(size));

	object_init(object, class, &plain);
	for (int i = 0; i < class->properties; i++)
		object->table[i] = (struct value){ { i }, 1, 0 };
	return object;
}

static __attribute__((noinline)) struct object *callable_new(struct object *bound)
{
	struct callable *callable =
		OF(struct callable,
		   malloc(sizeof(*callable) + classes[1].properties * sizeof(struct value)));

	memset(callable, 0, sizeof(*callable) + classes[1].properties * sizeof(struct value));
	object_init(&callable->object, &classes[1], &called);
	callable->code = (struct code){ 2, (unsigned)(next() % 50), "anonymous", NULL };
	callable->bound = bound;
	callable->calls = (long)(next() % 1000);
	return &callable->object;
}

static __attribute__((noinline)) struct object *coroutine_new(struct object *delegate)
{
	struct coroutine *coroutine =
		OF(struct coroutine,
		   malloc(sizeof(*coroutine) + classes[2].properties * sizeof(struct value)));

	memset(coroutine, 0, sizeof(*coroutine) + classes[2].properties * sizeof(struct value));
	object_init(&coroutine->object, &classes[2], &resumed);
	coroutine->position = (long)(next() % 100);
	coroutine->largest = -1;
	coroutine->delegate = delegate;
	return &coroutine->object;
}

int main(void)
{
	long used = 0;

	objects = NEW_ARRAY(struct object *, OBJECTS + 2 * CALLABLES);
	for (int i = 0; i < OBJECTS; i++)
		objects[i] = object_new(&classes[0]);
	for (int i = 0; i < CALLABLES; i++) {
		objects[OBJECTS + 2 * i] = callable_new(objects[next() % OBJECTS]);
		objects[OBJECTS + 2 * i + 1] = coroutine_new(objects[next() % OBJECTS]);
	}
	truth_capture();
	for (int i = 0; i < OBJECTS + 2 * CALLABLES; i++)
		used += objects[i]->references;
	printf("%ld\n", used);
	return 0;
}
