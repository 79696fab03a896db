// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A sheet of cells. All begin alike, and a number, which is no enum, tells what goes on behind: texts, numbers, formulas,
 * references and errors. Tables and lists have pointers to what all begin with.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	ROWS = 120,
	COLUMNS = 20,
};

#define NUMBER 1
#define LABEL 2
#define FORMULA 3
#define RANGE 4
#define FAILURE 5

struct cell {
	int kind;
	int format;
	struct cell *next; // of those that changed
	uint32_t row, column;
};

struct number_cell {
	struct cell cell;
	double value;
	double shown;
};

struct label_cell {
	struct cell cell;
	char *text;
	uint32_t length, width;
};

struct node {
	int kind;
	int arguments;
	union {
		double number;
		struct cell *cell;
		struct node **list;
	};
};

struct formula_cell {
	struct cell cell;
	struct node *root;
	double result;
};

struct range_cell {
	struct cell cell;
	struct cell *first;
	struct cell *last;
};

struct failure_cell {
	struct cell cell;
	struct cell *origin;
	char *message;
};

struct row {
	uint32_t number, height;
	struct cell *cells[COLUMNS];
};

static struct row *rows[ROWS];
static struct cell *changed;

static unsigned below(unsigned limit)
{
	return (unsigned)(next() % limit);
}

static void enter(struct cell *cell, int kind, uint32_t row, uint32_t column)
{
	cell->kind = kind;
	cell->format = (int)below(7);
	cell->row = row;
	cell->column = column;
	cell->next = NULL;
	if (below(4) == 0) {
		cell->next = changed;
		changed = cell;
	}
	rows[row]->cells[column] = cell;
}

static struct cell *any_cell(uint32_t row)
{
	struct row *from = rows[below(row + 1)];

	for (int i = 0; i < COLUMNS; i++) {
		struct cell *cell = from->cells[below(COLUMNS)];

		if (cell)
			return cell;
	}
	return NULL;
}

static char *make_text(const char *format, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), format, number);
	return TEXT(strdup(text));
}

static void add_number(uint32_t row, uint32_t column)
{
	struct number_cell *number = NEW(struct number_cell);

	enter(&number->cell, NUMBER, row, column);
	number->value = below(100000) / 100.0;
	number->shown = number->value + 0.5;
}

static void add_label(uint32_t row, uint32_t column)
{
	struct label_cell *label = NEW(struct label_cell);

	enter(&label->cell, LABEL, row, column);
	label->text = make_text("the label of %u", below(10000));
	label->length = (uint32_t)strlen(label->text);
	label->width = label->length * 8;
}

static struct node *make_node(uint32_t row, int depth)
{
	struct node *node = NEW(struct node);

	node->kind = depth == 0 ? (int)below(2) : 2;
	node->arguments = 0;
	if (node->kind == 0) {
		node->number = below(1000) / 8.0;
	} else if (node->kind == 1) {
		node->cell = any_cell(row);
	} else {
		node->arguments = 2;
		node->list = NEW_ARRAY(struct node *, 2);
		for (int i = 0; i < 2; i++)
			node->list[i] = make_node(row, depth - 1);
	}
	return node;
}

static void add_formula(uint32_t row, uint32_t column)
{
	struct formula_cell *formula = NEW(struct formula_cell);

	enter(&formula->cell, FORMULA, row, column);
	formula->root = make_node(row, (int)below(3));
	formula->result = below(1000) / 4.0;
}

static void add_range(uint32_t row, uint32_t column)
{
	struct range_cell *range = NEW(struct range_cell);

	enter(&range->cell, RANGE, row, column);
	range->first = any_cell(row);
	range->last = any_cell(row);
}

static void add_failure(uint32_t row, uint32_t column)
{
	struct failure_cell *failure = NEW(struct failure_cell);

	enter(&failure->cell, FAILURE, row, column);
	failure->origin = any_cell(row);
	failure->message = make_text("no value in %u", below(1000));
}

static double evaluate(const struct node *node)
{
	if (node->kind == 0)
		return node->number;
	if (node->kind == 1)
		return node->cell ? node->cell->row : 0;
	return evaluate(node->list[0]) + evaluate(node->list[1]);
}

static double sum(const struct cell *cell)
{
	switch (cell->kind) {
	case NUMBER:
		return ((const struct number_cell *)cell)->value;
	case LABEL:
		return ((const struct label_cell *)cell)->text[0];
	case FORMULA:
		return evaluate(((const struct formula_cell *)cell)->root);
	case RANGE:
		return ((const struct range_cell *)cell)->first ? 1 : 0;
	default:
		return ((const struct failure_cell *)cell)->message[1];
	}
}

int main(void)
{
	static void (*const add[])(uint32_t, uint32_t) = { add_number, add_label, add_formula,
							   add_range, add_failure };
	double all = 0;

	for (uint32_t row = 0; row < ROWS; row++) {
		rows[row] = NEW_ZEROED(struct row);
		rows[row]->number = row;
		for (uint32_t column = 0; column < COLUMNS; column++) {
			if (below(5) > 0)
				add[below(5)](row, column);
		}
	}
	truth_capture();
	for (uint32_t row = 0; row < ROWS; row++) {
		for (uint32_t column = 0; column < COLUMNS; column++)
			all += rows[row]->cells[column] ? sum(rows[row]->cells[column]) : 0;
	}
	printf("%g\n", all);
	return changed == NULL;
}
