// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An allocator of the program's own with a free list for each size: it cuts its blocks into parts with a header, which in
 * those that are free is the link of their list. The code that makes a block has a pointer to such headers.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	SLAB = 16384,
	CLASSES = 6,
	SMALLEST = 32,
	SYMBOLS = 3000,
	VALUES = 16000,
	VALUES_AT_ONCE = 400,
	TABLE = 1024,
};

union header {
	union header *next;
	struct {
		uint8_t magic, class, unused, magic_too;
		uint32_t requested;
	} used;
	char room[16];
};

struct list {
	union header *first;
	uint64_t free, taken;
};

struct kind {
	const char *name;
	void (*release)(void *value);
};

struct value {
	int references;
	int length;
	char *text;
	const struct kind *kind;
	union {
		long number;
		double real;
		struct {
			void *first, *second;
		} two;
	} as;
};

struct array {
	int references;
	int room, count;
	struct value *items[];
};

struct symbol {
	struct symbol *next;
	struct scope *scope;
	struct value *value;
	uint32_t hash, flags;
	char *name;
};

struct scope {
	char *name;
	struct interpreter *interpreter;
	struct scope *parent, *first_child, *next_sibling;
	struct symbol **table;
	uint32_t count, mask;
};

struct interpreter {
	char *result;
	struct scope *global;
	struct scope *current;
	struct value *last;
	struct value *constants[40];
	long steps;
};

static struct list lists[CLASSES];
static struct value *free_values;
static struct interpreter *interpreter;
static const struct kind number_kind = { "number", NULL }, list_kind = { "list", NULL };

static int class_of(size_t size)
{
	int class = 0;

	while (((size_t)SMALLEST << class) < size + sizeof(union header))
		class ++;
	return class;
}

__attribute__((noinline)) static void fill_list(int class)
{
	size_t size = (size_t)SMALLEST << class;
	union header *header = malloc(SLAB);

	truth_log(header, TRUTH_POOL, "void", 0);
	for (size_t i = 0; i < SLAB / size; i++) {
		header->next = lists[class].first;
		lists[class].first = header;
		lists[class].free++;
		header = (union header *)((char *)header + size);
	}
}

__attribute__((noinline)) static void *allocate(size_t size)
{
	int class = class_of(size);
	union header *header;

	if (!lists[class].first)
		fill_list(class);
	header = lists[class].first;
	lists[class].first = header->next;
	lists[class].free--;
	lists[class].taken++;
	header->used.magic = header->used.magic_too = 0xef;
	header->used.class = (uint8_t) class;
	header->used.unused = 0;
	header->used.requested = (uint32_t)size;
	return header + 1;
}

__attribute__((noinline)) static void release(void *pointer)
{
	union header *header = (union header *)pointer - 1;
	int class = header->used.class;

	PART_FREE(pointer);
	header->next = lists[class].first;
	lists[class].first = header;
	lists[class].free++;
}

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(allocate(size), text, size);
}

static struct value *make_value(void)
{
	struct value *value;

	if (!free_values) {
		value = malloc(VALUES_AT_ONCE * sizeof(*value));
		truth_log(value, TRUTH_ARRAY, "struct value", VALUES_AT_ONCE);
		memset(value, 0, VALUES_AT_ONCE * sizeof(*value));
		for (int i = 0; i < VALUES_AT_ONCE; i++) {
			value[i].as.two.first = free_values;
			free_values = value + i;
		}
	}
	value = free_values;
	free_values = value->as.two.first;
	*value = (struct value){ .references = 1 };
	return value;
}

static struct value *make_number(long number)
{
	struct value *value = make_value();
	char text[24];

	value->kind = &number_kind;
	value->as.number = number;
	value->length = snprintf(text, sizeof(text), "%ld", number);
	value->text = copy_text(text);
	return value;
}

static struct value *make_list(int count)
{
	struct array *array = PART(
		struct array, allocate(sizeof(*array) + (size_t)count * sizeof(array->items[0])));
	struct value *value = make_value();

	*array = (struct array){ .references = 1, .room = count, .count = count };
	for (int i = 0; i < count; i++)
		array->items[i] = make_number((long)(next() % 1000));
	value->kind = &list_kind;
	value->as.two.first = array;
	value->as.two.second = NULL;
	return value;
}

static struct scope *make_scope(const char *name, struct scope *parent)
{
	struct scope *scope = PART(struct scope, allocate(sizeof(*scope)));

	*scope = (struct scope){ .name = copy_text(name),
				 .interpreter = interpreter,
				 .parent = parent };
	scope->mask = parent ? 15 : 63;
	scope->table = allocate((scope->mask + 1) * sizeof(*scope->table));
	memset(scope->table, 0, (scope->mask + 1) * sizeof(*scope->table));
	if (parent) {
		scope->next_sibling = parent->first_child;
		parent->first_child = scope;
	}
	return scope;
}

static void define(struct scope *scope, const char *name, struct value *value)
{
	struct symbol *symbol = PART(struct symbol, allocate(sizeof(*symbol)));
	uint32_t hash = (uint32_t)(next() >> 20);

	*symbol = (struct symbol){
		scope->table[hash & scope->mask], scope, value, hash, 0, copy_text(name)
	};
	scope->table[hash & scope->mask] = symbol;
	scope->count++;
}

int main(void)
{
	void *scratch[500];
	char name[32];

	interpreter = PART(struct interpreter, allocate(sizeof(*interpreter)));
	memset(interpreter, 0, sizeof(*interpreter));
	interpreter->result = copy_text("no result");
	interpreter->global = interpreter->current = make_scope("global", NULL);
	for (int i = 0; i < 40; i++)
		interpreter->constants[i] = make_number(i);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "scope number %d", i);
		interpreter->current = make_scope(name, interpreter->global);
		for (int j = 0; j < SYMBOLS / 200; j++) {
			snprintf(name, sizeof(name), "symbol %d of %d", j, i);
			define(interpreter->current, name,
			       j % 3 ? make_number(j) : make_list(1 + j % 7));
		}
	}
	for (int i = 0; i < 500; i++)
		scratch[i] = allocate(next() % 400);
	for (int i = 0; i < 500; i++)
		release(scratch[i]);
	truth_capture();
	printf("%s, %lu symbols\n", interpreter->result, (unsigned long)interpreter->global->count);
	return 0;
}
