// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A mapping of 32 TiB with one page in use, as the shadow of a sanitizer or a sparse table has it. That page
 * alone leads to a block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct held {
	int number;
	char text[100];
};

int main(void)
{
	size_t size = (size_t)32 << 40;
	char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mapping == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	*(struct held **)(mapping + size / 3 * 2 / 4096 * 4096 + 8) =
		calloc(1, sizeof(struct held));
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
