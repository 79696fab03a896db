// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A vector of a million bytes more for each line of input. Each time it lies where it never lay before, as
 * realloc() leaves it where there is no room behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STEP = 1000000,
};

static char *vector;

int main(void)
{
	size_t size = 0;

	setvbuf(stdin, NULL, _IONBF, 0);
	do {
		char *moved = calloc(1, size + STEP);

		if (!moved)
			return 1;
		if (vector)
			memcpy(moved, vector, size);
		free(vector);
		vector = moved;
		size += STEP;
		puts("ready");
		fflush(stdout);
	} while (getchar() != EOF);
	return 0;
}
