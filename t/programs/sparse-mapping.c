// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A mapping of 32 TiB with a few pages in use, as the shadow of a sanitizer or a sparse table has it. Each of them
 * alone leads to a block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct held {
	int number;
	char text[100];
};

struct other {
	int number;
	char text[196];
};

static void hold_other(char *mapping, size_t at)
{
	*(struct other **)(mapping + at) = calloc(1, sizeof(struct other));
}

int main(void)
{
	const size_t size = (size_t)32 << 40, page = 65536;
	char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mapping == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	*(struct held **)(mapping + size / 3 * 2 / 4096 * 4096 + 8) =
		calloc(1, sizeof(struct held));
	// At both ends, and where it may have been divided.
	hold_other(mapping, 0);
	hold_other(mapping, size - page);
	for (size_t i = 1; i <= 3; i++) {
		hold_other(mapping, i * (size / 1024) - page);
		hold_other(mapping, i * (size / 1024));
	}
	setvbuf(stdin, NULL, _IONBF,
		0); // or getchar() allocates a buffer, before the second snapshot or the first
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
