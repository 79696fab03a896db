// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has 100 blocks of malloc(), and an allocator of its own that nobody knows: of that only a text which mimalloc has
 * in it, too.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	BLOCKS = 100,
};

const char text[] = "mimalloc: warning: ";

static void *blocks[BLOCKS];

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
	puts("ready");
	while (getchar() != EOF)
		;
	return text[0] != 'm' || !blocks[0];
}
