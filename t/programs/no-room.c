// SPDX-License-Identifier: GPL-3.0-or-later
// Objects of a runtime in one list, which all begin with the same header. A member that is not set holds
// what lay there before: the address of the last member of another object.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TABLES = 40,
	STALE = 7, // whose last member a stale pointer leads to
};

struct object {
	struct object *next;
	unsigned char kind;
};

struct table {
	struct object *next;
	unsigned char kind;
	unsigned used;
	double *numbers;
	double sum, least;
	struct object *gray;
};

struct function {
	struct object *next;
	unsigned char kind;
	unsigned lines[20];
	struct object *gray;
};

struct object *all;

__attribute__((noinline)) static struct object *make(size_t size, unsigned char kind)
{
	struct object *object = calloc(1, size);

	object->next = all;
	object->kind = kind;
	all = object;
	return object;
}

__attribute__((noinline)) static struct table *make_table(void)
{
	struct table *table = (struct table *)make(sizeof(*table), 1);

	table->used = 1;
	table->sum = 1.5;
	table->least = 0.5;
	return table;
}

__attribute__((noinline)) static struct function *make_function(void)
{
	struct function *function = (struct function *)make(sizeof(*function), 2);

	function->lines[0] = 1;
	return function;
}

int main(void)
{
	struct table *stale = NULL;
	struct function *function;
	void *place;

	for (int i = 0; i < TABLES; i++) {
		struct table *table = make_table();

		if (i == STALE)
			stale = table;
	}
	function = make_function();
	place = &stale->gray;
	memcpy(&function->gray, &place, sizeof(place));
	stale = NULL;
	place = NULL;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
