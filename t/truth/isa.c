// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of classes that are made at run time. Each begins with its class as a number, with a flag in the lowest
 * bit, as Objective C's do: nothing else tells strings, numbers, arrays and tables apart, which are of one size.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	TABLES = 300,
	DEPTH = 5,
	SIDES = 8192
};

struct object {
	uintptr_t isa;
};

struct definition {
	uintptr_t isa;
	struct definition *super;
	char *name;
	size_t instance_size;
};

struct string {
	struct object base;
	uint32_t length, hash;
	char *bytes;
};

struct number {
	struct object base;
	char kind;
	union {
		long whole;
		double real;
	} u;
};

struct list {
	struct object base;
	uint32_t count, room;
	struct object **items;
};

struct pair {
	struct object *key, *value;
};

struct table {
	struct object base;
	uint32_t count, room;
	struct pair *pairs;
};

struct view {
	struct object base;
	struct view *parent;
	struct list *children;
	struct string *title;
	float frame[4];
};

struct side {
	struct object *object;
	size_t references;
};

static struct side *sides; // a hash table of reference counts: [SIDES]
static struct definition *strings, *numbers, *lists, *tables, *views;
static struct object *all[TABLES];
static struct view *window;

static struct definition *make_class(struct definition *super, const char *name, size_t size)
{
	struct definition *definition = NEW_ZEROED(struct definition);

	definition->isa = (uintptr_t)super;
	definition->super = super;
	definition->name = TEXT(strdup(name));
	definition->instance_size = size;
	return definition;
}

// The type is only known to the log.
static struct object *make(struct definition *definition, const char *type)
{
	struct object *object =
		truth_log(calloc(1, definition->instance_size), TRUTH_ARRAY, type, 1);
	size_t at = (uintptr_t)object / 16 % SIDES;

	while (sides[at].object)
		at = (at + 1) % SIDES;
	sides[at] = (struct side){ object, 1 };
	object->isa = (uintptr_t)definition | 1;
	return object;
}

static struct string *make_string(const char *format, int number)
{
	struct string *string = (struct string *)make(strings, "struct string");
	char bytes[32];

	string->length = (uint32_t)snprintf(bytes, sizeof(bytes), format, number);
	string->bytes = TEXT(strdup(bytes));
	return string;
}

static struct object *make_number(long whole)
{
	struct number *number = (struct number *)make(numbers, "struct number");

	number->kind = 'l';
	number->u.whole = whole;
	return &number->base;
}

static struct list *make_list(uint32_t room)
{
	struct list *list = (struct list *)make(lists, "struct list");

	list->room = room;
	list->items = NEW_ZEROED_ARRAY(struct object *, room);
	return list;
}

static void append(struct list *list, struct object *object)
{
	if (list->count == list->room) {
		list->room *= 2;
		list->items = RENEW_ARRAY(struct object *, list->items, list->room);
		for (uint32_t i = list->count; i < list->room; i++)
			list->items[i] = NULL;
	}
	list->items[list->count++] = object;
}

static struct view *make_view(struct view *parent, int depth)
{
	struct view *view = (struct view *)make(views, "struct view");

	view->parent = parent;
	view->title = make_string("View %d", depth);
	view->frame[2] = 100;
	view->children = make_list(2);
	for (int i = 0; depth > 0 && i < 3; i++)
		append(view->children, &make_view(view, depth - 1)->base);
	return view;
}

static struct object *make_table(int number)
{
	struct table *table = (struct table *)make(tables, "struct table");

	table->room = 4;
	table->pairs = NEW_ZEROED_ARRAY(struct pair, 4);
	for (int i = 0; i < 3; i++) {
		table->pairs[i].key = &make_string("key%d", i)->base;
		table->pairs[i].value = i & 1 ? make_number(number) : &make_list(3)->base;
		table->count++;
	}
	return &table->base;
}

int main(void)
{
	sides = NEW_ZEROED_ARRAY(struct side, SIDES);

	struct definition *root = make_class(NULL, "Root", sizeof(struct object));

	strings = make_class(root, "String", sizeof(struct string));
	numbers = make_class(root, "Number", sizeof(struct number));
	lists = make_class(root, "List", sizeof(struct list));
	tables = make_class(root, "Table", sizeof(struct table));
	views = make_class(root, "View", sizeof(struct view));
	window = make_view(NULL, DEPTH);
	for (int i = 0; i < TABLES; i++)
		all[i] = make_table(i);
	truth_capture();
	return window->children->count == 0 || !all[0];
}
