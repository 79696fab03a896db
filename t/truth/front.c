// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The front end of a compiler: symbols whose names end them, nodes of a syntax tree that begin alike and end in
 * any number of children, types and tokens with unions, scopes, macros. The nodes with children have several kinds,
 * and two children are as large as a pointer and a length.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct symbol {
	struct symbol *chain;
	uint32_t hash;
	uint16_t length;
	uint8_t keyword, flags;
	struct decl *binding;
	struct macro *macro;
	char text[];
};

struct location {
	uint32_t file : 8, line : 24;
	uint16_t column;
};

enum type_kind {
	T_VOID,
	T_INT,
	T_POINTER,
	T_ARRAY,
	T_FUNCTION,
	T_STRUCT
};

struct type {
	enum type_kind kind;
	uint32_t size, align;
	struct type *pointer_to;
	union {
		struct {
			int bits;
			bool is_signed;
		};
		struct type *target;
		struct {
			struct type *element;
			size_t count;
		} array;
		struct {
			struct type *result;
			struct type **params;
			unsigned param_count;
			bool variadic;
		} function;
		struct {
			struct symbol *tag;
			struct field *fields;
		} record;
	};
};

struct field {
	struct field *next;
	struct symbol *name;
	struct type *type;
	uint32_t offset;
};

struct decl {
	struct decl *next, *shadowed;
	struct symbol *name;
	struct type *type;
	struct scope *scope;
	struct location where;
	enum {
		D_VAR,
		D_FUNC,
		D_TYPEDEF
	} kind;
	union {
		struct node *init;
		struct {
			struct node *body;
			struct decl **params;
			unsigned count;
		} func;
	};
};

struct scope {
	struct scope *outer, *inner, *sibling;
	struct decl *decls;
	unsigned depth;
};

enum token_kind {
	TOK_IDENT,
	TOK_NUMBER,
	TOK_STRING,
	TOK_PUNCT
};

struct token {
	enum token_kind kind;
	struct location at;
	union {
		struct symbol *symbol;
		uint64_t number;
		char *string;
		int punct;
	};
};

struct macro {
	struct symbol *name;
	unsigned token_count, params;
	struct token *tokens;
	struct symbol **param_names;
};

enum node_kind {
	N_IDENT,
	N_INT,
	N_STRING,
	N_BINARY,
	N_UNARY,
	N_CALL,
	N_BLOCK,
	N_IF,
	N_WHILE,
	N_RETURN,
	N_DECL
};

struct node {
	uint16_t kind, op;
	uint32_t count;
	struct location at;
	struct type *type;
};

struct ident_node {
	struct node node;
	struct decl *decl;
};

struct int_node {
	struct node node;
	int64_t value;
};

struct string_node {
	struct node node;
	char *bytes;
	size_t length;
};

struct list_node {
	struct node node;
	struct node *kids[];
}; // binary, unary, call, block, if...

struct decl_node {
	struct node node;
	struct decl *decl;
};

struct unit {
	struct unit *next;
	char *path;
	struct decl *decls;
	struct node **bodies;
	unsigned body_count;
	struct scope *file_scope;
	struct diagnostic *diagnostics;
};

struct diagnostic {
	struct diagnostic *next;
	struct location at;
	int severity;
	char message[1];
};

static struct symbol *table[256];
static struct unit *units;
static struct scope *scope;
static struct type *type_int, *type_char;
static void *zalloc(size_t n)
{
	void *p = calloc(1, n);
	if (!p)
		abort();
	return p;
}

static struct symbol *intern(const char *s)
{
	uint32_t h = 0;
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		h = h * 31 + s[i];
	for (struct symbol *y = table[h & 255]; y; y = y->chain)
		if (y->hash == h && !strcmp(y->text, s))
			return y;
	struct symbol *y = FLEXIBLE_OF(struct symbol, zalloc(sizeof(*y) + n + 1));
	y->hash = h;
	y->length = n;
	memcpy(y->text, s, n + 1);
	y->chain = table[h & 255];
	return table[h & 255] = y;
}

static struct type *make_type(enum type_kind k, uint32_t size)
{
	struct type *t = OF(struct type, zalloc(sizeof *t));
	t->kind = k;
	t->size = size;
	t->align = size;
	return t;
}

static struct type *pointer(struct type *t)
{
	if (!t->pointer_to) {
		t->pointer_to = make_type(T_POINTER, 8);
		t->pointer_to->target = t;
	}
	return t->pointer_to;
}

static struct decl *declare(const char *name, struct type *t, int kind)
{
	struct decl *d = OF(struct decl, zalloc(sizeof *d));
	d->name = intern(name);
	d->type = t;
	d->kind = kind;
	d->scope = scope;
	d->shadowed = d->name->binding;
	d->name->binding = d;
	d->next = scope->decls;
	scope->decls = d;
	d->where.line = next() % 1000;
	return d;
}

static void enter(void)
{
	struct scope *s = OF(struct scope, zalloc(sizeof *s));
	s->outer = scope;
	if (scope) {
		s->sibling = scope->inner;
		scope->inner = s;
		s->depth = scope->depth + 1;
	}
	scope = s;
}

static void leave(void)
{
	for (struct decl *d = scope->decls; d; d = d->next)
		d->name->binding = d->shadowed;
	scope = scope->outer;
}

static void head(struct node *n, int kind, int count)
{
	n->kind = kind;
	n->count = count;
	n->at.line = next() % 5000;
	n->type = type_int;
}

static struct node *list_node(int kind, int count)
{
	struct list_node *n =
		FLEXIBLE_OF(struct list_node, zalloc(sizeof(*n) + count * sizeof(struct node *)));
	head(&n->node, kind, count);
	return &n->node;
}

static struct node *expr(int depth)
{
	switch (depth ? next() % 6 : next() % 3) {
	case 0: {
		struct int_node *n = OF(struct int_node, zalloc(sizeof *n));
		head(&n->node, N_INT, 0);
		n->value = next() % 100000;
		return &n->node;
	}
	case 1: {
		struct ident_node *n = OF(struct ident_node, zalloc(sizeof *n));
		head(&n->node, N_IDENT, 0);
		n->decl = scope->decls ? scope->decls : scope->outer->decls;
		return &n->node;
	}
	case 2: {
		struct string_node *n = OF(struct string_node, zalloc(sizeof *n));
		char b[40];
		head(&n->node, N_STRING, 0);
		n->length = snprintf(b, 40, "literal %u", (unsigned)(next() % 1000));
		n->bytes = TEXT(strdup(b));
		n->node.type = pointer(type_char);
		return &n->node;
	}
	case 3: {
		struct node *n = list_node(N_BINARY, 2);
		n->op = next() % 12;
		((struct list_node *)n)->kids[0] = expr(depth - 1);
		((struct list_node *)n)->kids[1] = expr(depth - 1);
		return n;
	}
	case 4: {
		struct node *n = list_node(N_UNARY, 1);
		((struct list_node *)n)->kids[0] = expr(depth - 1);
		return n;
	}
	default: {
		int k = 1 + next() % 4;
		struct node *n = list_node(N_CALL, k);
		for (int i = 0; i < k; i++)
			((struct list_node *)n)->kids[i] = expr(depth - 1);
		return n;
	}
	}
}

static struct node *stmt(int depth)
{
	char b[32];
	if (depth && next() % 3 == 0) {
		int k = 2 + next() % 4;
		enter();
		struct node *n = list_node(N_BLOCK, k);
		for (int i = 0; i < k; i++)
			((struct list_node *)n)->kids[i] = stmt(depth - 1);
		leave();
		return n;
	}
	if (next() % 3 == 0) {
		snprintf(b, 32, "local_%u", (unsigned)(next() % 90));
		struct decl_node *n = OF(struct decl_node, zalloc(sizeof *n));
		head(&n->node, N_DECL, 0);
		n->decl = declare(b, next() & 1 ? type_int : pointer(type_char), D_VAR);
		n->decl->init = expr(2);
		return &n->node;
	}
	if (depth && next() % 2) {
		struct node *n = list_node(N_IF, 3);
		((struct list_node *)n)->kids[0] = expr(2);
		((struct list_node *)n)->kids[1] = stmt(depth - 1);
		if (next() & 1)
			((struct list_node *)n)->kids[2] = stmt(depth - 1);
		return n;
	}
	struct node *n = list_node(N_RETURN, 1);
	((struct list_node *)n)->kids[0] = expr(3);
	return n;
}

static struct type *function_type(int params)
{
	struct type *t = make_type(T_FUNCTION, 1);
	t->function.result = type_int;
	t->function.param_count = params;
	t->function.params =
		ARRAY_OF(struct type *, params, zalloc(params * sizeof(struct type *)));
	for (int i = 0; i < params; i++)
		t->function.params[i] = i & 1 ? type_int : pointer(type_int);
	return t;
}

static struct type *record(int n)
{
	char b[32];
	struct type *t = make_type(T_STRUCT, n * 8);
	snprintf(b, 32, "tag_%d", n);
	t->record.tag = intern(b);
	for (int i = 0; i < n % 6 + 1; i++) {
		struct field *f = OF(struct field, zalloc(sizeof *f));
		snprintf(b, 32, "member_%d", i);
		f->name = intern(b);
		f->type = type_int;
		f->offset = i * 8;
		f->next = t->record.fields;
		t->record.fields = f;
	}
	return t;
}

static void define_macro(int i)
{
	char b[40];
	snprintf(b, 40, "MACRO_%d", i);
	struct macro *m = OF(struct macro, zalloc(sizeof *m));
	m->name = intern(b);
	m->name->macro = m;
	m->token_count = 2 + i % 5;
	m->tokens = ARRAY_OF(struct token, m->token_count,
			     zalloc(m->token_count * sizeof(struct token)));
	for (unsigned k = 0; k < m->token_count; k++) {
		struct token *t = &m->tokens[k];
		t->kind = (k + i) % 4;
		if (t->kind == TOK_IDENT)
			t->symbol = intern("x_in_macro");
		else if (t->kind == TOK_STRING)
			t->string = TEXT(strdup("macro text in a token"));
		else
			t->number = k;
	}
	m->params = i % 3;
	if (m->params) {
		m->param_names = ARRAY_OF(struct symbol *, m->params,
					  zalloc(m->params * sizeof(struct symbol *)));
		for (unsigned k = 0; k < m->params; k++) {
			snprintf(b, 40, "param%u", k);
			m->param_names[k] = intern(b);
		}
	}
}

static void warn(struct unit *u, int i)
{
	char b[100];
	int n = snprintf(b, 100, "unused variable local_%d in function %d", i % 90, i);
	struct diagnostic *d = FLEXIBLE_OF(struct diagnostic,
					   zalloc(offsetof(struct diagnostic, message) + n + 1));
	memcpy(d->message, b, n + 1);
	d->severity = i % 3;
	d->next = u->diagnostics;
	u->diagnostics = d;
}

static void compile(int i)
{
	char b[64];
	struct unit *u = OF(struct unit, zalloc(sizeof *u));
	snprintf(b, 64, "/src/project/module_%d.c", i);
	u->path = TEXT(strdup(b));
	enter();
	u->file_scope = scope;
	u->body_count = 6;
	u->bodies = ARRAY_OF(struct node *, 6, zalloc(6 * sizeof(struct node *)));
	for (int k = 0; k < 6; k++) {
		snprintf(b, 64, "function_%d_%d", i, k);
		struct decl *d = declare(b, function_type(1 + k % 4), D_FUNC);
		enter();
		d->func.count = 1 + k % 4;
		d->func.params = ARRAY_OF(struct decl *, d->func.count,
					  zalloc(d->func.count * sizeof(struct decl *)));
		for (unsigned p = 0; p < d->func.count; p++) {
			snprintf(b, 64, "arg%u", p);
			d->func.params[p] = declare(b, type_int, D_VAR);
		}
		d->func.body = u->bodies[k] = stmt(4);
		leave();
		warn(u, i * 6 + k);
	}
	u->decls = scope->decls;
	leave();
	u->next = units;
	units = u;
}

static void plant(void)
{
	for (int i = 0; i < 12; i++) {
		struct unit unit = { 0 };
		struct type *t = make_type(T_ARRAY, 40);

		warn(&unit, i);
		t->array.element = type_int;
		t->array.count = 10;
		struct string_node *n = OF(struct string_node, zalloc(sizeof *n));
		head(&n->node, N_STRING, 0);
		n->bytes = TEXT(strdup("leaked literal string"));
		n->length = 21;
	}
}

int main(void)
{
	enter();
	type_int = make_type(T_INT, 4);
	type_int->bits = 32;
	type_char = make_type(T_INT, 1);
	type_char->bits = 8;
	declare("printf", function_type(2), D_FUNC);
	for (int i = 0; i < 20; i++)
		declare("record", record(i), D_TYPEDEF);
	for (int i = 0; i < 60; i++)
		define_macro(i);
	for (int i = 0; i < 30; i++)
		compile(i);
	plant();
	truth_capture();
	unsigned n = 0;
	for (struct unit *u = units; u; u = u->next)
		n += u->body_count;
	printf("%u %p\n", n, (void *)scope);
	return 0;
}
