// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A parser of a small language that keeps its tree: nodes with a union of their kinds, made
 * through an xmalloc() that knows no types, symbols in nested scopes, types shared.
 */
#include "t/truth/truth.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return block;
}

static void *xzalloc(size_t size)
{
	return memset(xmalloc(size), 0, size);
}

static char *xstrndup(const char *text, size_t length)
{
	char *copy = xmalloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

enum token {
	T_END,
	T_NAME,
	T_NUMBER,
	T_STRING,
	T_PUNCTUATION
};

struct position {
	int line, column;
};

struct type {
	enum {
		TYPE_INT,
		TYPE_STRING,
		TYPE_POINTER,
		TYPE_FUNCTION
	} kind;
	struct type *base;
	struct type **parameters;
	unsigned parameter_count;
};

struct node;

struct symbol {
	struct symbol *chain;
	char *name;
	struct type *type;
	struct node *definition;
	unsigned uses;
};

struct scope {
	struct scope *outer;
	struct symbol *symbols;
	unsigned depth;
};

enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,
	NODE_NAME,
	NODE_BINARY,
	NODE_CALL,
	NODE_IF,
	NODE_WHILE,
	NODE_BLOCK,
	NODE_LET,
	NODE_FUNCTION,
};

struct node {
	enum node_kind kind;
	struct position position;
	struct node *next;
	union {
		long number;
		char *text;
		struct symbol *symbol;
		struct {
			int operator;
			struct node *left, *right;
		} binary;
		struct {
			struct node *callee, *arguments;
		} call;
		struct {
			struct node *condition, *yes, *no;
		} branch;
		struct {
			struct node *first;
			struct scope *scope;
		} block;
		struct {
			struct symbol *symbol;
			struct node *value;
		} let;
		struct {
			struct symbol *symbol;
			struct node *body;
			struct symbol **parameters;
			unsigned parameter_count;
		} function;
	};
};

struct lexer {
	const char *at;
	struct position position;
	enum token token;
	const char *start;
	size_t length;
};

struct unit {
	struct unit *next;
	char *name;
	struct node *functions, **last;
	struct scope *globals;
	struct type *integer, *string;
};

static void advance(struct lexer *lexer)
{
	while (isspace((unsigned char)*lexer->at)) {
		if (*lexer->at == '\n')
			lexer->position.line++;
		lexer->at++;
	}
	lexer->start = lexer->at;
	if (!*lexer->at) {
		lexer->token = T_END;
	} else if (isalpha((unsigned char)*lexer->at)) {
		while (isalnum((unsigned char)*lexer->at))
			lexer->at++;
		lexer->token = T_NAME;
	} else if (isdigit((unsigned char)*lexer->at)) {
		while (isdigit((unsigned char)*lexer->at))
			lexer->at++;
		lexer->token = T_NUMBER;
	} else if (*lexer->at == '\'') {
		lexer->at++;
		while (*lexer->at != '\'')
			lexer->at++;
		lexer->at++;
		lexer->token = T_STRING;
	} else {
		lexer->at++;
		lexer->token = T_PUNCTUATION;
	}
	lexer->length = (size_t)(lexer->at - lexer->start);
}

static bool is(const struct lexer *lexer, const char *text)
{
	return lexer->length == strlen(text) && !memcmp(lexer->start, text, lexer->length);
}

static bool accept(struct lexer *lexer, const char *text)
{
	if (!is(lexer, text))
		return false;
	advance(lexer);
	return true;
}

static struct node *node_create(struct lexer *lexer, enum node_kind kind)
{
	struct node *node = OF(struct node, xzalloc(sizeof(*node)));

	node->kind = kind;
	node->position = lexer->position;
	return node;
}

static struct scope *scope_push(struct scope *outer)
{
	struct scope *scope = OF(struct scope, xmalloc(sizeof(*scope)));

	scope->outer = outer;
	scope->symbols = NULL;
	scope->depth = outer ? outer->depth + 1 : 0;
	return scope;
}

static struct symbol *declare(struct scope *scope, const char *name, size_t length,
			      struct type *type)
{
	struct symbol *symbol = OF(struct symbol, xzalloc(sizeof(*symbol)));

	symbol->name = TEXT(xstrndup(name, length));
	symbol->type = type;
	symbol->chain = scope->symbols;
	scope->symbols = symbol;
	return symbol;
}

static struct symbol *look_up(struct unit *unit, struct scope *scope, const struct lexer *lexer)
{
	for (struct scope *at = scope; at; at = at->outer)
		for (struct symbol *symbol = at->symbols; symbol; symbol = symbol->chain)
			if (strlen(symbol->name) == lexer->length &&
			    !memcmp(symbol->name, lexer->start, lexer->length))
				return symbol;
	return declare(unit->globals, lexer->start, lexer->length, unit->integer);
}

static struct node *parse_expression(struct unit *unit, struct lexer *lexer, struct scope *scope);

static struct node *parse_primary(struct unit *unit, struct lexer *lexer, struct scope *scope)
{
	struct node *node, **last;

	if (lexer->token == T_NUMBER) {
		node = node_create(lexer, NODE_NUMBER);
		node->number = strtol(lexer->start, NULL, 10);
		advance(lexer);
		return node;
	}
	if (lexer->token == T_STRING) {
		node = node_create(lexer, NODE_TEXT);
		node->text = TEXT(xstrndup(lexer->start + 1, lexer->length - 2));
		advance(lexer);
		return node;
	}
	node = node_create(lexer, NODE_NAME);
	node->symbol = look_up(unit, scope, lexer);
	node->symbol->uses++;
	advance(lexer);
	if (accept(lexer, "(")) {
		struct node *call = node_create(lexer, NODE_CALL);
		call->call.callee = node;
		for (last = &call->call.arguments; !accept(lexer, ")"); last = &(*last)->next) {
			*last = parse_expression(unit, lexer, scope);
			accept(lexer, ",");
		}
		return call;
	}
	return node;
}

static struct node *parse_expression(struct unit *unit, struct lexer *lexer, struct scope *scope)
{
	struct node *left = parse_primary(unit, lexer, scope);

	while (is(lexer, "+") || is(lexer, "-") || is(lexer, "<") || is(lexer, "=")) {
		struct node *binary = node_create(lexer, NODE_BINARY);
		binary->binary.operator= * lexer->start;
		advance(lexer);
		binary->binary.left = left;
		binary->binary.right = parse_primary(unit, lexer, scope);
		left = binary;
	}
	return left;
}

static struct node *parse_statement(struct unit *unit, struct lexer *lexer, struct scope *scope)
{
	struct node *node, **last;

	if (accept(lexer, "{")) {
		node = node_create(lexer, NODE_BLOCK);
		node->block.scope = scope_push(scope);
		for (last = &node->block.first; !accept(lexer, "}"); last = &(*last)->next)
			*last = parse_statement(unit, lexer, node->block.scope);
		return node;
	}
	if (is(lexer, "if") || is(lexer, "while")) {
		node = node_create(lexer, is(lexer, "if") ? NODE_IF : NODE_WHILE);
		advance(lexer);
		node->branch.condition = parse_expression(unit, lexer, scope);
		node->branch.yes = parse_statement(unit, lexer, scope);
		if (accept(lexer, "else"))
			node->branch.no = parse_statement(unit, lexer, scope);
		return node;
	}
	if (accept(lexer, "let")) {
		node = node_create(lexer, NODE_LET);
		node->let.symbol = declare(scope, lexer->start, lexer->length, unit->integer);
		node->let.symbol->definition = node;
		advance(lexer);
		accept(lexer, "=");
		node->let.value = parse_expression(unit, lexer, scope);
	} else {
		node = parse_expression(unit, lexer, scope);
	}
	accept(lexer, ";");
	return node;
}

static struct type *function_type(struct unit *unit, unsigned parameters)
{
	struct type *type = OF(struct type, xzalloc(sizeof(*type)));

	type->kind = TYPE_FUNCTION;
	type->base = unit->integer;
	type->parameter_count = parameters;
	if (parameters)
		type->parameters = ARRAY_OF(struct type *, parameters,
					    xmalloc(parameters * sizeof(*type->parameters)));
	for (unsigned i = 0; i < parameters; i++)
		type->parameters[i] = unit->integer;
	return type;
}

static void parse_function(struct unit *unit, struct lexer *lexer)
{
	struct node *node = node_create(lexer, NODE_FUNCTION);
	struct scope *scope = scope_push(unit->globals);
	struct symbol *parameters[8];

	node->function.symbol = declare(unit->globals, lexer->start, lexer->length, NULL);
	node->function.symbol->definition = node;
	advance(lexer);
	for (accept(lexer, "("); !accept(lexer, ")"); accept(lexer, ",")) {
		parameters[node->function.parameter_count++] =
			declare(scope, lexer->start, lexer->length, unit->integer);
		advance(lexer);
	}
	node->function.symbol->type = function_type(unit, node->function.parameter_count);
	if (node->function.parameter_count) {
		size_t size = node->function.parameter_count * sizeof(struct symbol *);
		node->function.parameters =
			ARRAY_OF(struct symbol *, node->function.parameter_count, xmalloc(size));
		memcpy(node->function.parameters, parameters, size);
	}
	node->function.body = parse_statement(unit, lexer, scope);
	*unit->last = node;
	unit->last = &node->next;
}

static struct unit *parse_unit(const char *name, const char *source)
{
	struct unit *unit = OF(struct unit, xzalloc(sizeof(*unit)));
	struct lexer lexer = { .at = source, .position = { 1, 1 } };

	unit->name = TEXT(xstrndup(name, strlen(name)));
	unit->last = &unit->functions;
	unit->globals = scope_push(NULL);
	unit->integer = OF(struct type, xzalloc(sizeof(struct type)));
	unit->string = OF(struct type, xzalloc(sizeof(struct type)));
	unit->string->kind = TYPE_STRING;
	advance(&lexer);
	while (accept(&lexer, "function"))
		parse_function(unit, &lexer);
	return unit;
}

static const char *const source =
	"function count(from, to) { let i = from; while i < to { print(i); i = i + 1; } }\n"
	"function greet(name) { if name = 'nobody' print('hello?'); else print('hello', name); }\n"
	"function sum(a, b, c) { let t = a + b; { let u = t + c; log('sum', u); } t - 1; }\n"
	"function main() { count(1, 10); greet('world'); let s = sum(1, 2, 3); if s < 6 { "
	"let e = s + 1; fail(e, 'too small'); } else { print(s); } }\n";

int main(void)
{
	struct unit *units = NULL;
	size_t functions = 0;

	for (int i = 0; i < 40; i++) {
		char name[32];
		struct unit *unit;

		snprintf(name, sizeof(name), "unit-%d", i);
		unit = parse_unit(name, source);
		unit->next = units;
		units = unit;
	}
	truth_capture();
	for (struct unit *unit = units; unit; unit = unit->next)
		for (struct node *node = unit->functions; node; node = node->next)
			functions++;
	printf("%zu functions\n", functions);
	return 0;
}
