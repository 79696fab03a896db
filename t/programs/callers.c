// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A table that main holds, and whose entries the parameters and variables of the calls below it lead to; a list
 * that a call in between holds; and entries of a global variable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES = 100,
	STEPS = 20,
};

struct record {
	struct record *next;
	char *name;
	int number;
};

struct step {
	struct step *before;
	struct record *at;
};

static struct record *popular;

static struct record *new_record(struct record *next, int number)
{
	struct record *entry = malloc(sizeof(*entry));

	*entry = (struct record){ next, strdup("the name of a record"), number };
	return entry;
}

__attribute__((noinline)) static int compare(const char *name, struct record *entry)
{
	int result = strcmp(name, entry->name);

	puts("ready");
	getchar();
	return result + entry->number;
}

__attribute__((noinline)) static int visit(struct record *first, struct step *step)
{
	struct record *third = first->next->next;
	struct record *fifth = third->next->next;

	return compare(fifth->name, popular->next) + third->number + step->at->number;
}

__attribute__((noinline)) static int walk(struct record *first)
{
	struct step *step = NULL;
	struct record *entry = first;

	for (int i = 0; i < STEPS; i++, entry = entry->next) {
		struct step *next = malloc(sizeof(*next));

		*next = (struct step){ step, entry };
		step = next;
	}
	return visit(first->next, step) + step->at->number;
}

int main(void)
{
	struct record *table = NULL;
	int result;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < ENTRIES; i++)
		table = new_record(table, i);
	for (int i = 0; i < 10; i++)
		popular = new_record(popular, i);
	result = walk(table);
	printf("%d %d\n", result, table->number);
	return 0;
}
