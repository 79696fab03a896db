// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An interpreter of lists whose cells are cut from large blocks. A cell keeps a number, a text, a big number or the
 * first cell of another list in a member that is declared as a number.
 */
#include "t/truth/truth.h"

#include <stdio.h>

typedef unsigned long word;

enum {
	CELLS = 1024, // of a block
	LISTS = 3000,
	SYMBOLS = 900
};

enum kind {
	KIND_FREE = 0x100,
	KIND_NIL = 0x181,
	KIND_NUMBER,
	KIND_TEXT,
	KIND_SYMBOL,
	KIND_LIST
};

struct cell {
	word kind;
	struct cell *next;
	word length; // of a text; the last cell of a list
	word contents;
};

struct symbol {
	struct symbol *left, *right;
	char *name;
	struct cell *value;
	word flags;
};

static struct cell *first_block, *block, *free_cells, *nil;
static struct symbol *symbols;

static void add_block(void)
{
	if (!first_block) {
		first_block = NEW_ARRAY(struct cell, CELLS + 1);
		block = first_block;
	} else {
		(block + CELLS)->next = NEW_ARRAY(struct cell, CELLS + 1);
		block = (block + CELLS)->next;
	}
	for (int i = 0; i < CELLS; i++) {
		(block + i)->kind = KIND_FREE;
		(block + i)->next = block + i + 1;
		(block + i)->length = 0;
		(block + i)->contents = 0;
	}
	(block + CELLS - 1)->next = NULL;
	memset(block + CELLS, 0, sizeof(*block));
	free_cells = block;
}

static struct cell *make_cell(enum kind kind, word contents)
{
	struct cell *cell;

	if (!free_cells)
		add_block();
	cell = free_cells;
	free_cells = cell->next;
	cell->kind = kind;
	cell->next = nil ? nil : cell;
	cell->length = nil ? (word)nil : (word)cell;
	cell->contents = contents;
	return cell;
}

static struct cell *make_text(const char *bytes)
{
	size_t length = strlen(bytes);
	char *copy = NEW_TEXT(length + 1);
	struct cell *cell;

	memcpy(copy, bytes, length + 1);
	cell = make_cell(KIND_TEXT, (word)copy);
	cell->length = length + 1;
	return cell;
}

static void append(struct cell *list, struct cell *cell)
{
	if (list->contents == (word)nil)
		list->contents = (word)cell;
	else
		((struct cell *)list->length)->next = cell;
	list->length = (word)cell;
}

static struct symbol *add_symbol(const char *name)
{
	struct symbol **at = &symbols;
	size_t length = strlen(name);

	while (*at)
		at = strcmp(name, (*at)->name) < 0 ? &(*at)->left : &(*at)->right;
	*at = NEW_ZEROED(struct symbol);
	(*at)->name = NEW_TEXT(length + 1);
	memcpy((*at)->name, name, length + 1);
	(*at)->value = nil;
	(*at)->flags = length & 1;
	return *at;
}

// (n "text n" symbol (n n+1 "x"))
static struct cell *make_list(int n, struct symbol *symbol)
{
	struct cell *list = make_cell(KIND_LIST, (word)nil);
	struct cell *inner = make_cell(KIND_LIST, (word)nil);
	char text[40];

	snprintf(text, sizeof(text), "the text with number %d", n);
	append(list, make_cell(KIND_NUMBER, (word)n));
	append(list, make_text(text));
	append(list, make_cell(KIND_SYMBOL, (word)symbol));
	append(inner, make_cell(KIND_NUMBER, (word)n));
	append(inner, make_cell(KIND_NUMBER, (word)n + 1));
	append(inner, make_text("x"));
	append(list, inner);
	return list;
}

static word sum(const struct cell *cell)
{
	word total = 0;

	for (; cell != nil; cell = cell->next)
		total += cell->kind == KIND_LIST     ? sum((struct cell *)cell->contents)
			 : cell->kind == KIND_NUMBER ? cell->contents
						     : cell->length;
	return total;
}

static word visit(const struct symbol *symbol)
{
	return symbol ? visit(symbol->left) + sum(symbol->value) + visit(symbol->right) : 0;
}

int main(void)
{
	struct symbol *holders[SYMBOLS];
	word total;

	nil = make_cell(KIND_NIL, 0);
	for (int i = 0; i < SYMBOLS; i++) {
		char name[20];

		snprintf(name, sizeof(name), "%x-symbol", i * 7919 % 1009);
		holders[i] = add_symbol(name);
		holders[i]->value = make_cell(KIND_LIST, (word)nil);
	}
	for (int i = 0; i < LISTS; i++)
		append(holders[i % SYMBOLS]->value, make_list(i, holders[i * 31 % SYMBOLS]));
	total = visit(symbols);
	truth_capture();
	return visit(symbols) != total;
}
