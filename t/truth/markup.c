// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A document and its grammar, whose structs begin with the same members, an enum among them, that are written out in each: no
 * struct is the beginning of the others. All are linked by pointers to one of them. Some are of its size, others
 * smaller or larger; the enumerators do not have the structs' names.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum kind {
	M_START = 1,
	M_PAIR,
	M_CHARS,
	M_REMARK,
	M_DECLARED_START,
	M_DECLARED_PAIR,
	M_DECLARED_WORD,
	M_GRAMMAR,
};

enum use {
	USE_CHARS = 1,
	USE_ID,
	USE_NUMBER,
	USE_CHOICE
};
enum need {
	NEED_NONE = 1,
	NEED_ALWAYS,
	NEED_FIXED
};

#define BEGINNING \
	void *user; \
	enum kind kind; \
	const char *name; \
	struct piece *first; \
	struct piece *last

struct piece {
	BEGINNING;
	struct piece *parent;
	struct piece *next, *previous;
	struct space *space;
	char *text;
	struct pair *pairs;
	void *sort;
	unsigned short line, extra;
};

struct pair {
	BEGINNING;
	struct piece *parent;
	struct pair *next, *previous;
	struct space *space;
	enum use use;
	void *sort;
};

struct choice {
	struct choice *next;
	char *word;
};

// As large as a piece.
struct pair_rule {
	BEGINNING;
	struct grammar *parent;
	struct piece *next, *previous;
	struct pair_rule *other;
	enum use use;
	enum need need;
	char *value;
	struct choice *choices;
	char *owner;
};

struct content {
	int what, how_often;
	struct content *left, *right;
	char *name;
};

// Smaller.
struct start_rule {
	BEGINNING;
	struct grammar *parent;
	struct piece *next, *previous;
	int sort;
	struct content *content;
	struct pair_rule *pairs;
};

// Larger.
struct word {
	BEGINNING;
	struct grammar *parent;
	struct piece *next, *previous;
	char *original, *content;
	int length;
	int sort;
	char *outside, *address;
	int checked;
	struct word *nested;
};

struct grammar {
	BEGINNING;
	struct document *parent;
	struct piece *next, *previous;
	long rules, words;
};

struct space {
	struct space *next;
	char *prefix, *address;
};

struct document {
	struct grammar *grammar;
	struct piece *root;
	struct space *spaces;
};

struct document *document;

#define ADD(holder, item) \
	do { \
		struct piece *added = (struct piece *)(item); \
		added->previous = (holder)->last; \
		if ((holder)->last) \
			(holder)->last->next = added; \
		else \
			(holder)->first = added; \
		(holder)->last = added; \
	} while (0)

static char *text(const char *form, int number)
{
	char buffer[80];

	snprintf(buffer, sizeof(buffer), form, number);
	return TEXT(strdup(buffer));
}

static struct content *add_content(int i, int depth)
{
	struct content *content = NEW_ZEROED(struct content);

	content->what = depth > 2 ? 1 : 2 + i % 2;
	if (depth > 2) {
		content->name = text("part%d", i);
		return content;
	}
	content->left = add_content(i * 2, depth + 1 + i % 2);
	content->right = add_content(i * 2 + 1, depth + 1);
	return content;
}

static struct pair_rule *add_pair_rule(struct grammar *grammar, int i, int k)
{
	struct pair_rule *rule = NEW_ZEROED(struct pair_rule);

	rule->kind = M_DECLARED_PAIR;
	rule->name = text("pair%d", i * 10 + k);
	rule->parent = grammar;
	rule->use = USE_CHARS + (i + k) % 4;
	rule->need = NEED_NONE + i % 3;
	rule->owner = text("start%d", i);
	if (i % 3 == 2)
		rule->value = text("%d as ever", k);
	for (int c = 0; rule->use == USE_CHOICE && c < 3; c++) {
		struct choice *choice = NEW_ZEROED(struct choice);

		choice->word = text("choice %d", c);
		choice->next = rule->choices;
		rule->choices = choice;
	}
	ADD(grammar, rule);
	return rule;
}

static void add_start_rule(struct grammar *grammar, int i)
{
	struct start_rule *rule = NEW_ZEROED(struct start_rule);

	rule->kind = M_DECLARED_START;
	rule->name = text("start%d", i);
	rule->parent = grammar;
	rule->sort = 1 + i % 4;
	if (i % 4 > 1)
		rule->content = add_content(i, 0);
	ADD(grammar, rule);
	for (int k = 0; k < i % 5; k++) {
		struct pair_rule *pair = add_pair_rule(grammar, i, k);

		pair->other = rule->pairs;
		rule->pairs = pair;
	}
	grammar->rules++;
}

static void add_word(struct grammar *grammar, int i)
{
	struct word *word = NEW_ZEROED(struct word);

	word->kind = M_DECLARED_WORD;
	word->name = text("word%d", i);
	word->parent = grammar;
	word->sort = 1 + i % 2;
	if (i % 2) {
		word->original = text("&lt;word %d&gt;", i);
		word->content = text("<word %d>", i);
		word->length = (int)strlen(word->content);
	} else {
		word->outside = text("file%d.words", i);
		word->address = text("/usr/share/words/file%d.words", i);
	}
	ADD(grammar, word);
	grammar->words++;
}

static struct piece *add_piece(struct piece *parent, enum kind kind)
{
	struct piece *piece = NEW_ZEROED(struct piece);

	piece->kind = kind;
	piece->parent = parent;
	if (parent)
		ADD(parent, piece);
	return piece;
}

static void add_pair(struct piece *piece, int i)
{
	struct pair *pair = NEW_ZEROED(struct pair);
	struct piece *value = add_piece(NULL, M_CHARS);

	pair->kind = M_PAIR;
	pair->name = text("pair%d", i);
	pair->parent = piece;
	pair->use = USE_CHARS + i % 3;
	value->parent = (struct piece *)pair;
	value->name = text("chars%d", i % 3);
	value->text = text("the value %d", i);
	pair->first = pair->last = value;
	pair->next = piece->pairs;
	if (piece->pairs)
		piece->pairs->previous = pair;
	piece->pairs = pair;
}

static void add_start(struct piece *parent, int i)
{
	struct piece *piece = add_piece(parent, M_START), *chars;

	piece->name = text("start%d", i % 100);
	piece->line = (unsigned short)i;
	if (i % 7 == 0)
		piece->space = document->spaces;
	for (int k = 0; k < i % 4; k++)
		add_pair(piece, i + k);
	chars = add_piece(piece, i % 5 == 4 ? M_REMARK : M_CHARS);
	chars->text = text("some text, number %d", i);
	chars->line = (unsigned short)i;
}

int main(void)
{
	document = NEW_ZEROED(struct document);
	document->spaces = NEW_ZEROED(struct space);
	document->spaces->prefix = text("x%d", 1);
	document->spaces->address = text("http://example.org/%d", 1);
	document->grammar = NEW_ZEROED(struct grammar);
	document->grammar->kind = M_GRAMMAR;
	document->grammar->name = text("grammar%d", 1);
	document->grammar->parent = document;
	for (int i = 0; i < 400; i++) {
		add_word(document->grammar, i);
		add_start_rule(document->grammar, i);
	}
	document->root = add_piece(NULL, M_START);
	document->root->name = text("root%d", 1);
	for (int i = 0; i < 1200; i++)
		add_start(document->root, i);
	truth_capture();
	printf("%ld %ld\n", document->grammar->rules, document->grammar->words);
	return 0;
}
