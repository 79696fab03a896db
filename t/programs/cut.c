// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Records whose end is cut off, in the chains of a hash table: the array of bytes at the end of one struct, and the
 * union with such an array at that of the other. Beside them are pointers to records that have been freed, whose
 * places smaller blocks have got that are no records.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct listed {
	struct listed *next, *chained;
	int uses;
	char name[200];
};
struct record {
	struct record *next, *chained;
	long when;
	union {
		char text[100];
		char *long_text;
	} name;
};
enum {
	BUCKETS = 16,
	COUNT = 200,
	STALE = 40,
	VALUES = 6,
};
static struct listed *listed_table[BUCKETS], *all_listed;
static struct record *record_table[BUCKETS], *all_records;
static struct record *stale[STALE];
static void *others[STALE]; // what is there now

static void add_listed(int i)
{
	char name[40];
	struct listed *listed;

	snprintf(name, sizeof(name), "entry number %d", i);
	listed = malloc(offsetof(struct listed, name) + strlen(name) + 1);
	listed->next = all_listed;
	listed->chained = listed_table[i % BUCKETS];
	listed->uses = 1;
	strcpy(listed->name, name);
	all_listed = listed_table[i % BUCKETS] = listed;
}

static void add_record(int i)
{
	struct record *record = malloc(offsetof(struct record, name) + sizeof(char *));

	record->next = all_records;
	record->chained = record_table[i % BUCKETS];
	record->when = 1234567 + i;
	record->name.long_text = strdup("the name of a record, which is long");
	all_records = record_table[i % BUCKETS] = record;
}

int main(void)
{
	for (int i = 0; i < COUNT; i++) {
		add_listed(i);
		add_record(i);
	}
	for (int i = 0; i < STALE; i++) {
		double *values = malloc(VALUES * sizeof(*values));

		for (int j = 0; j < VALUES; j++)
			values[j] = i % 2 ? 0.1 * (i + 1) * (j + 1) : 0;
		others[i] = values;
		stale[i] = others[i];
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
