// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects and instructions of one size each, which an enum at their start tells apart. The enumerators name
 * the structs, with a word more on either side: KIND_STRING is an ObjString, OP_LOAD a struct load_insn.
 * Objects are linked by their common start; instructions are held by void pointers.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	OBJECTS = 300,
	INSTRUCTIONS = 300
};

typedef enum {
	KIND_NUMBER,
	KIND_STRING,
	KIND_PAIR,
	KIND_FREED
} kind;

typedef struct obj {
	kind kind;
	struct obj *next;
} obj;

typedef struct {
	obj obj;
	long value, scale;
} ObjNumber;

typedef struct {
	obj obj;
	long length, hash;
} ObjString;

typedef struct {
	obj obj;
	obj *first, *second;
} ObjPair;

enum op {
	OP_LOAD,
	OP_STORE,
	OP_JUMP,
	OP_LAST
};

struct load_insn {
	enum op op;
	int line;
	long from, to, width;
};

struct store_insn {
	enum op op;
	int line;
	long to, from, width;
};

struct jump_insn {
	enum op op;
	int line;
	long target, condition, likely;
};

struct code {
	void *instructions[INSTRUCTIONS];
};

static obj *objects;
static struct code *code;

// Nothing here tells what the block will be.
__attribute__((noinline)) static void *allocate(size_t size, unsigned tag)
{
	unsigned *block = calloc(1, size);

	*block = tag;
	return block;
}

static void make(kind kind)
{
	ObjNumber *number;
	ObjString *string;
	ObjPair *pair;
	obj *object = allocate(sizeof(ObjNumber), kind);

	switch (kind) {
	case KIND_NUMBER:
		number = (ObjNumber *)object;
		number->value = 7;
		break;
	case KIND_STRING:
		string = (ObjString *)object;
		string->length = 12;
		break;
	default:
		pair = (ObjPair *)object;
		pair->first = objects;
		break;
	}
	object->next = objects;
	objects = object;
}

static void *emit(enum op op, int line)
{
	void *instruction = allocate(sizeof(struct load_insn), op);

	if (op == OP_LOAD)
		((struct load_insn *)instruction)->from = line;
	else if (op == OP_STORE)
		((struct store_insn *)instruction)->to = line;
	else
		((struct jump_insn *)instruction)->target = line;
	return instruction;
}

int main(void)
{
	code = malloc(sizeof(*code));
	for (int i = 0; i < OBJECTS; i++)
		make((kind)(i % KIND_FREED));
	for (int i = 0; i < INSTRUCTIONS; i++)
		code->instructions[i] = emit((enum op)(i % OP_LAST), i);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return objects == NULL || code == NULL;
}
