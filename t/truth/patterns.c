// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values of a small language, one of whose alternatives has a compiled pattern behind a void pointer: code alone tells what
 * that is. Most of such a pattern is room for sets of characters that is not in use: pointers of what was there before stay.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	VALUES = 2000,
	SETS = 6,
	EARLIER = 1200,
	POINTERS = 69,
};

struct step {
	unsigned char operation, count;
	int character;
	struct step *next, *other;
};

struct set {
	unsigned *end;
	unsigned spans[20];
};

struct program {
	struct step *first, *last;
	int flags, groups;
	struct set sets[SETS];
};

enum kind {
	KIND_NUMBER,
	KIND_FLAG,
	KIND_TEXT,
	KIND_LIST,
	KIND_ROUTINE,
	KIND_MATCHER,
	KIND_ITERATOR,
};

struct pattern {
	void *compiled;
	char *source;
	unsigned short flags, last;
};

struct value;

struct body {
	const char *name;
	int code[14];
};

struct scope {
	struct scope *outer;
	struct value *variables;
};

struct value {
	enum kind kind;
	int marked;
	struct value *next;
	union {
		int flag;
		double number;
		struct {
			const char *text;
			int length;
		} text;
		struct {
			int length, simple;
			struct value **items;
		} list;
		struct {
			struct body *body;
			struct scope *scope;
		} routine;
		struct pattern pattern;
		struct {
			struct value *of;
			int at, end;
		} iterator;
	} as;
};

static struct value *values;

static struct value *new_value(enum kind kind)
{
	struct value *value = NEW_ZEROED(struct value);

	value->kind = kind;
	value->next = values;
	values = value;
	return value;
}

static char *copy(const char *text)
{
	char *result = NEW_TEXT(strlen(text) + 1);

	strcpy(result, text);
	return result;
}

// Leaves free blocks as large as a pattern with pointers in them, between others that stay.
static void churn(void)
{
	struct value **tables[EARLIER];

	for (int i = 0; i < EARLIER; i++) {
		tables[i] = malloc(POINTERS * sizeof(*tables[i]));
		for (int j = 0; j < POINTERS; j++)
			tables[i][j] = j > 4 && j < 9 ? values : NULL;
		new_value(KIND_NUMBER)->as.number = i + 0.25;
	}
	for (int i = 0; i < EARLIER; i++)
		free(tables[i]);
	memset(tables, 0, sizeof(tables));
}

__attribute__((noinline)) static struct program *compile(const char *source)
{
	size_t length = strlen(source);
	struct program *program = NEW(struct program);

	program->first = NEW_ZEROED_ARRAY(struct step, length + 1);
	program->last = program->first + length;
	program->flags = 0;
	program->groups = 1;
	for (size_t i = 0; i < length; i++) {
		program->first[i].operation = 1 + (unsigned char)(next() % 9);
		program->first[i].character = source[i];
		program->first[i].next = &program->first[i + 1];
	}
	for (int i = 0; i < SETS; i++)
		program->sets[i].end = program->sets[i].spans;
	return program;
}

__attribute__((noinline)) static int run(struct program *program, const char *text)
{
	struct step *step = program->first;

	while (step < program->last && *text && step->character == *text++)
		step = step->next;
	return step == program->last ? program->groups | program->flags : 0;
}

static void make_pattern(const char *source)
{
	struct value *value = new_value(KIND_MATCHER);

	value->as.pattern.compiled = compile(source);
	value->as.pattern.source = copy(source);
	value->as.pattern.flags = (unsigned short)(next() % 4);
}

__attribute__((noinline)) static int match(struct pattern *pattern, const char *text)
{
	return run(pattern->compiled, text + pattern->last);
}

static void make_value(int number, struct scope *scope)
{
	struct value *value = new_value((enum kind)(number % 3 == 0 ? KIND_ROUTINE : KIND_TEXT));
	char text[32];

	snprintf(text, sizeof(text), "value %d", number);
	if (value->kind == KIND_TEXT) {
		value->as.text.text = copy(text);
		value->as.text.length = (int)strlen(text);
		return;
	}
	value->as.routine.body = NEW_ZEROED(struct body);
	value->as.routine.body->name = copy(text);
	for (int i = 0; i < 14; i++)
		value->as.routine.body->code[i] = (int)(next() % 100);
	value->as.routine.scope = scope;
}

static void make_list(void)
{
	struct value *list = new_value(KIND_LIST), *iterator = new_value(KIND_ITERATOR);

	list->as.list.length = 1 + (int)(next() % 8);
	list->as.list.items = NEW_ZEROED_ARRAY(struct value *, (size_t)list->as.list.length);
	for (int i = 0; i < list->as.list.length; i++) {
		list->as.list.items[i] = new_value(KIND_NUMBER);
		list->as.list.items[i]->as.number = i + 0.5;
	}
	iterator->as.iterator.of = list;
	iterator->as.iterator.end = list->as.list.length;
}

int main(void)
{
	struct scope *scope = NULL;
	int found = 0;

	new_value(KIND_FLAG)->as.flag = 1;
	churn();
	for (int i = 0; i < VALUES; i++) {
		char source[32];

		if (i % 50 == 0) {
			struct scope *inner = NEW_ZEROED(struct scope);

			inner->outer = scope;
			scope = inner;
		}
		make_value(i, scope);
		snprintf(source, sizeof(source), "a%db*", i);
		if (i % 4 == 0)
			make_pattern(source);
		if (i % 4 == 1)
			make_list();
	}
	for (struct value *value = values; value; value = value->next)
		found += value->kind == KIND_MATCHER && match(&value->as.pattern, "a1b");
	scope = NULL;
	truth_capture();
	return found < 0;
}
