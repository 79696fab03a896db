// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A parser of XML: nodes begin with a base, and two kinds of them have the same size. Comments are text nodes,
 * which their enumerator does not tell. Trees that were unlinked, and results and errors, leak.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum kind {
	DOCUMENT = 9,
	ELEMENT = 1,
	TEXT_NODE = 3,
	COMMENT = 8,
	PI = 7
};

struct document;
struct node {
	enum kind kind;
	uint32_t line;
	struct node *parent, *first, *last, *next, *prev;
	struct document *owner;
};

struct ns {
	struct ns *next;
	const char *prefix;
	char *uri;
};

struct attribute {
	struct attribute *next;
	char *name;
	char *value;
	struct ns *ns;
	struct element *of;
};

struct element {
	struct node node;
	const char *tag;
	struct ns *ns;
	struct attribute *attributes;
	struct ns *declared;
};

struct text_node {
	struct node node;
	char *content;
	size_t length;
};

struct pi {
	struct node node;
	const char *target;
	char *data;
};

struct dict_entry {
	struct dict_entry *chain;
	uint32_t hash;
	uint32_t length;
	char name[];
};

struct dict {
	struct dict_entry **slots;
	size_t size, count;
	int references;
};

struct id_entry {
	struct id_entry *next;
	char *id;
	struct element *element;
};

struct document {
	struct node node;
	struct dict *dict;
	struct id_entry *ids[128];
	char *url;
	char *encoding;
	void *user;
};

struct parser {
	struct document *document;
	struct node **stack;
	size_t depth, capacity;
	char *input;
	size_t at;
	void (*on_start)(void *, struct element *);
	void *context;
};

struct count_context {
	size_t elements, attributes;
	struct element *deepest;
};

struct xpath_result {
	enum kind kind;
	struct node **nodes;
	size_t count;
	char *expression;
};

struct parse_error {
	struct node *near;
	int code;
	char *message;
	struct parse_error *next;
};

static struct document *documents[20];
static struct parser *current;
static struct dict *dict;
static char *text(const char *f, int n)
{
	char b[96];
	snprintf(b, sizeof b, f, n);
	return TEXT(strdup(b));
}

static const char *intern(const char *s)
{
	uint32_t h = 5381;
	for (const char *p = s; *p; p++)
		h = h * 33 + *p;
	for (struct dict_entry *e = dict->slots[h % dict->size]; e; e = e->chain)
		if (!strcmp(e->name, s))
			return e->name;
	struct dict_entry *e =
		NEW_FLEXIBLE(struct dict_entry, sizeof(struct dict_entry) + strlen(s) + 1);
	e->hash = h;
	e->length = strlen(s);
	strcpy(e->name, s);
	e->chain = dict->slots[h % dict->size];
	dict->slots[h % dict->size] = e;
	dict->count++;
	return e->name;
}

static void append(struct node *p, struct node *n)
{
	n->parent = p;
	n->prev = p->last;
	if (p->last)
		p->last->next = n;
	else
		p->first = n;
	p->last = n;
}

static void init(struct node *n, enum kind k, struct document *d)
{
	n->kind = k;
	n->line = next() % 900;
	n->owner = d;
}

static void count_start(void *c, struct element *e)
{
	struct count_context *x = c;
	x->elements++;
	x->deepest = e;
}

static struct element *element(struct document *d, struct node *p, int depth)
{
	char b[20];
	struct element *e = NEW_ZEROED(struct element);
	init(&e->node, ELEMENT, d);
	snprintf(b, 20, "tag%d", (int)(next() % 400));
	e->tag = intern(b);
	append(p, &e->node);
	if (next() % 30 == 0) {
		struct ns *n = NEW_ZEROED(struct ns);
		n->prefix = intern("svg");
		n->uri = text("http://www.w3.org/%d/svg", next() % 2000);
		e->declared = e->ns = n;
	} else if (p->kind == ELEMENT)
		e->ns = ((struct element *)p)->ns;
	for (int i = next() % 4; i--;) {
		struct attribute *a = NEW_ZEROED(struct attribute);
		a->name = text("attr%d", i);
		a->value = text("value of the attribute %d", next());
		a->of = e;
		a->ns = e->ns;
		a->next = e->attributes;
		e->attributes = a;
	}
	if (next() % 10 == 0) {
		struct id_entry *i = NEW(struct id_entry);
		i->id = text("id%d", next());
		i->element = e;
		i->next = d->ids[next() % 128];
		d->ids[next() % 128] = i;
	}
	if (depth)
		for (int i = 1 + next() % 4; i--;) {
			switch (next() % 5) {
			case 0:
			case 1:
			case 2:
				element(d, &e->node, depth - 1);
				break;
			case 3: {
				struct text_node *t = NEW_ZEROED(struct text_node);
				init(&t->node, next() % 4 ? TEXT_NODE : COMMENT, d);
				t->content = text("some text content %d\n", next());
				t->length = strlen(t->content);
				append(&e->node, &t->node);
				break;
			}
			default: {
				struct pi *t = NEW_ZEROED(struct pi);
				init(&t->node, PI, d);
				t->target = intern("xml-stylesheet");
				t->data = text("href=%d", next());
				append(&e->node, &t->node);
			}
			}
		}
	if (current->on_start)
		current->on_start(current->context, e);
	return e;
}

int main(void)
{
	dict = NEW_ZEROED(struct dict);
	dict->size = 256;
	dict->slots = NEW_ZEROED_ARRAY(struct dict_entry *, 256);
	dict->references = 1;
	for (int i = 0; i < 20; i++) {
		struct document *d = NEW_ZEROED(struct document);
		init(&d->node, DOCUMENT, d);
		d->dict = dict;
		d->url = text("file:///tmp/%d.xml", i);
		d->encoding = text("UTF-%d", 8);
		struct parser *p = NEW_ZEROED(struct parser);
		p->document = d;
		p->capacity = 16;
		p->stack = NEW_ZEROED_ARRAY(struct node *, 16);
		p->stack[0] = &d->node;
		p->depth = 1;
		p->input = NEW_TEXT(500);
		memset(p->input, '<', 500);
		struct count_context *c = NEW_ZEROED(struct count_context);
		p->on_start = count_start;
		p->context = c;
		current = p;
		for (int k = 0; k < 8; k++)
			element(d, &d->node, 6);
		d->user = c;
		documents[i] = d;
		if (i % 2 == 0 && i < 18) {
			FREE(p->stack);
			FREE(p->input);
			FREE(p);
		}
	}
	for (int i = 0; i < 20; i++) {
		struct node *n = documents[i]->node.first;
		if (!n || !n->next)
			continue;
		documents[i]->node.first = n->next;
		n->next->prev = NULL;
		n->next = NULL;
		n->parent = NULL;
		struct xpath_result *r = NEW_ZEROED(struct xpath_result);
		r->kind = ELEMENT;
		r->count = 1 + next() % 5;
		r->nodes = NEW_ARRAY(struct node *, r->count);
		for (size_t k = 0; k < r->count; k++)
			r->nodes[k] = documents[i]->node.last;
		r->expression = text("//tag[@attr%d]", i);
		struct parse_error *last = NULL;
		for (int k = 0; k < 3; k++) {
			struct parse_error *e = NEW(struct parse_error);
			e->near = documents[i]->node.last;
			e->code = 70 + k;
			e->message = text("premature end of data in tag %d", i);
			e->next = last;
			last = e;
		}
	}
	truth_capture();
	return 0;
}
