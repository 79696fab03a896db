// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lists with room for more elements than are in use: behind these is what earlier blocks left. Other structs begin with
 * a list, and would have it, too.
 */
#include "t/truth/truth.h"

#include <stdio.h>

#ifdef __clang__ // which warns of the very thing that this is about
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"
#endif

enum {
	LISTS = 300,
	ROOM = 14, // elements of a list
	OLD = 400,
	OLD_NUMBERS = 15, // of a block
	DERIVED = 20,
};

struct item {
	long number;
	char *name;
};

struct list {
	int kind, count;
	struct item *items[];
};

struct titled {
	struct list list;
	char *title;
	long pages;
	double price;
};

struct dated {
	struct list list;
	long year, month, day;
	char *title;
};

static struct list *lists[LISTS];
static struct titled *titled[DERIVED];
static struct dated *dated[DERIVED];

// Blocks that are full of numbers, and free again.
static void leave_numbers(void)
{
	static long *old[OLD];

	for (long i = 0; i < OLD; i++) {
		old[i] = malloc(OLD_NUMBERS * sizeof(long));
		for (long j = 0; j < OLD_NUMBERS; j++)
			old[i][j] = j * 99991 + i;
	}
	for (long i = 0; i < OLD; i++)
		free(old[i]);
}

static struct list *make_list(int number)
{
	struct list *list =
		NEW_FLEXIBLE(struct list, sizeof(*list) + ROOM * sizeof(list->items[0]));

	list->kind = number % 3;
	list->count = 1;
	list->items[0] = NEW(struct item);
	list->items[0]->number = number;
	list->items[0]->name = TEXT(strdup("the name of an item"));
	return list;
}

int main(void)
{
	long sum = 0;

	leave_numbers();
	for (int i = 0; i < LISTS; i++)
		lists[i] = make_list(i);
	for (int i = 0; i < DERIVED; i++) {
		titled[i] = NEW_ZEROED(struct titled);
		titled[i]->title = TEXT(strdup("a title"));
		dated[i] = NEW_ZEROED(struct dated);
		dated[i]->title = TEXT(strdup("a title"));
	}
	truth_capture();
	for (int i = 0; i < LISTS; i++)
		sum += lists[i]->items[0]->number;
	printf("%ld %s %s\n", sum, titled[0]->title, dated[0]->title);
	return 0;
}
