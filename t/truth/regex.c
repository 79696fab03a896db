// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Regular expressions: syntax trees with unions, programs, automata whose states end in bit sets and are made as
 * texts are matched. Sets of characters in trees that leaked have the site of those that did not.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum rx_kind {
	RX_CHAR,
	RX_CLASS,
	RX_CAT,
	RX_ALT,
	RX_REPEAT,
	RX_GROUP,
	RX_ANCHOR
};

struct rx_class {
	uint8_t bits[32];
	bool negated;
};

struct rx_node {
	enum rx_kind kind;
	union {
		struct {
			unsigned char c;
			bool fold;
		} lit;
		struct rx_class *class;
		struct {
			struct rx_node **parts;
			unsigned count;
		} many;
		struct {
			struct rx_node *body;
			int min, max;
			bool greedy;
		} repeat;
		struct {
			struct rx_node *body;
			char *name;
			int index;
		} group;
		int anchor;
	} u;
};

enum op {
	OP_CHAR,
	OP_CLASS,
	OP_SPLIT,
	OP_JUMP,
	OP_SAVE,
	OP_MATCH
};

struct inst {
	uint8_t op;
	unsigned char c;
	uint16_t x, y;
	const struct rx_class *class;
};

struct prog {
	unsigned count, capacity;
	struct inst *code;
	char *source;
	struct rx_node *tree;
	struct dfa *dfa;
	struct prog *next_cached;
	unsigned groups;
	char **names;
};

struct dstate {
	struct dstate *hash_next;
	uint32_t hash;
	bool accepting;
	struct dstate **next;
	unsigned words;
	uint64_t set[];
};

struct dfa {
	struct dstate *buckets[64];
	struct dstate *start;
	unsigned states;
	struct prog *prog;
	size_t memory;
};

struct match {
	struct match *next;
	const char *subject;
	int *captures;
	unsigned count;
};

struct subject {
	char *text;
	size_t length;
	struct match *matches;
};

static struct prog *cache[32];
static struct subject *subjects;
static unsigned subject_count;
static struct rx_node *node(enum rx_kind k)
{
	struct rx_node *n = NEW_ZEROED(struct rx_node);
	n->kind = k;
	return n;
}

static void push(struct rx_node *m, struct rx_node *x)
{
	m->u.many.parts = RENEW_ARRAY(struct rx_node *, m->u.many.parts, m->u.many.count + 1);
	m->u.many.parts[m->u.many.count++] = x;
}

static const char *in;
static int groups;
static struct rx_node *parse_alt(void);
static struct rx_node *parse_atom(void)
{
	struct rx_node *n;
	if (*in == '(') {
		in++;
		n = node(RX_GROUP);
		n->u.group.index = ++groups;
		if (*in == '<') {
			const char *s = ++in;
			while (*in != '>')
				in++;
			n->u.group.name = TEXT(strndup(s, in - s));
			in++;
		}
		n->u.group.body = parse_alt();
		in++;
		return n;
	}
	if (*in == '[') {
		n = node(RX_CLASS);
		n->u.class = NEW_ZEROED(struct rx_class);
		in++;
		if (*in == '^') {
			n->u.class->negated = true;
			in++;
		}
		while (*in != ']') {
			unsigned char c = *in++;
			n->u.class->bits[c >> 3] |= 1 << (c & 7);
		}
		in++;
		return n;
	}
	if (*in == '^' || *in == '$') {
		n = node(RX_ANCHOR);
		n->u.anchor = *in++;
		return n;
	}
	n = node(RX_CHAR);
	n->u.lit.c = *in++;
	return n;
}

static struct rx_node *parse_cat(void)
{
	struct rx_node *m = node(RX_CAT);
	while (*in && *in != '|' && *in != ')') {
		struct rx_node *a = parse_atom();
		while (*in == '*' || *in == '+' || *in == '?') {
			struct rx_node *r = node(RX_REPEAT);
			r->u.repeat.body = a;
			r->u.repeat.min = *in == '+';
			r->u.repeat.max = *in == '?' ? 1 : -1;
			r->u.repeat.greedy = true;
			in++;
			a = r;
		}
		push(m, a);
	}
	return m;
}

static struct rx_node *parse_alt(void)
{
	struct rx_node *l = parse_cat();
	if (*in != '|')
		return l;
	struct rx_node *m = node(RX_ALT);
	push(m, l);
	while (*in == '|') {
		in++;
		push(m, parse_cat());
	}
	return m;
}

static unsigned emit(struct prog *p, uint8_t op)
{
	if (p->count == p->capacity) {
		p->capacity = p->capacity ? p->capacity * 2 : 8;
		p->code = RENEW_ARRAY(struct inst, p->code, p->capacity);
	}
	p->code[p->count] = (struct inst){ .op = op };
	return p->count++;
}

static void gen(struct prog *p, struct rx_node *n)
{
	unsigned a, b;
	switch (n->kind) {
	case RX_CHAR:
		a = emit(p, OP_CHAR);
		p->code[a].c = n->u.lit.c;
		break;
	case RX_CLASS:
		a = emit(p, OP_CLASS);
		p->code[a].class = n->u.class;
		break;
	case RX_CAT:
		for (a = 0; a < n->u.many.count; a++)
			gen(p, n->u.many.parts[a]);
		break;
	case RX_ALT:
		for (a = 0; a + 1 < n->u.many.count; a++) {
			b = emit(p, OP_SPLIT);
			p->code[b].x = p->count;
			gen(p, n->u.many.parts[a]);
			p->code[b].y = p->count;
		}
		gen(p, n->u.many.parts[a]);
		break;
	case RX_REPEAT:
		a = emit(p, OP_SPLIT);
		p->code[a].x = p->count;
		gen(p, n->u.repeat.body);
		b = emit(p, OP_JUMP);
		p->code[b].x = a;
		p->code[a].y = p->count;
		break;
	case RX_GROUP:
		a = emit(p, OP_SAVE);
		p->code[a].x = 2 * n->u.group.index;
		gen(p, n->u.group.body);
		a = emit(p, OP_SAVE);
		p->code[a].x = 2 * n->u.group.index + 1;
		if (n->u.group.name) {
			p->names = RENEW_ARRAY(char *, p->names, p->groups + 1);
			p->names[p->groups++] = TEXT(strdup(n->u.group.name));
		}
		break;
	case RX_ANCHOR:
		break;
	}
}

static struct dstate *state(struct dfa *d, const uint64_t *set, unsigned words)
{
	uint32_t h = 5381;
	for (unsigned i = 0; i < words; i++)
		h = h * 33 ^ (uint32_t)(set[i] ^ set[i] >> 32);
	for (struct dstate *s = d->buckets[h % 64]; s; s = s->hash_next)
		if (s->hash == h && !memcmp(s->set, set, words * 8))
			return s;
	struct dstate *s = NEW_FLEXIBLE(struct dstate, sizeof(*s) + words * 8);
	memset(s, 0, sizeof *s);
	s->hash = h;
	s->words = words;
	memcpy(s->set, set, words * 8);
	s->hash_next = d->buckets[h % 64];
	d->buckets[h % 64] = s;
	s->next = NEW_ZEROED_ARRAY(struct dstate *, 128);
	d->states++;
	d->memory += sizeof(*s) + words * 8;
	return s;
}

static void close_over(struct prog *p, uint64_t *set, unsigned pc)
{
	while (pc < p->count && !(set[pc / 64] >> pc % 64 & 1)) {
		set[pc / 64] |= 1ull << pc % 64;
		struct inst *i = &p->code[pc];
		if (i->op == OP_SPLIT) {
			close_over(p, set, i->x);
			pc = i->y;
		} else if (i->op == OP_JUMP)
			pc = i->x;
		else if (i->op == OP_SAVE)
			pc++;
		else
			return;
	}
}

static int run(struct prog *p, struct subject *sub)
{
	struct dfa *d = p->dfa;
	unsigned words = (p->count + 63) / 64;
	uint64_t set[8] = { 0 };
	if (words > 8)
		return 0;
	if (!d->start) {
		close_over(p, set, 0);
		d->start = state(d, set, words);
	}
	struct dstate *s = d->start;
	int hits = 0;
	for (size_t i = 0; i < sub->length; i++) {
		unsigned char c = sub->text[i] & 127;
		if (!s->next[c]) {
			uint64_t to[8] = { 0 };
			for (unsigned pc = 0; pc < p->count; pc++)
				if (s->set[pc / 64] >> pc % 64 & 1) {
					struct inst *x = &p->code[pc];
					if ((x->op == OP_CHAR && x->c == c) ||
					    (x->op == OP_CLASS &&
					     (x->class->bits[c >> 3] >> (c & 7) & 1) !=
						     x->class->negated))
						close_over(p, to, pc + 1);
				}
			close_over(p, to, 0);
			s->next[c] = state(d, to, words);
		}
		s = s->next[c];
		if (s->set[(p->count - 1) / 64] >> (p->count - 1) % 64 & 1) {
			hits++;
			if (hits < 4) {
				struct match *m = NEW(struct match);
				m->subject = sub->text + i;
				m->count = 2 * (p->groups + 1);
				m->captures = NEW_ZEROED_ARRAY(int, m->count);
				m->captures[1] = i;
				m->next = sub->matches;
				sub->matches = m;
			}
		}
	}
	return hits;
}

static struct prog *compile(const char *re)
{
	uint32_t h = 0;
	for (const char *c = re; *c; c++)
		h = h * 31 + *c;
	for (struct prog *p = cache[h % 32]; p; p = p->next_cached)
		if (!strcmp(p->source, re))
			return p;
	struct prog *p = NEW_ZEROED(struct prog);
	p->source = TEXT(strdup(re));
	in = p->source;
	groups = 0;
	p->tree = parse_alt();
	in = NULL;
	gen(p, p->tree);
	emit(p, OP_MATCH);
	p->dfa = NEW_ZEROED(struct dfa);
	p->dfa->prog = p;
	p->next_cached = cache[h % 32];
	cache[h % 32] = p;
	return p;
}

static void leak(void)
{
	for (int i = 0; i < 15; i++) {
		in = "(<x>lost)|[abc]";
		parse_alt();
	}
	in = NULL;
}

int main(void)
{
	subject_count = 60;
	subjects = NEW_ZEROED_ARRAY(struct subject, 60);
	for (unsigned i = 0; i < subject_count; i++) {
		size_t n = 40 + next() % 200;
		char *t = NEW_TEXT(n + 1);
		for (size_t k = 0; k < n; k++)
			t[k] = "abcdef foo bar baz 012"[next() % 22];
		t[n] = 0;
		subjects[i].text = t;
		subjects[i].length = n;
	}
	int hits = 0;
	char re[200];
	for (int k = 0; k < 80; k++) {
		snprintf(re, sizeof re, "(<key%d>[abc]+)(%c|foo)*(<v>ba%c)?[^x]%d", k, 'a' + k % 20,
			 'a' + k % 26, k % 10);
		struct prog *p = compile(re);
		for (unsigned i = 0; i < 12; i++)
			hits += run(p, &subjects[(i + k) % subject_count]);
	}
	leak();
	truth_capture();
	printf("%d\n", hits);
	return 0;
}
