// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values as scripting engines have them: a union of a number and a void *, and beside it a number that is no
 * enum. What the void * leads to is known for some blocks only, by the functions that make them. And nodes
 * whose union has structs in it, one of which holds. And objects of an engine for scripts, whose union has structs
 * with unions of their own: the numbers in one of them are other data where another one holds.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#define TAG_STRING (-7)
#define TAG_RECORD (-2)
#define TAG_FUNCTION (-1)
#define TAG_INTEGER 0
#define TAG_REAL 8

struct any {
	union {
		int32_t integer;
		double real;
		void *pointer;
	};
	int64_t tag;
};

struct string {
	uint32_t references, length;
	char *text;
	uint64_t hash;
};

struct record {
	uint32_t references, count;
	struct any *values;
	struct record *parent;
};

struct function {
	uint32_t references, arity;
	struct any self;
};

enum shape {
	LEAF,
	PAIR,
	MANY
};

// A node whose members depend on its shape.
struct node {
	uint8_t shape, depth;
	uint16_t line;
	union {
		struct {
			char *name;
			long value;
		} leaf;
		struct {
			struct node *left, *right;
		} pair;
		struct {
			struct node **nodes;
			size_t count;
		} many;
	};
};

struct cell {
	struct cell *next;
	struct any value;
};

struct code {
	uint32_t length, cells;
	char *name;
};

struct buffer {
	size_t length;
	uint8_t *bytes;
};

struct view {
	struct buffer *buffer;
	size_t start;
	void *index; // whose type only the caller of the wrapper knows
};

struct iterator {
	struct any of, key;
	int flags;
};

struct bound {
	struct any self, function;
	int count;
	struct any arguments[];
};

enum class {
	NATIVE = 3,
	SCRIPTED = 7,
	VIEW = 20,
	ITERATOR = 21,
	BOUND = 22
};

struct object {
	int references;
	uint16_t class;
	uint16_t flags;
	struct object *next;
	union {
		void *any;
		struct iterator *iterator;
		struct bound *bound;
		struct {
			struct code *code;
			struct cell **cells;
			struct object *home;
		} scripted;
		struct {
			struct record *realm;
			union {
				int (*plain)(int);
				double (*real)(double);
			} call;
			uint8_t length, kind;
			int16_t magic;
		} native;
		struct {
			union {
				uint32_t capacity;
				struct view *view;
			};
			union {
				struct any *values;
				void *start;
				uint8_t *bytes;
				int32_t *numbers;
				double *reals;
			};
			uint32_t count;
		} array;
	};
};

static struct object *objects;
static struct record *globals;
static struct node *tree;
static struct string *names[8];
static struct record *records[8];
static struct function *functions[8];

static void *allocate(size_t size)
{
	void *block = calloc(1, size);

	if (!block)
		abort();
	return block;
}

static char *make_text(void)
{
	char text[32];

	snprintf(text, sizeof(text), "name_%u", (unsigned)(next() % 100000));
	return TEXT(strdup(text));
}

static struct any make_any(int depth);

static struct any make_string(void)
{
	struct any any = { .tag = TAG_STRING };
	struct string *string = any.pointer = OF(struct string, allocate(sizeof(*string)));

	*string = (struct string){ 1, 10, make_text(), next() };
	if (next() % 64 == 0)
		names[next() % 8] = string;
	return any;
}

static struct any make_record(int depth)
{
	struct any any = { .tag = TAG_RECORD };
	struct record *record = any.pointer = OF(struct record, allocate(sizeof(*record)));

	record->references = 1;
	record->count = 1 + next() % 5;
	record->values = NEW_ZEROED_ARRAY(struct any, record->count);
	record->parent = next() % 2 ? globals : NULL;
	for (uint32_t i = 0; i < record->count; i++)
		record->values[i] = make_any(depth + 1);
	if (next() % 64 == 0)
		records[next() % 8] = record;
	return any;
}

static struct any make_function(int depth)
{
	struct any any = { .tag = TAG_FUNCTION };
	struct function *function = any.pointer = OF(struct function, allocate(sizeof(*function)));

	function->references = 1;
	function->arity = next() % 4;
	function->self = make_any(depth + 1);
	if (next() % 64 == 0)
		functions[next() % 8] = function;
	return any;
}

static struct any make_any(int depth)
{
	switch (depth > 6 ? next() % 2 : next() % 5) {
	case 0:
		return (struct any){ .integer = (int32_t)next(), .tag = TAG_INTEGER };
	case 1:
		return (struct any){ .real = (double)(next() % 1000) / 7, .tag = TAG_REAL };
	case 2:
		return make_string();
	case 3:
		return make_record(depth);
	default:
		return make_function(depth);
	}
}

static struct node *make_node(int depth)
{
	struct node *node = OF(struct node, allocate(sizeof(*node)));

	node->shape = depth > 9 ? LEAF : (uint8_t)(next() % 3);
	node->depth = (uint8_t)depth;
	node->line = (uint16_t)next();
	switch (node->shape) {
	case LEAF:
		node->leaf.name = make_text();
		node->leaf.value = (long)(next() % 100);
		break;
	case PAIR:
		node->pair.left = make_node(depth + 1);
		node->pair.right = make_node(depth + 1);
		break;
	default:
		node->many.count = 1 + next() % 3;
		node->many.nodes = ARRAY_OF(struct node *, node->many.count,
					    allocate(node->many.count * sizeof(void *)));
		for (size_t i = 0; i < node->many.count; i++)
			node->many.nodes[i] = make_node(depth + 1);
	}
	return node;
}

static struct object *make_object(enum class class)
{
	struct object *object = NEW_ZEROED(struct object);

	object->references = 1;
	object->class = (uint16_t) class;
	object->next = objects;
	objects = object;
	return object;
}

static void make_scripted(void)
{
	static struct code *code;
	struct object *object = make_object(SCRIPTED);
	uint32_t count = 1 + next() % 3;

	if (!code || next() % 16 == 0) {
		code = NEW_ZEROED(struct code);
		code->name = make_text();
	}
	object->scripted.code = code;
	object->scripted.cells = NEW_ZEROED_ARRAY(struct cell *, count);
	for (uint32_t i = 0; i < count; i++) {
		object->scripted.cells[i] = NEW_ZEROED(struct cell);
		object->scripted.cells[i]->value = (struct any){ .integer = 1 };
	}
}

static int identity(int number)
{
	return number;
}

static void make_native(void)
{
	struct object *object = make_object(NATIVE);

	object->native.realm = globals;
	object->native.call.plain = identity;
	object->native.length = (uint8_t)(next() % 3);
}

// Zeros, of sizes that some structs have, too.
static void make_view(size_t count)
{
	struct object *object = make_object(VIEW);
	struct view *view = NEW_ZEROED(struct view);
	struct buffer *buffer = NEW_ZEROED(struct buffer);

	buffer->length = count * sizeof(double);
	buffer->bytes = ARRAY_OF(uint8_t, buffer->length, allocate(buffer->length));
	view->buffer = buffer;
	if (count % 4 == 0) {
		uint32_t *index = ARRAY_OF(uint32_t, 16, allocate(16 * sizeof(*index)));

		index[0] = (uint32_t)next();
		view->index = index;
	}
	object->array.view = view;
	object->array.start = buffer->bytes;
	object->array.count = (uint32_t)count;
}

static void make_objects(void)
{
	for (unsigned i = 0; i < 1200; i++) {
		make_scripted();
		if (i % 8 == 0)
			make_native();
		if (i % 3 == 0)
			make_view(1 + i / 3 % 40);
		if (i % 200 == 0)
			make_object(ITERATOR)->iterator = NEW_ZEROED(struct iterator);
		if (i % 200 == 1)
			make_object(BOUND)->bound =
				NEW_FLEXIBLE(struct bound, sizeof(struct bound) + 32);
	}
}

int main(void)
{
	globals = NEW_ZEROED(struct record);
	globals->references = 1;
	globals->count = 2000;
	globals->values = NEW_ZEROED_ARRAY(struct any, globals->count);
	for (uint32_t i = 0; i < globals->count; i++)
		globals->values[i] = make_any(0);
	tree = OF(struct node, allocate(sizeof(*tree)));
	tree->shape = MANY;
	tree->many.count = 400;
	tree->many.nodes = NEW_ZEROED_ARRAY(struct node *, tree->many.count);
	for (size_t i = 0; i < tree->many.count; i++)
		tree->many.nodes[i] = make_node(1);
	make_objects();
	truth_capture();
	return names[0] == NULL && records[0] == NULL && functions[0] == NULL;
}
