// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O1 -fno-builtin-malloc
/*
 * Blocks whose order of age is known. The oldest are a registry, three sessions in its list, of
 * which the first is the last of the list, and one order that nothing holds. Then thousands come
 * and go, and 40 records in a table stay. It says "ready" when all that has happened, and ends with its
 * standard input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct session {
	struct session *next;
	long id;
	char user[40];
};

struct registry {
	long count;
	struct session *first;
};

struct order {
	long amount;
	char note[120];
};

struct record {
	long id;
	char text[88];
};

struct registry *registry;
struct record *records[40];
volatile uintptr_t checksum;

APART struct registry *registry_new(void)
{
	return calloc(1, sizeof(struct registry));
}

APART void session_open(long id)
{
	struct session *session = calloc(1, sizeof(*session));

	session->id = id;
	session->next = registry->first;
	registry->first = session;
	registry->count++;
}

APART void order_lose(void)
{
	struct order *order = calloc(1, sizeof(*order));

	checksum = (uintptr_t)order % 127;
}

APART struct record *record_new(long id)
{
	struct record *record = calloc(1, sizeof(*record));

	record->id = id;
	return record;
}

APART void come_and_go(void)
{
	for (int i = 0; i < 5000; i++) {
		char *block = malloc(700);

		memset(block, i, 700);
		checksum += (uintptr_t)block[5];
		free(block);
	}
}

// Stale words of calls that have ended must hold nothing.
APART void overwrite_stack(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(void)
{
	registry = registry_new();
	for (long id = 1; id <= 3; id++)
		session_open(id);
	order_lose();
	come_and_go();
	for (int i = 0; i < 40; i++)
		records[i] = record_new(i);
	overwrite_stack();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
