// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -fno-builtin -w
/*
 * Prints all that a program can see of its allocator. t/capture/allocator.t runs it with the library and
 * without, and compares. An argument names one of the faults at the end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t TOO_MUCH = (size_t)1 << 60;

static void show(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
}

static int is_filled(const char *block, int with, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (block[i] != with)
			return 0;
	}
	return 1;
}

// The block, filled; and whether it is fit for use.
static char *check(const char *what, void *block, size_t alignment, size_t size)
{
	int fit = block && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= size;

	printf("%s(%zu): %s\n", what, size, !block ? "NULL" : fit ? "fit" : "unfit");
	return block ? memset(block, 'x', malloc_usable_size(block)) : NULL;
}

static void check_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 24, 25, 127, 4096, 131072, 10000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		free(check("malloc", malloc(sizes[i]), 16, sizes[i]));

		char *zeros = calloc(sizes[i], 1);

		show("calloc's are zeros", is_filled(zeros, 0, sizes[i]));
		free(check("calloc", zeros, 16, sizes[i]));
	}
	show("malloc(0) differ", malloc(0) != malloc(0));
	show("usable size of NULL", (long)malloc_usable_size(NULL));
	free(NULL);
}

static void check_realloc(void)
{
	char *block = check("realloc of NULL", realloc(NULL, 100), 16, 100);

	for (size_t size = 100; size < 4000000; size = size * 3 / 2) {
		block = realloc(block, size * 3 / 2);
		if (!is_filled(block, 'x', size))
			show("realloc lost bytes at", (long)size);
		memset(block, 'x', size * 3 / 2);
	}
	errno = 0;
	show("realloc to too much", realloc(block, TOO_MUCH) != NULL);
	show("errno", errno);
	show("block is whole", is_filled(block, 'x', 4000000));
	block = realloc(block, 10);
	show("realloc to less", is_filled(block, 'x', 10));
	errno = 0;
	show("realloc to nothing", realloc(block, 0) != NULL);
	show("errno", errno);
	errno = 0;
	show("reallocarray beyond", reallocarray(NULL, SIZE_MAX / 2, 3) != NULL);
	show("errno", errno);
	free(check("reallocarray", reallocarray(NULL, 10, 20), 16, 200));
}

static void check_alignments(void)
{
	void *block = (void *)1;

	for (size_t alignment = 8; alignment <= (1 << 22); alignment *= 4) {
		for (size_t size = 0; size < 100000; size = size * 9 + 1) {
			free(check("memalign", memalign(alignment, size), alignment, size));
			free(check("aligned_alloc", aligned_alloc(alignment, size), alignment,
				   size));
			show("posix_memalign", posix_memalign(&block, alignment, size));

			char *grown = check("posix_memalign", block, alignment, size);

			grown = realloc(grown, size + 5000);
			show("grown", is_filled(grown, 'x', size));
			memset(grown, 'y', size + 5000);
			free(grown);
		}
	}
	block = (void *)1;
	show("posix_memalign to 3", posix_memalign(&block, 3, 10));
	show("posix_memalign to 4", posix_memalign(&block, 4, 10));
	show("posix_memalign to 0", posix_memalign(&block, 0, 10));
	show("posix_memalign of too much", posix_memalign(&block, 64, TOO_MUCH));
	show("result untouched", block == (void *)1);
	errno = 0;
	show("memalign of too much", memalign(64, TOO_MUCH) != NULL);
	show("errno", errno);
	errno = 0;
	show("memalign to too much", memalign((size_t)1 << 62, 10) != NULL);
	show("errno", errno);
	free(check("memalign to 48", memalign(48, 100), 16, 100));
	free(check("valloc", valloc(100), getpagesize(), 100));
	free(check("pvalloc", pvalloc(100), getpagesize(), getpagesize()));
	errno = 0;
	show("pvalloc of too much", pvalloc(SIZE_MAX) != NULL);
	show("errno", errno);
}

static void check_failure(void)
{
	errno = 0;
	show("malloc of too much", malloc(TOO_MUCH) != NULL);
	show("errno", errno);
	errno = 0;
	show("malloc of all", malloc(SIZE_MAX) != NULL);
	show("errno", errno);
	errno = 0;
	show("malloc of nearly all", malloc(SIZE_MAX - 15) != NULL);
	show("errno", errno);
	errno = 0;
	show("calloc overflow", calloc(SIZE_MAX / 4, 8) != NULL);
	show("errno", errno);
	errno = 77;
	free(malloc(100));
	free(malloc(10000000));
	show("errno kept", errno);
}

// From libc itself, by functions that are not replaced, and handed to those that are.
static void check_foreign(void)
{
	void *(*own_malloc)(size_t) = dlsym(RTLD_DEFAULT, "__libc_malloc");
	void *(*own_memalign)(size_t, size_t) = dlsym(RTLD_DEFAULT, "__libc_memalign");
	static const size_t sizes[] = { 10, 1000, 1000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		free(check("foreign", own_malloc(sizes[i]), 16, sizes[i]));
		free(check("foreign", own_memalign(64, sizes[i]), 64, sizes[i]));

		char *block = check("foreign", own_malloc(sizes[i]), 16, sizes[i]);

		block = realloc(block, 3 * sizes[i]);
		show("foreign and grown", is_filled(block, 'x', sizes[i]));
		free(block);
	}
}

static void check_strings(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	for (int i = 0; i < 10000; i++)
		fprintf(memory, "%d,", i);
	fclose(memory);
	show("open_memstream", (long)strlen(text));
	free(text);
	free(strdup("abc"));
	if (asprintf(&text, "%0500d", 7) == 500)
		free(text);
}

// --- faults: what libc says of them, it still says ---------------------------------

static void free_twice(size_t size, int between)
{
	static void *others[64];
	char *block = malloc(size);
	void *barrier = malloc(size);

	for (int i = 0; i < between; i++)
		others[i] = malloc(size);
	for (int i = 0; i < between; i++)
		free(others[i]);
	free(block);
	free(block);
	free(barrier);
}

static void fault(const char *name)
{
	static long zeros[64];
	char *block = malloc(100);

	memset(block, 0, 100);
	if (strcmp(name, "twice-small") == 0)
		free_twice(24, 0);
	else if (strcmp(name, "twice-fast") == 0)
		free_twice(24, 7);
	else if (strcmp(name, "twice-large") == 0)
		free_twice(3000, 0);
	else if (strcmp(name, "twice-huge") == 0)
		free_twice(10000000, 0);
	else if (strcmp(name, "twice-aligned") == 0) {
		block = aligned_alloc(64, 100);
		free(block);
		free(block);
	} else if (strcmp(name, "odd") == 0)
		free(block + 51);
	else if (strcmp(name, "inside") == 0)
		free(block + 48);
	else if (strcmp(name, "static") == 0)
		free(zeros + 8);
	else if (strcmp(name, "realloc-freed") == 0) {
		block = malloc(3000);
		malloc(3000); // so that it is not merged with what is behind
		free(block);
		block = realloc(block, 6000);
	} else if (strcmp(name, "page") == 0)
		free((void *)4096);
	else if (strcmp(name, "overrun") == 0) {
		block = malloc(2008);

		char *next = malloc(2008);

		memset(block, 'x', 2009); // by one byte into the block behind it
		free(next);
	}
}

// No fault: blocks at all alignments, filled, and freed in another order.
static void use_aligned(void)
{
	char *blocks[60];

	for (size_t i = 0; i < 60; i++) {
		blocks[i] = memalign((size_t)8 << i % 12, i * 37);
		memset(blocks[i], 'x', malloc_usable_size(blocks[i]));
	}
	for (size_t i = 0; i < 60; i++) {
		char *block = realloc(blocks[i * 7 % 60], 50 + i);

		free(block);
	}
	show("aligned blocks", 60);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "aligned") == 0) {
		use_aligned();
		puts("went on");
		return 0;
	}
	if (argc > 1) {
		fault(argv[1]);
		puts("went on");
		return 0;
	}
	check_sizes();
	check_realloc();
	check_alignments();
	check_failure();
	check_foreign();
	check_strings();
	return 0;
}
