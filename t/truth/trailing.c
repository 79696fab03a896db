// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The declarations of a program. All pointers to them are to what they begin with, and behind functions and classes are as
 * many pointers as these have parameters and members, of which no type tells.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	SCOPES = 50,
	DECLARATIONS = 8,
};

struct type {
	int number;
	unsigned flags;
};

struct declaration {
	enum {
		VARIABLE,
		FUNCTION,
		CLASS
	} kind;
	struct scope *scope;
	char *name;
	struct type *type;
};

struct function {
	struct declaration declaration;
	unsigned parameters;
};

struct class
{
	struct declaration declaration;
	struct declaration *base;
	unsigned members, flags;
};

struct scope {
	struct scope *outer;
	struct declaration *declarations[DECLARATIONS];
};

static struct scope *scopes[SCOPES];

static __attribute__((noinline)) void declare(struct scope *scope, int number, int kind,
					      struct declaration *declaration)
{
	char name[32];

	snprintf(name, sizeof(name), "name_%d", (int)(next() % 300));
	declaration->kind = kind;
	declaration->scope = scope;
	declaration->name = TEXT(strdup(name));
	declaration->type = NEW(struct type);
	declaration->type->number = number;
	declaration->type->flags = 4;
	scope->declarations[number] = declaration;
}

static struct declaration **add_function(struct scope *scope, int number, unsigned count)
{
	struct function *function = OF(
		struct function, malloc(sizeof(*function) + count * sizeof(struct declaration *)));

	declare(scope, number, FUNCTION, &function->declaration);
	function->parameters = count;
	return (struct declaration **)(function + 1);
}

static struct declaration **add_class(struct scope *scope, int number, unsigned count)
{
	struct class *class =
		OF(struct class, malloc(sizeof(*class) + count * sizeof(struct declaration *)));

	declare(scope, number, CLASS, &class->declaration);
	class->base = scope->declarations[0];
	class->members = count;
	class->flags = 0;
	return (struct declaration **)(class + 1);
}

static struct scope *scope_new(struct scope *outer)
{
	struct scope *scope = NEW_ZEROED(struct scope);

	scope->outer = outer;
	for (int i = 0; i < DECLARATIONS; i++) {
		unsigned count = i / 3;
		struct declaration **behind;

		if (i % 3 == 0) {
			declare(scope, i, VARIABLE, NEW(struct declaration));
			continue;
		}
		behind = i % 3 == 1 ? add_function(scope, i, count) : add_class(scope, i, count);
		for (unsigned k = 0; k < count; k++)
			behind[k] = scope->declarations[k];
	}
	return scope;
}

int main(void)
{
	for (int i = 0; i < SCOPES; i++)
		scopes[i] = scope_new(i % 5 ? scopes[0] : NULL);
	truth_capture();
	return scopes[0]->outer != NULL;
}
