// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An interpreter whose allocator is called through a pointer, as engines of JavaScript have it, and
 * whose evaluator calls itself.
 *
 *	new_*() ─▶ context_alloc() ─▶ runtime_alloc() ─▶ *alloc = default_alloc() ─▶ malloc()
 *	execute_*() ─▶ evaluate() ─▶ evaluate() ─▶ list_new(), malloc()
 *
 * Blocks belong to new_*(), list_new() and evaluate(): allocators are looked through, however they
 * are called, and a function that calls itself is no allocator.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline)) static

enum {
	TIMES = 400,
	DEPTH = 6,
};

struct state {
	size_t count, bytes, limit;
};

struct runtime {
	void *(*alloc)(struct state *state, size_t size);
	struct state state;
	unsigned failures;
};

struct context {
	struct runtime *runtime;
	unsigned errors;
};

void *kept[99 * TIMES];
static size_t kept_count;

static void keep(void *block)
{
	kept[kept_count++] = block;
}

// --- the allocator, and what is made with it ---

KEPT void *default_alloc(struct state *state, size_t size)
{
	void *block;

	if (state->bytes + size > state->limit)
		return NULL;
	block = malloc(size);
	if (!block)
		return NULL;
	state->count++;
	state->bytes += size;
	return block;
}

KEPT void *runtime_alloc(struct runtime *runtime, size_t size)
{
	void *block = runtime->alloc(&runtime->state, size);

	if (!block)
		runtime->failures++;
	return block;
}

KEPT void *context_alloc(struct context *context, size_t size)
{
	void *block = runtime_alloc(context->runtime, size);

	if (!block)
		context->errors++;
	return block;
}

// The first block is made by the same pointer: a caller that never asks for another size.
KEPT struct runtime *new_runtime(void *(*alloc)(struct state *, size_t))
{
	struct state state = { .limit = SIZE_MAX / 2 };
	struct runtime *runtime = alloc(&state, sizeof(*runtime));

	*runtime = (struct runtime){ alloc, state, 0 };
	return runtime;
}

KEPT void new_object(struct context *context)
{
	keep(memset(context_alloc(context, 72), 1, 72));
}

KEPT void new_shape(struct context *context)
{
	keep(memset(context_alloc(context, 104), 2, 104));
}

KEPT void new_property(struct context *context)
{
	keep(memset(context_alloc(context, 24), 3, 24));
}

KEPT void new_string(struct context *context, int number)
{
	size_t size = 30 + (size_t)number % 50;

	keep(memset(context_alloc(context, size), 'x', size));
}

KEPT void new_atom(struct runtime *runtime)
{
	keep(memset(runtime_alloc(runtime, 40), 4, 40));
}

// --- the evaluator ---

struct list {
	struct list *first, *next;
	long number;
};

KEPT struct list *list_new(long number)
{
	struct list *list = malloc(sizeof(*list));

	*list = (struct list){ NULL, NULL, number };
	return list;
}

// Each place in a script makes lists of one size; all places call this function.
KEPT struct list *evaluate(int place, int depth)
{
	struct list *list;

	if (depth == 0) {
		size_t size = 16 + 16 * (size_t)(place % 8);

		keep(memset(malloc(size), 'v', size));
		return list_new(place);
	}
	list = list_new(depth);
	list->first = evaluate(place, depth - 1);
	return list;
}

#define EXECUTE(number) \
	KEPT void execute_##number(int depth) \
	{ \
		keep(evaluate(number, depth)); \
	}

EXECUTE(0)
EXECUTE(1)
EXECUTE(2)
EXECUTE(3)
EXECUTE(4)
EXECUTE(5)

int main(void)
{
	void *(*volatile alloc)(struct state *, size_t) = default_alloc;
	struct runtime *runtime = new_runtime(alloc);
	struct context context = { runtime, 0 };

	// At first, nothing shows that evaluate() calls itself.
	for (int i = 0; i < 4 * TIMES; i++) {
		execute_0(0);
		execute_1(0);
		execute_2(0);
		execute_3(0);
		execute_4(0);
		execute_5(0);
	}
	for (int i = 0; i < TIMES; i++) {
		new_object(&context);
		new_shape(&context);
		new_property(&context);
		new_string(&context, i);
		new_atom(runtime);
		execute_0(i % DEPTH);
		execute_1(i % DEPTH);
		execute_2(i % DEPTH);
		execute_3(i % DEPTH);
		execute_4(i % DEPTH);
		execute_5(i % DEPTH);
	}
	printf("ready\n");
	fflush(stdout);
	return getchar() == EOF;
}
