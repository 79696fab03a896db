// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Grows by a round for each line of input: 10 records that two variables hold together, and 4 that
 * nothing holds.
 */
#include <stdio.h>
#include <stdlib.h>

struct record {
	long number;
	char text[40];
};

struct lost {
	long number;
	char text[24];
};

static struct record *by_name[1000], *by_age[1000];

static void *make(size_t size)
{
	void *result = calloc(1, size);

	if (!result)
		exit(1);
	return result;
}

static void grow(int round)
{
	for (int i = 0; i < 10; i++) {
		struct record *record = make(sizeof(*record));

		record->number = round * 10 + i;
		by_name[round * 10 + i] = by_age[999 - round * 10 - i] = record;
	}
	for (int i = 0; i < 4; i++) {
		struct lost *lost = make(sizeof(*lost));

		lost->number = i;
	}
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	for (int round = 0; round < 100; round++) {
		grow(round);
		// The last one's address must not stay in a register or on the stack.
		grow(++round);
		free(make(100));
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			break;
	}
	return 0;
}
