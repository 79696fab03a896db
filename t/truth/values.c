// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A dynamic language's values: a union, and beside it the number that says which member holds. What the
 * members lead to is of one size, so that nothing but the number tells it.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum kind {
	KIND_NIL,
	KIND_NUMBER,
	KIND_FLOAT,
	KIND_PAIR,
	KIND_RANGE,
	KIND_BOX,
	KIND_CLOSURE,
	KIND_LIST
};

struct value {
	union {
		int64_t number;
		double real;
		struct pair *pair;
		struct range *range;
		struct box *box;
		struct closure *closure;
		struct list *list;
	};
	enum kind kind;
};

// All of 48 bytes.
struct pair {
	struct value first, second;
	uint64_t hash, color;
};

struct range {
	uint64_t from, to, step, position, limit, hash;
};

struct box {
	struct value content;
	struct box *previous;
	uint64_t version, owner, hash;
};

struct closure {
	const void *code;
	struct value self;
	struct closure *outer;
	uint64_t arity, hash;
};

struct list {
	size_t count, capacity;
	struct value *items;
	uint64_t hash, iterators, frozen;
};

static struct list *root;

static struct value make(int depth);

static struct value make_pair(int depth)
{
	struct pair *pair = NEW(struct pair);

	pair->first = make(depth + 1);
	pair->second = make(depth + 1);
	pair->hash = next() % 1000;
	pair->color = 7;
	return (struct value){ .pair = pair, .kind = KIND_PAIR };
}

static struct value make_range(void)
{
	struct range *range = NEW(struct range);

	*range = (struct range){ next() % 100, 100 + next() % 100, 1, 0, 1000, next() % 1000 };
	return (struct value){ .range = range, .kind = KIND_RANGE };
}

static struct value make_box(int depth)
{
	static struct box *last;
	struct box *box = NEW(struct box);

	*box = (struct box){ make(depth + 1), last, next() % 5, next() % 3, next() % 1000 };
	last = next() % 4 ? box : NULL;
	return (struct value){ .box = box, .kind = KIND_BOX };
}

static struct value make_closure(int depth)
{
	struct closure *closure = NEW(struct closure);

	*closure = (struct closure){ (const void *)make_range, make(depth + 1), NULL, next() % 4,
				     next() % 1000 };
	return (struct value){ .closure = closure, .kind = KIND_CLOSURE };
}

static struct list *make_list(size_t count, int depth)
{
	struct list *list = NEW(struct list);

	list->count = list->capacity = count;
	list->items = NEW_ARRAY(struct value, count);
	for (size_t i = 0; i < count; i++)
		list->items[i] = make(depth + 1);
	list->hash = next() % 1000;
	list->iterators = 0;
	list->frozen = 1;
	return list;
}

static struct value make(int depth)
{
	switch (depth > 6 ? next() % 3 : next() % 8) {
	case KIND_NUMBER:
		return (struct value){ .number = (int64_t)(next() % 100000), .kind = KIND_NUMBER };
	case KIND_FLOAT:
		return (struct value){ .real = (double)(next() % 1000) / 7, .kind = KIND_FLOAT };
	case KIND_PAIR:
		return make_pair(depth);
	case KIND_RANGE:
		return make_range();
	case KIND_BOX:
		return make_box(depth);
	case KIND_CLOSURE:
		return make_closure(depth);
	case KIND_LIST:
		return (struct value){ .list = make_list(1 + next() % 4, depth + 2),
				       .kind = KIND_LIST };
	default:
		return (struct value){ .kind = KIND_NIL };
	}
}

int main(void)
{
	root = make_list(1500, 1);
	truth_capture();
	printf("%zu\n", root->count);
	return 0;
}
