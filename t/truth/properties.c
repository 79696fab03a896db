// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Classes with properties: one that overrides none of its parent's functions, and whose instances are as large as
 * those of another. The functions that it inherits handle descriptions of properties, which begin like instances and
 * have their size. And bytes behind void pointers, whose size stands beside these.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct class
{
	const char *name;
	size_t instance_size;
};

struct instance {
	struct class *class;
};

struct property {
	struct instance instance;
	const char *name;
	unsigned flags;
	unsigned long value_type, owner_type;
	char *nick, *comment;
	struct data *data;
	unsigned references, number;
};

struct number_property {
	struct property base;
	int least, most;
};

struct object {
	struct instance instance;
	unsigned references;
	struct data *data;
};

struct data {
	struct data *next;
	unsigned key;
};

struct object_class {
	struct class base;
	void (*set)(struct object *object, unsigned number, const void *value,
		    struct property *property);
	void (*get)(struct object *object, unsigned number, void *value, struct property *property);
	void (*dispose)(struct object *object);
};

struct node {
	struct object base;
	char *name;
	struct link *children;
	unsigned number;
};

struct circle {
	struct node base;
	double x, y, radius;
};

struct page {
	struct node base;
	struct buffer *text;
	struct queue *steps;
	struct mark *marks;
};

struct node_class {
	struct object_class base;
	double (*area)(struct node *node);
};

struct property_class {
	struct class base;
	void (*finish)(struct property *property);
	int (*check)(struct property *property);
	void (*reset)(struct property *property);
};

struct link {
	struct link *next;
	void *data;
};

struct buffer {
	char *text;
	size_t length, capacity;
};

struct queue {
	struct link *first, *last;
	unsigned length;
};

struct mark {
	struct mark *next;
	int at, length;
};

// Bytes of any kind, which somebody else makes and frees.
struct bytes {
	const void *data;
	size_t size;
	int references;
	void (*release)(void *user);
	void *user;
};

static int warnings;

static void warn(const struct object *object, unsigned number, const char *name)
{
	warnings += object->references == 0 || number == 0 || !name;
}

// For classes without properties of their own.
static void object_get(struct object *object, unsigned number, void *value,
		       struct property *property)
{
	struct object *its_object = object;
	struct property *its_property = property;

	(void)value;
	if (its_property->flags & 1)
		warn(its_object, number, its_property->name);
}

static void object_set(struct object *object, unsigned number, const void *value,
		       struct property *property)
{
	struct object *its_object = object;
	struct property *its_property = property;

	(void)value;
	if (its_property->flags & 2)
		warn(its_object, number, its_property->nick);
}

static void node_dispose(struct object *object)
{
	struct node *node = (struct node *)object;

	node->children = NULL;
}

static double node_area(struct node *node)
{
	return node->number;
}

static double circle_area(struct node *node)
{
	struct circle *circle = (struct circle *)node;

	return circle->radius * circle->radius * 3;
}

static struct node_class *new_class(const char *name, size_t size, double (*area)(struct node *))
{
	struct node_class *class = NEW_ZEROED(struct node_class);

	class->base.base.name = name;
	class->base.base.instance_size = size;
	class->base.get = object_get;
	class->base.set = object_set;
	class->base.dispose = node_dispose;
	class->area = area;
	return class;
}

static void *create(struct node_class *class, const char *type)
{
	struct instance *instance =
		truth_log(calloc(1, class->base.base.instance_size), TRUTH_ARRAY, type, 1);

	instance->class = &class->base.base;
	return instance;
}

static struct link *add(struct link *next, void *data)
{
	struct link *link = NEW(struct link);

	*link = (struct link){ next, data };
	return link;
}

static struct page *make_page(struct node_class *class, int i)
{
	struct page *page = create(class, "struct page");

	page->text = NEW(struct buffer);
	*page->text = (struct buffer){ truth_log(calloc(1, 64), TRUTH_TEXT, "char", 64), 9, 64 };
	memcpy(page->text->text, "some text", 9);
	page->steps = NEW_ZEROED(struct queue);
	for (int j = 0; j < 2 + i % 2; j++) {
		struct mark *mark = NEW(struct mark);

		*mark = (struct mark){ page->marks, i, j };
		page->marks = mark;
		page->steps->first = add(page->steps->first, TEXT(strdup("a step back")));
		page->steps->length++;
	}
	return page;
}

static struct circle *make_circle(struct node_class *class, int i)
{
	struct circle *circle = create(class, "struct circle");

	circle->x = i * 0.75;
	circle->y = i * 1.25;
	circle->radius = 1.5;
	return circle;
}

__attribute__((noinline)) static void fill(void *data, size_t size, unsigned seed)
{
	uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(seed * 31 + i * i * 7);
}

static struct bytes *make_bytes(unsigned i)
{
	struct bytes *bytes = NEW_ZEROED(struct bytes);
	size_t size = 5 + i * 7 % 83;
	void *data = truth_log(malloc(size), TRUTH_TEXT, "char", size);

	fill(data, size, i);
	*bytes = (struct bytes){ data, size, 1, free, data };
	return bytes;
}

static struct property *make_property(struct class *class, unsigned i)
{
	struct number_property *property = NEW_ZEROED(struct number_property);

	property->base.instance.class = class;
	property->base.name = "width";
	property->base.nick = TEXT(strdup("the width"));
	property->base.number = i;
	property->most = 100;
	return &property->base;
}

static void property_finish(struct property *property)
{
	property->references = 0;
}

static int number_property_check(struct property *property)
{
	struct number_property *number = (struct number_property *)property;

	return number->least <= number->most;
}

static void number_property_reset(struct property *property)
{
	struct number_property *number = (struct number_property *)property;

	number->most = 0;
}

static struct property_class property_class = { { "property", sizeof(struct number_property) },
						property_finish,
						number_property_check,
						number_property_reset };
static struct link *nodes;
static struct node *chosen;
static struct bytes *contents[400];
static struct property *properties[20];

int main(void)
{
	struct node_class *circles = new_class("circle", sizeof(struct circle), circle_area);
	struct node_class *pages = new_class("page", sizeof(struct page), node_area);
	char name[32];

	for (int i = 0; i < 600; i++) {
		struct node *node =
			i % 2 ? &make_circle(circles, i)->base : &make_page(pages, i)->base;

		snprintf(name, sizeof(name), "node %d", i);
		node->base.references = 1;
		node->name = TEXT(strdup(name));
		node->number = (unsigned)i;
		nodes = add(nodes, node);
		chosen = node;
	}
	for (unsigned i = 0; i < 400; i++)
		contents[i] = make_bytes(i);
	for (unsigned i = 0; i < 20; i++)
		properties[i] = make_property(&property_class.base, i);
	truth_capture();
	warnings += chosen->number == 0;
	for (struct link *link = nodes; link; link = link->next) {
		struct node *node = link->data;
		struct node_class *class = (struct node_class *)node->base.instance.class;

		warnings += class->area(node) < 0;
		class->base.get(&node->base, 1, name, properties[0]);
		class->base.set(&node->base, 1, name, properties[0]);
	}
	return warnings != 0;
}
