// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A small compiler's syntax tree: a node has a kind, and a union of pointers to what nodes of that kind
 * have. Several of these structs have one size, and several hold nothing but nodes.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum kind {
	NAME,
	NUMBER,
	STRING,
	UNARY,
	BINARY,
	INDEX,
	ASSIGN,
	CALL,
	CHOICE,
	LAMBDA
};

struct expr {
	enum kind kind;
	int line;
	union {
		struct name *name;
		double number;
		struct string *string;
		struct unary *unary;
		struct binary *binary;
		struct index *index;
		struct assign *assign;
		struct call *call;
		struct choice *choice;
		struct lambda *lambda;
	} as;
};

struct name {
	char *text;
	uint32_t hash, slot;
	bool is_local;
};

struct string {
	char *text;
	size_t length, capacity;
};

struct unary {
	struct expr *operand;
	int operator, precedence;
	uint64_t cost;
};

// These three hold two nodes and a number.
struct binary {
	struct expr *left, *right;
	int operator;
};

struct index {
	struct expr *base, *subscript;
	bool is_checked;
};

struct assign {
	struct expr *target, *value;
	uint64_t depth;
};

struct call {
	struct expr *callee;
	struct expr **arguments;
	int count;
};

struct choice {
	struct expr *condition, *then, *otherwise;
};

struct lambda {
	struct expr *body;
	struct name **parameters;
	int count;
	bool is_variadic;
};

struct module {
	char *path;
	struct expr **statements;
	size_t count;
};

static struct module *modules[16];

static void *allocate(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static char *make_text(const char *stem)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%u", stem, (unsigned)(next() % 100000));
	return TEXT(strdup(text));
}

static struct expr *make(int depth);

static struct expr *make_node(enum kind kind)
{
	struct expr *expr = OF(struct expr, allocate(sizeof(*expr)));

	expr->kind = kind;
	expr->line = (int)(next() % 5000);
	return expr;
}

static struct name *make_name(void)
{
	struct name *name = OF(struct name, allocate(sizeof(*name)));

	*name = (struct name){ make_text("name"), (uint32_t)next(), (uint32_t)(next() % 40),
			       next() % 2 };
	return name;
}

static void fill_unary(struct expr *expr, int depth)
{
	expr->as.unary = OF(struct unary, allocate(sizeof(struct unary)));
	expr->as.unary->operand = make(depth + 1);
	expr->as.unary->operator=(int)(next() % 4);
	expr->as.unary->precedence = 7;
	expr->as.unary->cost = next() % 50;
}

static void fill_two(struct expr *expr, int depth)
{
	switch (expr->kind) {
	case BINARY:
		expr->as.binary = OF(struct binary, allocate(sizeof(struct binary)));
		expr->as.binary->left = make(depth + 1);
		expr->as.binary->right = make(depth + 1);
		expr->as.binary->operator=(int)(next() % 12);
		break;
	case INDEX:
		expr->as.index = OF(struct index, allocate(sizeof(struct index)));
		expr->as.index->base = make(depth + 1);
		expr->as.index->subscript = make(depth + 1);
		expr->as.index->is_checked = next() % 2;
		break;
	default:
		expr->as.assign = OF(struct assign, allocate(sizeof(struct assign)));
		expr->as.assign->target = make(depth + 1);
		expr->as.assign->value = make(depth + 1);
		expr->as.assign->depth = next() % 9;
	}
}

static void fill_call(struct expr *expr, int depth)
{
	struct call *call = expr->as.call = OF(struct call, allocate(sizeof(struct call)));

	call->callee = make(depth + 1);
	call->count = (int)(1 + next() % 4);
	call->arguments = NEW_ARRAY(struct expr *, call->count);
	for (int i = 0; i < call->count; i++)
		call->arguments[i] = make(depth + 1);
}

static void fill_choice(struct expr *expr, int depth)
{
	expr->as.choice = OF(struct choice, allocate(sizeof(struct choice)));
	expr->as.choice->condition = make(depth + 1);
	expr->as.choice->then = make(depth + 1);
	expr->as.choice->otherwise = next() % 3 ? make(depth + 1) : NULL;
}

static void fill_lambda(struct expr *expr, int depth)
{
	struct lambda *lambda = expr->as.lambda =
		OF(struct lambda, allocate(sizeof(struct lambda)));

	lambda->body = make(depth + 1);
	lambda->count = (int)(1 + next() % 3);
	lambda->is_variadic = next() % 2;
	lambda->parameters = NEW_ARRAY(struct name *, lambda->count);
	for (int i = 0; i < lambda->count; i++)
		lambda->parameters[i] = make_name();
}

static struct expr *make(int depth)
{
	struct expr *expr = make_node((enum kind)(next() % (depth > 7 ? UNARY : LAMBDA + 1)));

	switch (expr->kind) {
	case NAME:
		expr->as.name = make_name();
		break;
	case NUMBER:
		expr->as.number = (double)(next() % 1000) / 8;
		break;
	case STRING:
		expr->as.string = OF(struct string, allocate(sizeof(struct string)));
		*expr->as.string = (struct string){ make_text("text"), 6, 16 };
		break;
	case UNARY:
		fill_unary(expr, depth);
		break;
	case CALL:
		fill_call(expr, depth);
		break;
	case CHOICE:
		fill_choice(expr, depth);
		break;
	case LAMBDA:
		fill_lambda(expr, depth);
		break;
	default:
		fill_two(expr, depth);
	}
	return expr;
}

int main(void)
{
	for (size_t i = 0; i < 16; i++) {
		struct module *module = modules[i] = NEW(struct module);

		module->path = make_text("module");
		module->count = 20;
		module->statements = NEW_ARRAY(struct expr *, module->count);
		for (size_t j = 0; j < module->count; j++)
			module->statements[j] = make(0);
	}
	truth_capture();
	return modules[0]->path[0] == '\0';
}
