// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Queries of a small database: expressions and cursors both begin with a table of functions, of different types, and one
 * function makes all of them. What an expression is, only its table tells, which is no table of cursors.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	ROWS = 150,
	QUERIES = 120,
};

typedef struct row {
	struct row *next;
	int64_t columns[4];
} row;

typedef struct table {
	char *name;
	row *first, *last;
} table;

typedef struct expr expr;

typedef struct operation {
	const char *name;
	int64_t (*evaluate)(expr *, row *);
	void (*free)(expr *);
} operation;

struct expr {
	const operation *ops;
	int type;
};

typedef struct {
	expr base;
	int number;
	table *of;
} column_expr;

typedef struct {
	expr base;
	int64_t value, other;
} constant_expr;

typedef struct {
	expr base;
	char sign;
	expr *left, *right;
} binary_expr;

typedef struct {
	expr base;
	char *function;
	int count;
	expr *arguments[];
} call_expr;

typedef struct cursor {
	const struct step *ops;
	struct cursor *child;
} cursor;

typedef struct step {
	row *(*next)(cursor *);
	void (*close)(cursor *);
} step;

typedef struct {
	cursor base;
	table *of;
	row *at;
} scan;

typedef struct {
	cursor base;
	expr *condition;
	long rejected;
} filter;

typedef struct statement {
	struct statement *next;
	char *source;
	cursor *plan;
} statement;
static table *rows;
static statement *statements;

static int64_t column_evaluate(expr *self, row *of)
{
	column_expr *column = (column_expr *)self;

	return of->columns[column->number];
}

static int64_t constant_evaluate(expr *self, row *of)
{
	(void)of;
	return ((constant_expr *)self)->value;
}

static int64_t binary_evaluate(expr *self, row *of)
{
	binary_expr *binary = (binary_expr *)self;

	return binary->left->ops->evaluate(binary->left, of) <
	       binary->right->ops->evaluate(binary->right, of);
}

static int64_t call_evaluate(expr *self, row *of)
{
	call_expr *call = (call_expr *)self;

	return call->arguments[0]->ops->evaluate(call->arguments[0], of);
}

static const operation column_operation = { "column", column_evaluate, NULL },
		       constant_operation = { "constant", constant_evaluate, NULL },
		       binary_operation = { "binary", binary_evaluate, NULL },
		       call_operation = { "call", call_evaluate, NULL };

static expr *column_new(table *of, int number)
{
	column_expr *created = NEW(column_expr);

	created->base.ops = &column_operation;
	created->base.type = 1;
	created->number = number;
	created->of = of;
	return &created->base;
}

static expr *constant_new(int64_t value)
{
	constant_expr *created = NEW(constant_expr);

	created->base.ops = &constant_operation;
	created->base.type = 1;
	created->value = value;
	created->other = 0;
	return &created->base;
}

static expr *binary_new(char sign, expr *left, expr *right)
{
	binary_expr *created = NEW(binary_expr);

	created->base.ops = &binary_operation;
	created->base.type = 1;
	created->sign = sign;
	created->left = left;
	created->right = right;
	return &created->base;
}

static expr *call_new(const char *function, int count, expr **arguments)
{
	call_expr *created = NEW_FLEXIBLE(call_expr, sizeof(*created) + count * sizeof(expr *));

	created->base.ops = &call_operation;
	created->base.type = 1;
	created->function = TEXT(strdup(function));
	created->count = count;
	memcpy(created->arguments, arguments, count * sizeof(*arguments));
	return &created->base;
}

static row *scan_next(cursor *self)
{
	scan *own = (scan *)self;
	row *result = own->at;

	if (result)
		own->at = result->next;
	return result;
}

static row *filter_next(cursor *self)
{
	filter *own = (filter *)self;
	row *result;

	while ((result = self->child->ops->next(self->child)) &&
	       !own->condition->ops->evaluate(own->condition, result))
		own->rejected++;
	return result;
}

static const step scan_step = { scan_next, NULL }, filter_step = { filter_next, NULL };

static cursor *scan_new(table *of)
{
	scan *created = NEW(scan);

	created->base.ops = &scan_step;
	created->base.child = NULL;
	created->of = of;
	created->at = of->first;
	return &created->base;
}

static cursor *filter_new(cursor *child, expr *condition)
{
	filter *created = NEW(filter);

	created->base.ops = &filter_step;
	created->base.child = child;
	created->condition = condition;
	created->rejected = 0;
	return &created->base;
}

static void row_add(int number)
{
	row *added = NEW_ZEROED(row);

	if (rows->last)
		rows->last->next = added;
	else
		rows->first = added;
	rows->last = added;
	added->columns[0] = number * 7919 % 1000;
}

int main(void)
{
	char text[100];
	int found = 0;

	rows = NEW_ZEROED(table);
	rows->name = TEXT(strdup("table"));
	for (int i = 0; i < ROWS; i++)
		row_add(i);
	for (int i = 0; i < QUERIES; i++) {
		statement *query = NEW_ZEROED(statement);
		expr *arguments[2] = { column_new(rows, 0), constant_new(i) };
		expr *condition = binary_new('<', call_new("abs", 2, arguments), constant_new(500));
		cursor *plan = filter_new(scan_new(rows), condition);

		snprintf(text, sizeof(text), "select * from table where column = %d", i);
		query->source = TEXT(strdup(text));
		query->plan = plan;
		query->next = statements;
		statements = query;
	}
	truth_capture();
	for (statement *query = statements; query; query = query->next) {
		while (query->plan->ops->next(query->plan))
			found++;
	}
	printf("%d\n", found);
	return 0;
}
