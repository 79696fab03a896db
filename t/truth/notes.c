// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A text editor: pieces of buffers, an undo log, modes and hooks whose data is behind void pointers, each with its
 * own functions. All data of one kind of hook has a known type, and none of the other's.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct piece {
	struct piece *prev, *next;
	const char *start;
	uint32_t length, lines;
};

struct span {
	uint32_t from, to;
	uint16_t style, depth;
};

struct line_cache {
	unsigned count, capacity;
	struct span *spans;
	uint64_t version;
};

enum undo_kind {
	UNDO_INSERT,
	UNDO_DELETE,
	UNDO_GROUP
};

struct undo {
	struct undo *older;
	enum undo_kind kind;
	uint32_t at;
	union {
		struct {
			struct piece *first, *last;
		} pieces;
		struct {
			struct undo **steps;
			unsigned count;
		} group;
		struct {
			char *text;
			uint32_t length;
		} removed;
	};
	time_t when;
};

struct mark {
	struct mark *next;
	uint32_t at;
	char name;
	bool sticky;
	struct buffer *buffer;
};

struct add_block {
	struct add_block *next;
	uint32_t used, size;
	char bytes[];
};

struct buffer {
	struct buffer *next;
	char *path;
	struct piece head;
	struct add_block *adds;
	char *original;
	size_t original_size;
	struct undo *undo, *redo;
	struct mark *marks;
	struct line_cache *lines;
	unsigned line_count;
	void *mode_data;
	const struct mode *mode;
	struct hook *hooks;
};

struct mode {
	const char *name;
	void *(*attach)(struct buffer *);
	void (*detach)(struct buffer *, void *);
};

struct c_mode {
	int indent;
	char *comment;
	struct tag *tags;
};

struct tag {
	struct tag *next;
	char name[24];
	uint32_t line;
};

struct md_mode {
	unsigned headings;
	uint32_t *offsets;
};

struct hook {
	struct hook *next;
	void (*call)(struct buffer *, void *);
	void *data;
};

struct autosave {
	char *backup;
	unsigned interval;
	uint64_t last;
};

struct spell {
	char **words;
	size_t count;
	struct buffer *buffer;
};

struct key_node {
	uint16_t key;
	uint16_t children_count;
	struct key_node **children;
	const struct command *command;
};

struct window;
struct command {
	const char *name;
	int (*run)(struct window *, int);
};

struct window {
	struct window *parent, *child[2];
	struct buffer *buffer;
	uint32_t top, cursor;
	int x, y, w, h;
	char *status;
};

static struct buffer *buffers;
static struct window *root_window;
static struct key_node *keymap;
static char *kill_ring[8];
static unsigned kill_at;
static int cmd_left(struct window *w, int n)
{
	w->cursor -= n;
	return 0;
}

static int cmd_right(struct window *w, int n)
{
	w->cursor += n;
	return 0;
}

static int cmd_save(struct window *w, int n)
{
	return w->buffer->line_count + n;
}

static const struct command commands[] = { { "left", cmd_left },
					   { "right", cmd_right },
					   { "save", cmd_save } };
static void *c_attach(struct buffer *b)
{
	struct c_mode *m = NEW_ZEROED(struct c_mode);
	m->indent = 8;
	m->comment = TEXT(strdup("/* ... */ block comments"));
	for (int i = 0; i < 12; i++) {
		struct tag *t = NEW(struct tag);
		snprintf(t->name, sizeof t->name, "function_%d", i);
		t->line = i * 10 + b->line_count;
		t->next = m->tags;
		m->tags = t;
	}
	return m;
}

static void c_detach(struct buffer *b, void *data)
{
	struct c_mode *m = data;
	(void)b;
	FREE(m->comment);
}

static void *md_attach(struct buffer *b)
{
	struct md_mode *m = NEW(struct md_mode);
	m->headings = 5 + b->line_count % 7;
	m->offsets = NEW_ARRAY(uint32_t, m->headings);
	for (unsigned i = 0; i < m->headings; i++)
		m->offsets[i] = i * 100;
	return m;
}

static void md_detach(struct buffer *b, void *data)
{
	struct md_mode *m = data;
	(void)b;
	FREE(m->offsets);
}

static const struct mode c_mode = { "C", c_attach, c_detach },
			 md_mode = { "markdown", md_attach, md_detach };
static void on_autosave(struct buffer *b, void *data)
{
	struct autosave *a = data;
	if (a->last + a->interval < b->line_count)
		a->last = b->line_count;
}

static void on_spell(struct buffer *b, void *data)
{
	struct spell *s = data;
	for (size_t i = 0; i < s->count; i++)
		if (s->words[i][0] == 'q')
			s->buffer = b;
}

static void hook(struct buffer *b, void (*call)(struct buffer *, void *), void *data)
{
	struct hook *h = NEW(struct hook);
	h->call = call;
	h->data = data;
	h->next = b->hooks;
	b->hooks = h;
}

static const char *append(struct buffer *b, const char *text, uint32_t n)
{
	if (!b->adds || b->adds->used + n > b->adds->size) {
		uint32_t size = n > 500 ? n : 500;
		struct add_block *a = NEW_FLEXIBLE(struct add_block, sizeof(*a) + size);
		a->used = 0;
		a->size = size;
		a->next = b->adds;
		b->adds = a;
	}
	memcpy(b->adds->bytes + b->adds->used, text, n);
	b->adds->used += n;
	return b->adds->bytes + b->adds->used - n;
}

static void link_after(struct piece *at, struct piece *p)
{
	p->prev = at;
	p->next = at->next;
	at->next->prev = p;
	at->next = p;
}

static void undo_push(struct buffer *b, struct undo *u)
{
	u->older = b->undo;
	b->undo = u;
	u->when = 1700000000 + b->line_count;
}

static void insert(struct buffer *b, struct piece *at, const char *text)
{
	struct piece *p = NEW(struct piece);
	p->length = strlen(text);
	p->lines = 1;
	p->start = append(b, text, p->length);
	link_after(at, p);
	struct undo *u = NEW_ZEROED(struct undo);
	u->kind = UNDO_INSERT;
	u->at = p->length;
	u->pieces.first = u->pieces.last = p;
	undo_push(b, u);
}

static void delete (struct buffer *b, struct piece *p)
{
	struct undo *u = NEW_ZEROED(struct undo);
	u->kind = UNDO_DELETE;
	u->removed.length = p->length;
	u->removed.text = NEW_TEXT(p->length + 1);
	memcpy(u->removed.text, p->start, p->length);
	u->removed.text[p->length] = 0;
	undo_push(b, u);
}

static void edit(struct buffer *b, int i)
{
	char name[64];

	for (int k = 0; k < 10; k++) {
		struct mark *m = NEW(struct mark);
		m->at = k * 7;
		m->name = 'a' + k;
		m->sticky = k & 1;
		m->buffer = b;
		m->next = b->marks;
		b->marks = m;
	}
	for (int k = 0; k < 30; k++) {
		snprintf(name, sizeof name, "typed text %d in buffer %d\n", k, i);
		insert(b, b->head.next, name);
		if (k % 5 == 0)
			delete (b, b->head.next);
		if (k % 10 == 9) {
			struct undo *u = NEW_ZEROED(struct undo);
			u->kind = UNDO_GROUP;
			u->group.count = 3;
			u->group.steps = NEW_ARRAY(struct undo *, 3);
			for (int s = 0; s < 3; s++) {
				u->group.steps[s] = b->undo;
				b->undo = b->undo->older;
			}
			undo_push(b, u);
		}
	}
}

static struct buffer *open_buffer(int i)
{
	struct buffer *b = NEW_ZEROED(struct buffer);
	char name[64];
	snprintf(name, sizeof name, "/home/user/project/file%d.%s", i, i & 1 ? "c" : "md");
	b->path = TEXT(strdup(name));
	b->head.next = b->head.prev = &b->head;
	b->original_size = 300 + next() % 700;
	b->original = NEW_TEXT(b->original_size);
	for (size_t k = 0; k < b->original_size; k++)
		b->original[k] = next() % 30 ? 'a' + next() % 26 : '\n';
	struct piece *p = NEW_ZEROED(struct piece);
	p->start = b->original;
	p->length = b->original_size;
	link_after(&b->head, p);
	b->line_count = 20 + i;
	b->lines = NEW_ZEROED_ARRAY(struct line_cache, b->line_count);
	for (unsigned k = 0; k < b->line_count; k += 2) {
		struct line_cache *l = &b->lines[k];
		l->capacity = 1 + next() % 5;
		l->count = l->capacity;
		l->spans = NEW_ARRAY(struct span, l->capacity);
		for (unsigned s = 0; s < l->count; s++)
			l->spans[s] = (struct span){ s * 5, s * 5 + 4, s, 1 };
	}
	b->mode = i & 1 ? &c_mode : &md_mode;
	b->mode_data = b->mode->attach(b);
	struct autosave *a = NEW_ZEROED(struct autosave);
	snprintf(name, sizeof name, "/tmp/backup-%d~", i);
	a->backup = TEXT(strdup(name));
	a->interval = 30;
	hook(b, on_autosave, a);
	if (i % 3 == 0) {
		struct spell *s = NEW(struct spell);
		s->count = 6;
		s->buffer = b;
		s->words = NEW_ARRAY(char *, 6);
		for (int w = 0; w < 6; w++) {
			snprintf(name, sizeof name, "misspeling%d", w);
			s->words[w] = TEXT(strdup(name));
		}
		hook(b, on_spell, s);
	}
	edit(b, i);
	b->next = buffers;
	buffers = b;
	return b;
}

static void bind(const uint16_t *keys, int n, const struct command *c)
{
	struct key_node *at = keymap;
	for (int i = 0; i < n; i++) {
		struct key_node *to = NULL;
		for (unsigned k = 0; k < at->children_count; k++)
			if (at->children[k]->key == keys[i])
				to = at->children[k];
		if (!to) {
			to = NEW_ZEROED(struct key_node);
			to->key = keys[i];
			at->children = RENEW_ARRAY(struct key_node *, at->children,
						   at->children_count + 1);
			at->children[at->children_count++] = to;
		}
		at = to;
	}
	at->command = c;
}

static struct window *split(struct window *parent, int depth)
{
	struct window *w = NEW_ZEROED(struct window);
	w->parent = parent;
	w->w = 80;
	w->h = 24;
	if (depth) {
		w->child[0] = split(w, depth - 1);
		w->child[1] = split(w, depth - 1);
	} else {
		int n = next() % 20;
		w->buffer = buffers;
		while (n--)
			if (w->buffer->next)
				w->buffer = w->buffer->next;
		char s[80];
		snprintf(s, sizeof s, "%s [modified] line %u", w->buffer->path, w->top);
		w->status = TEXT(strdup(s));
	}
	return w;
}

static void leak(void)
{
	for (int i = 0; i < 10; i++) {
		struct undo *u = NEW_ZEROED(struct undo);
		u->kind = UNDO_DELETE;
		u->removed.text = TEXT(strdup("text that was deleted and lost"));
		u->removed.length = 30;
		struct autosave *a = NEW_ZEROED(struct autosave);
		a->interval = 9;
		a->backup = TEXT(strdup("/tmp/lost-backup~"));
	}
}

int main(void)
{
	keymap = NEW_ZEROED(struct key_node);
	for (int i = 0; i < 40; i++)
		open_buffer(i);
	for (int i = 0; i < 60; i++) {
		uint16_t k[3] = { 1 + next() % 5, 10 + next() % 8, 20 + i };
		bind(k, 3, &commands[i % 3]);
	}
	root_window = split(NULL, 4);
	for (int i = 0; i < 8; i++) {
		char *t = NEW_TEXT(100);
		memset(t, 0, 100);
		snprintf(t, 100, "killed text %d", i);
		kill_ring[kill_at++] = t;
	}
	for (struct buffer *b = buffers; b; b = b->next)
		for (struct hook *h = b->hooks; h; h = h->next)
			h->call(b, h->data);
	leak();
	truth_capture();
	printf("%p %d\n", (void *)root_window,
	       commands[kill_at % 3].run(root_window->child[0]->child[0]->child[0]->child[0], 1));
	if (kill_at > 8)
		buffers->mode->detach(buffers, buffers->mode_data);
	return 0;
}
