// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has 100 blocks of malloc(), and pools of its own in 8 MiB that it maps, of which it uses so many KiB.
 *
 *	mapped-pools KIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BLOCKS = 100,
	POOLS = 8 << 20,
};

static void *blocks[BLOCKS];

int main(int argc, char **argv)
{
	size_t used = argc > 1 ? strtoul(argv[1], NULL, 10) << 10 : 0;
	char *pools = mmap(NULL, POOLS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pools == MAP_FAILED || used > POOLS)
		return 1;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	madvise(pools, POOLS, MADV_NOHUGEPAGE);
	memset(pools, 1, used);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
	puts("ready");
	while (getchar() != EOF)
		;
	return !blocks[0];
}
