// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A program with a malloc of its own, or, built with -DLIBRARY, an allocator that is preloaded. As
 * jemalloc it has no reallocarray().
 */
// CFLAGS: -fno-builtin
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define POOL_BYTES ((size_t)1 << 22)

static char pool[POOL_BYTES] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	char *block = pool + used + 16;

	size = (size + 15) & ~(size_t)15;
	if (size > POOL_BYTES - used - 16) {
		errno = ENOMEM;
		return NULL;
	}
	used += size + 16;
	*(size_t *)(void *)(block - 16) = size;
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); // the pool is of zeros
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t before = block ? ((size_t *)block)[-2] : 0;

	if (moved && block)
		memcpy(moved, block, before < size ? before : size);
	return moved;
}

#ifndef LIBRARY
#include <stdio.h>

void *reallocarray(void *block, size_t count, size_t size);

int main(void)
{
	char *block = malloc(10);

	strcpy(block, "own");
	block = reallocarray(block, 1000, 10);
	block = realloc(block, 20000);
	puts(block);
	free(block);
	return 0;
}
#endif
