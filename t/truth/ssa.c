// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The intermediate code of a compiler: instructions end in a flexible array of operands, and the list of a
 * value's uses leads through the operands of others. Dead instructions have left their lists, and leak. Some
 * types are of leaked blocks alone.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#define container_of(p, T, m) ((T *)((char *)(p)-offsetof(T, m)))

struct type {
	uint8_t id, bits;
	struct type *element;
	struct type *next;
};

enum op {
	ADD,
	SUB,
	LOAD,
	STORE,
	CALL,
	PHI,
	BR,
	RET,
	CONSTANT,
	ARGUMENT
};

struct use {
	struct value *value;
	struct use *next, **prev;
	struct instr *user;
};

struct value {
	struct type *type;
	struct use *uses;
	uint16_t op, flags;
	uint32_t number;
	char *name;
};

struct ilist {
	struct ilist *prev, *next;
};

struct instr {
	struct value value;
	struct ilist link;
	struct block *parent;
	uint32_t operand_count;
	struct use operands[];
};

struct constant {
	struct value value;
	int64_t number;
	struct constant *chain;
};

struct argument {
	struct value value;
	struct function *of;
	uint32_t index;
};

struct block {
	struct value value;
	struct ilist instrs;
	struct ilist link;
	struct block **preds;
	uint32_t pred_count, pred_capacity;
	struct dom *dom;
};

struct dom {
	struct block *block;
	struct dom *idom;
	struct dom **children;
	uint32_t child_count, level;
};

struct loop {
	struct loop *parent, *child, *next;
	struct block *header;
	uint64_t *bits;
	uint32_t words;
};

struct function {
	struct value value;
	struct ilist blocks;
	struct argument **arguments;
	uint32_t argument_count;
	struct function *next;
	struct loop *loops;
	void *pass_data;
};

struct live_range {
	uint32_t from, to;
	struct live_range *next;
};

struct interval {
	struct value *value;
	struct live_range *ranges;
	int reg;
	struct interval *next;
};

struct alloc_data {
	struct interval *intervals;
	uint32_t spills;
	uint8_t *reg_map;
};

struct debug_loc {
	uint32_t line, column;
	struct debug_loc *inlined;
	char *file;
};

struct worklist {
	struct instr **items;
	size_t count, capacity;
	struct function *function;
};

static struct type *types;
static struct function *functions;
static struct constant *constants[64];
static char *text(const char *t, int n)
{
	char b[96];
	snprintf(b, sizeof b, t, n);
	return TEXT(strdup(b));
}

static struct type *type(int id)
{
	for (struct type *t = types; t; t = t->next)
		if (t->id == id)
			return t;
	struct type *t = NEW_ZEROED(struct type);
	t->id = id;
	t->bits = 8 << (id & 3);
	if (id > 4)
		t->element = type(id - 1);
	t->next = types;
	types = t;
	return t;
}

static void link_tail(struct ilist *head, struct ilist *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static void set_use(struct use *u, struct value *v, struct instr *user)
{
	u->value = v;
	u->user = user;
	u->next = v->uses;
	if (v->uses)
		v->uses->prev = &u->next;
	u->prev = &v->uses;
	v->uses = u;
}

static void drop_use(struct use *u)
{
	*u->prev = u->next;
	if (u->next)
		u->next->prev = u->prev;
}

static struct constant *constant(int64_t n)
{
	struct constant **at = &constants[n & 63];
	for (struct constant *c = *at; c; c = c->chain)
		if (c->number == n)
			return c;
	struct constant *c = NEW_ZEROED(struct constant);
	c->value.type = type(3);
	c->value.op = CONSTANT;
	c->number = n;
	c->chain = *at;
	return *at = c;
}

static struct instr *instr(struct block *b, int op, struct value **v, int n)
{
	struct instr *i = NEW_FLEXIBLE(struct instr, sizeof *i + n * sizeof(struct use));
	memset(i, 0, sizeof *i + n * sizeof(struct use));
	i->value.op = op;
	i->value.type = type(1 + next() % 7);
	i->value.number = next() % 5000;
	if (next() % 4 == 0)
		i->value.name = text("tmp%d", next() % 999);
	i->operand_count = n;
	for (int k = 0; k < n; k++)
		set_use(&i->operands[k], v[k], i);
	i->parent = b;
	link_tail(&b->instrs, &i->link);
	return i;
}

static struct function *function(int n)
{
	struct function *f = NEW_ZEROED(struct function);
	f->value.name = text("function_%d", n);
	f->value.type = type(6);
	f->blocks.prev = f->blocks.next = &f->blocks;
	f->argument_count = 1 + next() % 4;
	f->arguments = NEW_ARRAY(struct argument *, f->argument_count);
	for (uint32_t i = 0; i < f->argument_count; i++) {
		struct argument *a = NEW_ZEROED(struct argument);
		a->value.op = ARGUMENT;
		a->value.type = type(2);
		a->value.name = text("arg%d", i);
		a->of = f;
		a->index = i;
		f->arguments[i] = a;
	}
	struct block *blocks[12];
	int count = 3 + next() % 9;
	for (int k = 0; k < count; k++) {
		struct block *b = blocks[k] = NEW_ZEROED(struct block);
		b->value.type = type(0);
		b->value.name = text("bb%d", k);
		b->instrs.prev = b->instrs.next = &b->instrs;
		link_tail(&f->blocks, &b->link);
		b->dom = NEW_ZEROED(struct dom);
		b->dom->block = b;
		if (k) {
			b->dom->idom = blocks[k / 2]->dom;
			b->dom->level = 1 + k / 2;
			b->pred_capacity = 2;
			b->preds = NEW_ARRAY(struct block *, 2);
			b->preds[0] = blocks[k - 1];
			b->preds[1] = blocks[k / 2];
			b->pred_count = 2;
		}
		for (int i = 0; i < 12; i++) {
			struct value *v[3];
			int m = 1 + next() % 3;
			for (int j = 0; j < m; j++) {
				struct ilist *l = b->instrs.prev;
				v[j] = next() % 3 == 0 ? &constant(next() % 300)->value
				       : next() % 2 || l == &b->instrs
					       ? &f->arguments[next() % f->argument_count]->value
					       : &container_of(l, struct instr, link)->value;
			}
			instr(b, next() % 6, v, m);
		}
		struct value *t = &blocks[next() % (k + 1)]->value;
		instr(b, BR, &t, 1);
	}
	for (int k = 1; k < count; k += 2) {
		struct dom *d = blocks[k / 2]->dom;
		if (!d->children) {
			d->children = NEW_ZEROED_ARRAY(struct dom *, 4);
		}
		if (d->child_count < 4)
			d->children[d->child_count++] = blocks[k]->dom;
	}
	for (int k = 0; k < 2; k++) {
		struct loop *l = NEW_ZEROED(struct loop);
		l->header = blocks[k];
		l->words = 2;
		l->bits = NEW_ARRAY(uint64_t, 2);
		l->bits[0] = next() | (uint64_t)next() << 40;
		l->bits[1] = 0;
		l->next = f->loops;
		l->parent = NULL;
		f->loops = l;
	}
	struct alloc_data *d = NEW_ZEROED(struct alloc_data);
	d->reg_map = NEW_ARRAY(uint8_t, 32);
	for (int i = 0; i < 32; i++)
		d->reg_map[i] = next();
	for (struct ilist *l = blocks[0]->instrs.next; l != &blocks[0]->instrs; l = l->next) {
		struct interval *iv = NEW_ZEROED(struct interval);
		iv->value = &container_of(l, struct instr, link)->value;
		iv->reg = next() % 16;
		iv->next = d->intervals;
		d->intervals = iv;
		for (int k = 1 + next() % 2; k--;) {
			struct live_range *r = NEW(struct live_range);
			r->from = next() % 200;
			r->to = r->from + 10;
			r->next = iv->ranges;
			iv->ranges = r;
		}
	}
	f->pass_data = d;
	f->next = functions;
	functions = f;
	return f;
}

int main(void)
{
	for (int i = 0; i < 60; i++) {
		struct function *f = function(i);

		// Dead code is unlinked and not freed.
		struct block *b = container_of(f->blocks.next, struct block, link);
		for (int k = 0; k < 3; k++) {
			struct instr *x = container_of(b->instrs.next, struct instr, link);
			if (&x->link == &b->instrs || x->value.uses)
				break;
			x->link.next->prev = x->link.prev;
			x->link.prev->next = x->link.next;
			for (uint32_t o = 0; o < x->operand_count; o++)
				drop_use(&x->operands[o]);
		}
		struct block *orphan = NEW_ZEROED(struct block);
		orphan->value.type = type(0);
		orphan->value.name = text("unreachable%d", i);
		orphan->instrs.next = orphan->instrs.prev = &orphan->instrs;
		orphan->link.next = orphan->link.prev = &orphan->link;
		{
			struct value *v = &constant(i)->value;
			instr(orphan, RET, &v, 1);
		}
		for (int k = 0; k < 3; k++) {
			struct debug_loc *d = NEW_ZEROED(struct debug_loc);
			d->line = next() % 800;
			d->column = next() % 80;
			d->file = text("src/file%d.c", i);
			if (k) {
				d->inlined = NEW_ZEROED(struct debug_loc);
				d->inlined->line = 3;
				d->inlined->file = text("include/inline%d.h", i);
			}
		}
		struct worklist *w = NEW_ZEROED(struct worklist);
		w->function = f;
		w->capacity = 8;
		w->items = NEW_ZEROED_ARRAY(struct instr *, 8);
		for (int k = 0; k < 5; k++)
			w->items[w->count++] = container_of(b->instrs.prev, struct instr, link);
	}
	truth_capture();
	return 0;
}
