// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A solver that keeps a header before each block, with its size and links to and from the others. Only the allocator
 * knows it, by void pointers. Behind it are structs of which there are few, arrays, and blocks that are cut into atoms.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	ROWS = 300,
	COLUMNS = 200,
	PROBLEMS = 4,
	PAGE = 8000,
};

struct header {
	size_t size;
	struct header *self, *previous, *next;
};

struct environment {
	size_t count, total;
	struct header *first;
};

#define BEHIND(T, pointer) \
	((T *)truth_log((struct header *)(pointer)-1, TRUTH_BEHIND, #T, sizeof(struct header)))
#define MAKE(T, n) ((T *)((struct header *)BEHIND(T, allocate((n) * sizeof(T))) + 1))

// Cuts pages into atoms. It frees all of them together.
struct pool {
	void *page;
	size_t used, count;
};

struct element {
	struct row *row;
	struct column *column;
	double value;
	struct element *next_in_row, *next_in_column;
	uint64_t order;
};

struct row {
	int number, type;
	double lower, upper;
	char *name;
	struct element *elements;
	struct problem *of;
};

struct column {
	int number, kind;
	double cost, primal, dual;
	struct element *elements;
	struct problem *of;
	uint64_t flags;
};

struct factors {
	int size;
	double *values;
	int *indices;
};

struct problem {
	struct pool *pool;
	struct factors *factors;
	int rows, columns;
	struct row **row; // from 1 on
	struct column **column;
	double *prices;
};

struct parameters {
	double tolerance;
	int limit;
	struct problem *best;
};

static void *environment;
static struct problem *problems[PROBLEMS];
static struct parameters *parameters;

__attribute__((noinline)) static void *allocate(size_t size)
{
	struct environment *own = environment;
	struct header *header = malloc(sizeof(*header) + size);

	*header = (struct header){ size, header, NULL, own->first };
	if (own->first)
		own->first->previous = header;
	own->first = header;
	own->count++;
	own->total += size;
	return header + 1;
}

__attribute__((noinline)) static void *take(struct pool *pool, size_t size)
{
	size = (size + 7) & ~(size_t)7;
	if (pool->used + size > PAGE) {
		char *page = allocate(PAGE);

		POOL(void, page - sizeof(struct header));
		*(void **)page = pool->page;
		pool->page = page;
		pool->used = sizeof(void *);
	}
	pool->count++;
	pool->used += size;
	return (char *)pool->page + pool->used - size;
}

static struct pool *make_pool(void)
{
	struct pool *pool = MAKE(struct pool, 1);

	*pool = (struct pool){ NULL, PAGE, 0 };
	return pool;
}

static struct factors *factorize(int size)
{
	struct factors *factors = MAKE(struct factors, 1);

	factors->size = size;
	factors->values = MAKE(double, (size_t)size);
	factors->indices = MAKE(int, (size_t)size);
	for (int i = 0; i < size; i++) {
		factors->values[i] = 1.0 / (i + 1);
		factors->indices[i] = i * 7 % size;
	}
	return factors;
}

static void add_row(struct problem *problem, int number)
{
	struct row *row = PART(struct row, take(problem->pool, sizeof(*row)));
	char name[32];
	int length = snprintf(name, sizeof(name), "the row number %d", number);

	*row = (struct row){ number, 1, 0.5, 100.5, NULL, NULL, problem };
	row->name = PART(char, take(problem->pool, (size_t)length + 1));
	memcpy(row->name, name, (size_t)length + 1);
	problem->row[number] = row;
}

static void add_column(struct problem *problem, int number)
{
	struct column *column = PART(struct column, take(problem->pool, sizeof(*column)));

	*column = (struct column){ number, 2, 1.5 * number, 0.25, 0.75, NULL, problem, 3 };
	problem->column[number] = column;
}

static void add_elements(struct problem *problem, struct row *row)
{
	for (int i = 0; i < 12; i++) {
		struct column *column = problem->column[1 + next() % COLUMNS];
		struct element *element =
			PART(struct element, take(problem->pool, sizeof(*element)));

		*element = (struct element){
			row,           column,           (double)(next() % 1000) / 7,
			row->elements, column->elements, (uint64_t)i
		};
		row->elements = column->elements = element;
	}
}

static struct problem *make_problem(void)
{
	struct problem *problem = MAKE(struct problem, 1);

	*problem = (struct problem){ .pool = make_pool(), .rows = ROWS, .columns = COLUMNS };
	problem->row = MAKE(struct row *, ROWS + 1);
	problem->column = MAKE(struct column *, COLUMNS + 1);
	problem->prices = MAKE(double, ROWS + 1);
	memset(problem->row, 0x5a, sizeof(*problem->row));
	memset(problem->column, 0x5a, sizeof(*problem->column));
	for (int i = 0; i <= ROWS; i++)
		problem->prices[i] = 0.1 * i;
	for (int i = 1; i <= COLUMNS; i++)
		add_column(problem, i);
	for (int i = 1; i <= ROWS; i++)
		add_row(problem, i);
	for (int i = 1; i <= ROWS; i++)
		add_elements(problem, problem->row[i]);
	problem->factors = factorize(ROWS);
	return problem;
}

int main(void)
{
	environment = NEW_ZEROED(struct environment);
	for (int i = 0; i < PROBLEMS; i++)
		problems[i] = make_problem();
	parameters = MAKE(struct parameters, 1);
	*parameters = (struct parameters){ 1e-7, 1000, problems[1] };
	truth_capture();
	for (int i = 0; i < PROBLEMS; i++)
		printf("%zu %g\n", problems[i]->pool->count, problems[i]->factors->values[3]);
	return parameters->limit == 0;
}
