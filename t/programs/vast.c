// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A block of 5 GiB, hardly any of which is touched, with values near its start and behind 4 GiB.
 */
#include <stdio.h>
#include <stdlib.h>

struct near {
	struct near *next;
	long number;
};

struct far {
	struct far *next;
	long number, other;
};

static struct near *near;
static struct far *far;

int main(void)
{
	char *block = malloc(5ul << 30);

	setvbuf(stdout, NULL, _IONBF, 0);
	if (block) {
		near = (struct near *)(block + 4096);
		near->next = (struct near *)(block + 8192);
		near->next->number = 1;
		far = (struct far *)(block + (4ul << 30) + 65536);
		far->number = 2;
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return near && far && near->number == far->number;
}
