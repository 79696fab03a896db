// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Short words in blocks that were nodes of a list: the node's pointer to the one before it is still there, and good.
 * Only a table of numbers leads to the words.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	RECORDS = 6000,
};

struct node {
	void *data;
	struct node *next, *previous;
};

struct record {
	long id;
	struct node *links;
	double weight;
	long count;
};

static struct record **records;
static unsigned long *words;

static struct node *append(struct node *last, void *data)
{
	struct node *node = NEW_ZEROED(struct node);

	node->data = data;
	node->previous = last;
	if (last)
		last->next = node;
	return node;
}

static void remove_last(struct node *last)
{
	last->previous->next = NULL;
	FREE(last);
}

static struct record *new_record(int number)
{
	struct record *record = NEW_ZEROED(struct record);
	struct node *last;

	record->id = number;
	record->weight = number * 0.5;
	record->links = append(NULL, record);
	last = append(append(record->links, record), record);
	remove_last(last);
	record->count = 2;
	return record;
}

int main(void)
{
	records = NEW_ZEROED_ARRAY(struct record *, RECORDS);
	words = NEW_ZEROED_ARRAY(unsigned long, RECORDS);
	for (int i = 0; i < RECORDS; i++) {
		records[i] = new_record(i);
		words[i] = (unsigned long)TEXT(strdup(i % 2 ? "odd one" : "even"));
	}
	truth_capture();
	return 0;
}
