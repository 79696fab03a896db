// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list of anything has records that begin with numbers, which read as texts of one letter.
 */
#include "t/truth/truth.h"

#include <stdio.h>

struct record {
	int number, count;
	double cost;
};

struct link {
	void *data;
	struct link *next, *previous;
};

struct list {
	struct link *first, *last;
	int length;
};

static void push(struct list *list, void *data)
{
	struct link *link = NEW(struct link);

	link->data = data;
	link->next = NULL;
	link->previous = list->last;
	if (list->last)
		list->last->next = link;
	else
		list->first = link;
	list->last = link;
	list->length++;
}

static void *make_record(int number)
{
	struct record *record = NEW(struct record);

	record->number = number;
	record->cost = 3;
	return record;
}

int main(void)
{
	struct list *list = NEW_ZEROED(struct list);

	for (int i = 0; i < 200; i++)
		push(list, make_record('A' + i % 26));
	truth_capture();
	printf("%d\n", list->length);
	return 0;
}
