// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An interpreter with a garbage collector: its links stand before the objects that can be part of a
 * cycle, and all pointers lead behind them. Objects begin with a count of references and a pointer to
 * their type object, which has functions; variables and members know no more than struct object.
 * Classes that a program of the interpreter makes are type objects on the heap.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct object {
	long references;
	struct type *type;
};

struct sized {
	struct object base;
	long size;
};

struct type {
	struct sized base;
	const char *name;
	size_t basic_size, item_size;
	int collected;
	void (*destroy)(struct object *self);
	long (*hash)(struct object *self);
	long (*length)(struct object *self);
	struct type *parent;
	struct object *attributes;
};

struct links {
	uintptr_t next, previous;
};

struct number {
	struct sized base;
	uint32_t digits[1];
};

struct real {
	struct object base;
	double value;
};

struct text {
	struct sized base;
	long hash;
	char bytes[1];
};

struct list {
	struct sized base;
	struct object **items;
	long allocated;
};

struct tuple {
	struct sized base;
	struct object *items[1];
};

struct entry {
	long hash;
	struct object *key, *value;
};

struct dictionary {
	struct object base;
	long used, slots;
	struct entry *entries;
};

struct closure {
	struct object base;
	struct object *code, *globals, *cells;
	long flags;
};

struct iterator {
	struct object base;
	long index;
	struct object *sequence;
};

static struct links generation = { (uintptr_t)&generation, (uintptr_t)&generation };

static void unlink_collected(struct object *object)
{
	struct links *links = (struct links *)object - 1;

	((struct links *)links->previous)->next = links->next;
	((struct links *)links->next)->previous = links->previous;
}

static void drop(struct object *object)
{
	if (object && --object->references == 0)
		object->type->destroy(object);
}

static void number_destroy(struct number *self)
{
	FREE(self);
}

static long number_hash(struct number *self)
{
	return (long)self->digits[0] * self->base.size;
}

static void real_destroy(struct object *self)
{
	FREE(self);
}

static long real_hash(struct object *self)
{
	struct real *real = (struct real *)self;

	return (long)(real->value * 1000);
}

static void text_destroy(struct object *self)
{
	FREE(self);
}

static long text_hash(struct text *self)
{
	for (long i = 0; self->hash == -1 && i < self->base.size; i++)
		self->hash = self->hash * 31 + self->bytes[i];
	return self->hash;
}

static long sized_length(struct sized *self)
{
	return self->size;
}

static void list_destroy(struct list *self)
{
	for (long i = 0; i < self->base.size; i++)
		drop(self->items[i]);
	unlink_collected(&self->base.base);
	FREE(self->items);
	FREE((struct links *)self - 1);
}

static void tuple_destroy(struct tuple *self)
{
	for (long i = 0; i < self->base.size; i++)
		drop(self->items[i]);
	unlink_collected(&self->base.base);
	FREE((struct links *)self - 1);
}

static void dictionary_destroy(struct object *self)
{
	struct dictionary *dictionary = (struct dictionary *)self;

	for (long i = 0; i < dictionary->slots; i++) {
		drop(dictionary->entries[i].key);
		drop(dictionary->entries[i].value);
	}
	unlink_collected(self);
	FREE(dictionary->entries);
	FREE((struct links *)self - 1);
}

static long dictionary_length(struct dictionary *self)
{
	return self->used;
}

static void closure_destroy(struct closure *self)
{
	drop(self->code);
	drop(self->globals);
	drop(self->cells);
	unlink_collected(&self->base);
	FREE((struct links *)self - 1);
}

static void iterator_destroy(struct iterator *self)
{
	drop(self->sequence);
	unlink_collected(&self->base);
	FREE((struct links *)self - 1);
}

static long identity(struct object *self)
{
	return (long)((uintptr_t)self >> 4);
}

#define DESTROY(function) ((void (*)(struct object *))(function))
#define NUMBER(function) ((long (*)(struct object *))(function))

static struct type number_type = { .name = "number",
				   .basic_size = 24,
				   .item_size = 4,
				   .destroy = DESTROY(number_destroy),
				   .hash = NUMBER(number_hash) };
static struct type real_type = { .name = "real",
				 .basic_size = sizeof(struct real),
				 .destroy = real_destroy,
				 .hash = real_hash };
static struct type text_type = { .name = "text",
				 .basic_size = 33,
				 .item_size = 1,
				 .destroy = text_destroy,
				 .hash = NUMBER(text_hash),
				 .length = NUMBER(sized_length) };
static struct type list_type = { .name = "list",
				 .basic_size = sizeof(struct list),
				 .collected = 1,
				 .destroy = DESTROY(list_destroy),
				 .hash = identity,
				 .length = NUMBER(sized_length) };
static struct type tuple_type = { .name = "tuple",
				  .basic_size = 24,
				  .item_size = 8,
				  .collected = 1,
				  .destroy = DESTROY(tuple_destroy),
				  .hash = identity,
				  .length = NUMBER(sized_length) };
static struct type dictionary_type = { .name = "dictionary",
				       .basic_size = sizeof(struct dictionary),
				       .collected = 1,
				       .destroy = dictionary_destroy,
				       .hash = identity,
				       .length = NUMBER(dictionary_length) };
static struct type closure_type = { .name = "closure",
				    .basic_size = sizeof(struct closure),
				    .collected = 1,
				    .destroy = DESTROY(closure_destroy),
				    .hash = identity };
static struct type iterator_type = { .name = "iterator",
				     .basic_size = sizeof(struct iterator),
				     .collected = 1,
				     .destroy = DESTROY(iterator_destroy),
				     .hash = identity };

// One function makes all objects.
static struct object *make(struct type *type, long items, const char *name, int flexible)
{
	size_t size = type->basic_size + (size_t)items * type->item_size;
	struct object *object;

	size = (size + 7) & ~(size_t)7;
	if (type->collected) {
		struct links *links = calloc(1, sizeof(*links) + size);

		truth_log(links, TRUTH_BEHIND, name, sizeof(*links));
		links->next = (uintptr_t)&generation;
		links->previous = generation.previous;
		((struct links *)links->previous)->next = (uintptr_t)links;
		generation.previous = (uintptr_t)links;
		object = (struct object *)(links + 1);
	} else {
		object = truth_log(calloc(1, size), flexible ? TRUTH_FLEXIBLE : TRUTH_ARRAY, name,
				   1);
	}
	object->references = 1;
	object->type = type;
	type->base.base.references++;
	return object;
}

static struct object *keep(struct object *object)
{
	object->references++;
	return object;
}

static struct object *make_number(long value)
{
	long digits = value > INT32_MAX ? 3 : value > INT16_MAX ? 2 : 1;
	struct object *object = make(&number_type, digits, "struct number", 1);
	struct number *number = (struct number *)object;

	number->base.size = digits;
	number->digits[0] = (uint32_t)value;
	return object;
}

static struct object *make_real(double value)
{
	struct object *object = make(&real_type, 0, "struct real", 0);

	((struct real *)object)->value = value;
	return object;
}

static struct object *make_text(const char *bytes)
{
	struct object *object = make(&text_type, (long)strlen(bytes), "struct text", 1);
	struct text *text = (struct text *)object;

	text->base.size = (long)strlen(bytes);
	text->hash = -1;
	strcpy(text->bytes, bytes);
	return object;
}

static struct object *make_list(long count, struct object *(*item)(long))
{
	struct object *object = make(&list_type, 0, "struct list", 0);
	struct list *list = (struct list *)object;

	list->allocated = count + count / 8 + 4;
	list->items = NEW_ARRAY(struct object *, (size_t)list->allocated);
	for (long i = 0; i < count; i++)
		list->items[i] = item(i);
	list->base.size = count;
	return object;
}

static struct object *make_pair(struct object *first, struct object *second)
{
	struct object *object = make(&tuple_type, 2, "struct tuple", 0);
	struct tuple *tuple = (struct tuple *)object;

	tuple->base.size = 2;
	tuple->items[0] = first;
	tuple->items[1] = second;
	return object;
}

static struct object *make_dictionary(long count)
{
	struct object *object = make(&dictionary_type, 0, "struct dictionary", 0);
	struct dictionary *dictionary = (struct dictionary *)object;
	char name[32];

	dictionary->slots = 8;
	while (dictionary->slots < count * 2)
		dictionary->slots *= 2;
	dictionary->entries = NEW_ZEROED_ARRAY(struct entry, (size_t)dictionary->slots);
	for (long i = 0; i < count; i++) {
		struct entry *entry = &dictionary->entries[i * 2 % dictionary->slots];

		snprintf(name, sizeof(name), "attribute %ld", i);
		entry->key = make_text(name);
		entry->hash = entry->key->type->hash(entry->key);
		entry->value = i % 3 ? make_number(i << (i % 40)) : make_real((double)i / 7);
	}
	dictionary->used = count;
	return object;
}

static struct object *make_any(long i)
{
	struct object *object;
	char text[64];

	switch (i % 7) {
	case 0:
		return make_number(i * 77777);
	case 1:
		return make_real((double)i);
	case 2:
		snprintf(text, sizeof(text), "the text number %ld%.*s", i, (int)(i % 20),
			 "....................");
		return make_text(text);
	case 3:
		return make_pair(make_number(i), make_real((double)i / 3));
	case 4:
		return make_dictionary(i % 11);
	case 5:
		object = make(&closure_type, 0, "struct closure", 0);
		((struct closure *)object)->code = make_text("code");
		((struct closure *)object)->globals = make_dictionary(2);
		((struct closure *)object)->flags = i;
		return object;
	default:
		object = make(&iterator_type, 0, "struct iterator", 0);
		((struct iterator *)object)->index = i;
		((struct iterator *)object)->sequence = make_list(i % 5, make_number);
		return object;
	}
}

static struct object *module;

int main(void)
{
	struct object *last;

	module = make_list(4000, make_any);
	last = ((struct list *)module)->items[5];
	keep(last);
	truth_capture();
	drop(last);
	drop(module);
	return 0;
}
