// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has 100 blocks of malloc(), and pools of its own in 8 MiB that it maps, of which it uses so many KiB.
 *
 *	mapped-pools KIB [file|behind]
 *
 * file: it maps a file privately, and writes to that memory. behind: the memory follows a page of a file that is
 * mapped writable.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BLOCKS = 100,
	POOLS = 8 << 20,
};

static void *blocks[BLOCKS];

static void *map(void *at, size_t size, int flags, int file)
{
	return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, file, 0);
}

static char *map_pools(const char *how)
{
	FILE *file = *how ? tmpfile() : NULL;
	char *page;

	if (!file)
		return *how ? MAP_FAILED : map(NULL, POOLS, MAP_ANONYMOUS, -1);
	if (ftruncate(fileno(file), POOLS) != 0)
		return MAP_FAILED;
	if (strcmp(how, "file") == 0)
		return map(NULL, POOLS, 0, fileno(file));
	page = map(NULL, 4096 + POOLS, MAP_ANONYMOUS, -1);
	if (page == MAP_FAILED || map(page, 4096, MAP_FIXED, fileno(file)) == MAP_FAILED)
		return MAP_FAILED;
	*page = 1;
	return page + 4096;
}

int main(int argc, char **argv)
{
	size_t used = argc > 1 ? strtoul(argv[1], NULL, 10) << 10 : 0;
	char *pools = map_pools(argc > 2 ? argv[2] : "");

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
