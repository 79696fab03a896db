// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A heap of equal slots: pages of them, each with an object of any kind, or none. The kind is a few bits of the header
 * that all objects begin with. Values are words: numbers with a bit set, or addresses of objects; no declaration says
 * of which kind. What does not fit a slot is a block of its own.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	SLOTS = 512, // of a page
	NAMES = 300,
	OBJECTS = 12000,
};

typedef uintptr_t value;

enum kind {
	KIND_FREE,
	KIND_CLASS,
	KIND_OBJECT,
	KIND_STRING,
	KIND_ARRAY,
	KIND_CLOSURE,
	KIND_RANGE,
	KIND_FLOAT,
};

#define HEADER \
	struct VClass *class; \
	struct VBasic *gray; \
	enum kind kind : 6; \
	unsigned int color : 2; \
	unsigned int flags : 24

struct VBasic {
	HEADER;
};

struct VClass {
	HEADER;
	struct VClass *super;
	struct method *methods;
	const char *name;
};

struct VObject {
	HEADER;
	struct fields *fields;
};

struct VString {
	HEADER;
	size_t length;
	char *bytes;
};

struct VArray {
	HEADER;
	size_t length, room;
	value *items;
};

struct VClosure {
	HEADER;
	struct code *code;
	struct VBasic *self;
};

struct VRange {
	HEADER;
	value first, last;
};

struct VFloat {
	HEADER;
	double number;
};

struct method {
	struct method *next;
	struct VClosure *body;
	unsigned name;
};

struct fields {
	int count;
	value *values;
};

struct code {
	int registers, length;
	unsigned char *bytes;
};

union slot {
	struct {
		HEADER;
		union slot *next;
	} free;
	struct VBasic basic;
	struct VClass class;
	struct VArray array;
};

struct page {
	struct page *next;
	size_t used;
	union slot slots[];
};

static struct page *pages;
static union slot *free_slots;
static struct VClass *object_class, *string_class;
static struct VArray *globals;
static struct VBasic *gray;

static void add_page(void)
{
	struct page *page =
		POOL(struct page, calloc(1, sizeof(struct page) + SLOTS * sizeof(union slot)));

	page->next = pages;
	pages = page;
	for (int i = SLOTS - 1; i >= 0; i--) {
		page->slots[i].free.next = free_slots;
		free_slots = &page->slots[i];
	}
}

static void *allocate(enum kind kind, struct VClass *class)
{
	union slot *slot;

	if (!free_slots)
		add_page();
	slot = free_slots;
	free_slots = slot->free.next;
	memset(slot, 0, sizeof(*slot));
	slot->basic.kind = kind;
	slot->basic.class = class;
	return slot;
}

#define ALLOCATE(T, kind, class) PART(struct T, allocate(kind, class))

static value number(long n)
{
	return (value)n << 1 | 1;
}

static value string(const char *text)
{
	struct VString *s = ALLOCATE(VString, KIND_STRING, string_class);

	s->length = strlen(text);
	s->bytes = TEXT(strdup(text));
	return (value)s;
}

static struct VArray *array(size_t room)
{
	struct VArray *a = ALLOCATE(VArray, KIND_ARRAY, object_class);

	a->room = room;
	a->items = NEW_ZEROED_ARRAY(value, room);
	return a;
}

static void append(struct VArray *a, value v)
{
	if (a->length == a->room) {
		a->room *= 2;
		a->items = RENEW_ARRAY(value, a->items, a->room);
	}
	a->items[a->length++] = v;
}

static struct VClosure *closure(struct VBasic *self, int length)
{
	struct VClosure *c = ALLOCATE(VClosure, KIND_CLOSURE, object_class);

	c->self = self;
	c->code = NEW(struct code);
	*c->code = (struct code){ 4, length, NEW_ARRAY(unsigned char, length) };
	memset(c->code->bytes, 0x17, length);
	return c;
}

static struct VClass *class(const char *name, struct VClass *super)
{
	struct VClass *c = ALLOCATE(VClass, KIND_CLASS, object_class);

	c->super = super;
	c->name = name;
	for (unsigned i = 0; i < 5; i++) {
		struct method *m = NEW(struct method);

		*m = (struct method){ c->methods, closure((struct VBasic *)c, 20 + i), i };
		c->methods = m;
	}
	return c;
}

static value object(struct VClass *class, int i)
{
	struct VObject *o = ALLOCATE(VObject, KIND_OBJECT, class);
	char name[40];

	o->fields = NEW(struct fields);
	*o->fields = (struct fields){ 3, NEW_ARRAY(value, 3) };
	snprintf(name, sizeof(name), "object number %d", i);
	o->fields->values[0] = string(name);
	o->fields->values[1] = number(i);
	o->fields->values[2] = (value)globals;
	return (value)o;
}

static value other(int i)
{
	struct VFloat *f;
	struct VRange *r;

	switch (i % 4) {
	case 0:
		f = ALLOCATE(VFloat, KIND_FLOAT, object_class);
		f->number = i * 1.25;
		return (value)f;
	case 1:
		r = ALLOCATE(VRange, KIND_RANGE, object_class);
		r->first = number(i);
		r->last = number(i + 5);
		return (value)r;
	case 2:
		return (value)closure((struct VBasic *)globals, 30 + i % 7);
	default:
		return string("a text of many");
	}
}

static void release(value v)
{
	struct VBasic *basic = (struct VBasic *)v;

	if (v & 1)
		return;
	if (basic->kind == KIND_STRING)
		FREE(((struct VString *)basic)->bytes);
	else if (basic->kind != KIND_FLOAT && basic->kind != KIND_RANGE)
		return;
	PART_FREE(basic);
	basic->kind = KIND_FREE;
	((union slot *)basic)->free.next = free_slots;
	free_slots = (union slot *)basic;
}

int main(void)
{
	struct VClass *classes[8];

	object_class = class("Object", NULL);
	object_class->class = object_class;
	string_class = class("String", object_class);
	globals = array(8);
	for (int i = 0; i < 8; i++)
		classes[i] = class("Derived", i % 3 ? classes[i - 1] : object_class);
	for (int i = 0; i < OBJECTS; i++) {
		struct VArray *row = array(4);

		append(row, object(classes[i % 8], i));
		append(row, other(i));
		append(row, number(i));
		append(globals, (value)row);
	}
	// Slots that are free again, at other places than new ones.
	for (size_t i = 0; i < globals->length; i += 7) {
		struct VArray *row = (struct VArray *)globals->items[i];

		release(row->items[1]);
		row->items[1] = number(0);
	}
	// The collector would visit these next.
	for (size_t i = 0; i < 40; i++) {
		struct VBasic *basic = (struct VBasic *)globals->items[i];

		basic->gray = gray;
		gray = basic;
	}
	truth_capture();
	return globals->length == OBJECTS && gray ? 0 : 1;
}
