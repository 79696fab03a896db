// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lisp: words with tags in their low bits (small integers, pairs, symbols, boxed objects), a
 * header by macro in each boxed kind, an environment of frames, all of it of type word.
 */
#include "t/truth/truth.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

typedef uintptr_t word;

enum tag {
	TAG_INTEGER,
	TAG_PAIR,
	TAG_SYMBOL,
	TAG_BOXED
};

#define TAGGED(pointer, tag) ((word)(pointer) | (tag))
#define UNTAG(value) ((void *)((value) & ~(word)7))
#define IS(value, tag) (((value)&7) == (tag))
#define INTEGER(n) ((word)(n) << 3)
#define NIL ((word)0x7)

#define CommonHeader \
	struct boxed *all; \
	uint8_t kind; \
	uint8_t marked

struct boxed {
	CommonHeader;
};

struct pair {
	word car, cdr;
};

struct symbol {
	struct symbol *chain;
	word value;
	char name[1];
};

struct vector {
	CommonHeader;
	uint32_t length;
	word *items;
};

struct text {
	CommonHeader;
	uint32_t length;
	char *bytes;
};

struct lambda {
	CommonHeader;
	word parameters, body;
	struct frame *environment;
};

struct frame {
	struct frame *outer;
	uint32_t count;
	struct binding {
		struct symbol *symbol;
		word value;
	} bindings[];
};

enum kind {
	KIND_VECTOR,
	KIND_TEXT,
	KIND_LAMBDA
};

static struct boxed *all;
static struct symbol *symbols[256];
static struct frame *top;

static word cons(word car, word cdr)
{
	struct pair *pair = NEW(struct pair);

	pair->car = car;
	pair->cdr = cdr;
	return TAGGED(pair, TAG_PAIR);
}

static word car(word value)
{
	return ((struct pair *)UNTAG(value))->car;
}

static word cdr(word value)
{
	return ((struct pair *)UNTAG(value))->cdr;
}

static struct symbol *intern(const char *name, size_t length)
{
	unsigned hash = 0;
	struct symbol *symbol;

	for (size_t i = 0; i < length; i++)
		hash = hash * 31 + (unsigned char)name[i];
	for (symbol = symbols[hash % 256]; symbol; symbol = symbol->chain)
		if (!strncmp(symbol->name, name, length) && !symbol->name[length])
			return symbol;
	symbol = NEW_FLEXIBLE(struct symbol, offsetof(struct symbol, name) + length + 1);
	memcpy(symbol->name, name, length);
	symbol->name[length] = '\0';
	symbol->value = NIL;
	symbol->chain = symbols[hash % 256];
	symbols[hash % 256] = symbol;
	return symbol;
}

static void link_boxed(struct boxed *boxed, enum kind kind)
{
	boxed->kind = kind;
	boxed->marked = 0;
	boxed->all = all;
	all = boxed;
}

static word make_text(const char *bytes, size_t length)
{
	struct text *text = NEW(struct text);

	link_boxed((struct boxed *)text, KIND_TEXT);
	text->length = (uint32_t)length;
	text->bytes = NEW_TEXT(length + 1);
	memcpy(text->bytes, bytes, length);
	text->bytes[length] = '\0';
	return TAGGED(text, TAG_BOXED);
}

static word make_vector(word list)
{
	struct vector *vector = NEW(struct vector);
	uint32_t length = 0;

	for (word at = list; at != NIL; at = cdr(at))
		length++;
	link_boxed((struct boxed *)vector, KIND_VECTOR);
	vector->length = length;
	vector->items = NEW_ARRAY(word, length + 1);
	length = 0;
	for (word at = list; at != NIL; at = cdr(at))
		vector->items[length++] = car(at);
	vector->items[length] = NIL;
	return TAGGED(vector, TAG_BOXED);
}

static word make_lambda(word parameters, word body, struct frame *environment)
{
	struct lambda *lambda = NEW(struct lambda);

	link_boxed((struct boxed *)lambda, KIND_LAMBDA);
	lambda->parameters = parameters;
	lambda->body = body;
	lambda->environment = environment;
	return TAGGED(lambda, TAG_BOXED);
}

static struct frame *push_frame(struct frame *outer, word parameters)
{
	uint32_t count = 0;
	struct frame *frame;

	for (word at = parameters; at != NIL; at = cdr(at))
		count++;
	frame = NEW_FLEXIBLE(struct frame, sizeof(*frame) + count * sizeof(frame->bindings[0]));
	frame->outer = outer;
	frame->count = count;
	for (uint32_t i = 0; i < count; i++, parameters = cdr(parameters)) {
		frame->bindings[i].symbol = UNTAG(car(parameters));
		frame->bindings[i].value = INTEGER(i);
	}
	return frame;
}

static word read_form(const char **at);

static word read_list(const char **at)
{
	word first;

	while (isspace((unsigned char)**at))
		(*at)++;
	if (**at == ')') {
		(*at)++;
		return NIL;
	}
	first = read_form(at);
	return cons(first, read_list(at));
}

static word read_form(const char **at)
{
	const char *start;

	while (isspace((unsigned char)**at))
		(*at)++;
	if (**at == '(' || (**at == '#' && (*at)[1] == '(')) {
		int is_vector = **at == '#';
		*at += 1 + is_vector;
		return is_vector ? make_vector(read_list(at)) : read_list(at);
	}
	if (**at == '"') {
		for (start = ++*at; **at != '"';)
			(*at)++;
		return make_text(start, (size_t)((*at)++ - start));
	}
	if (isdigit((unsigned char)**at))
		return INTEGER(strtol(*at, (char **)at, 10));
	for (start = *at; **at && !isspace((unsigned char)**at) && !strchr("()\"", **at);)
		(*at)++;
	return TAGGED(intern(start, (size_t)(*at - start)), TAG_SYMBOL);
}

static void define(word form)
{
	word target = car(cdr(form));
	struct frame *frame;
	struct symbol *symbol;

	if (!IS(target, TAG_PAIR)) {
		symbol = UNTAG(target);
		symbol->value = car(cdr(cdr(form)));
		return;
	}
	symbol = UNTAG(car(target));
	frame = push_frame(top, cdr(target));
	symbol->value = make_lambda(cdr(target), cdr(cdr(form)), frame);
}

int main(void)
{
	static const char *const forms[] = {
		"(define (fold-%u f seed list) (if (null? list) seed (f (car list) "
		"(fold-%u f seed (cdr list)))))",
		"(define table-%u #(1 2 3 \"four\" five (6 7) %u))",
		"(define (greet-%u name) (display \"hello number %u\") (display name))",
		"(define (compose-%u f g h) (lambda (x) (f (g (h x))) %u))",
		"(define (alist-%u) '((one 1) (two 2) (three \"drei\") (n %u)))",
	};
	char text[256];

	top = push_frame(NULL, NIL);
	for (unsigned i = 0; i < 500; i++) {
		const char *at = text;
		snprintf(text, sizeof(text), forms[i % 5], i, i);
		define(read_form(&at));
	}
	truth_capture();
	printf("%u\n", all->kind);
	return 0;
}
