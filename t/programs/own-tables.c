// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O1 -fno-builtin-malloc
/*
 * Makes blocks of many sizes at sites that lie side by side, directly and in a wrapper, which fills the tables of
 * the library. Then prints how many words of these look like the second of a header: an address in the program's
 * code below 16 other bits. The writer would take one in 65536 of them for that of a block.
 */
#include "dumper/base/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZES = 300,
};

#define APART __attribute__((noinline)) static
#define TWICE(x) x x
#define MANY(x) TWICE(TWICE(TWICE(TWICE(TWICE(x)))))

// The linker's.
extern const char __executable_start[], etext[];

APART void *wrapped(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

APART void make(size_t size)
{
	MANY(free(malloc(size)); free(wrapped(size));)
}

static unsigned count_headers(const uint64_t *at, const uint64_t *end)
{
	unsigned count = 0;

	for (; at < end; at++) {
		uint64_t site = *at & HEAPSNAP_SITE_MASK, signature = *at >> HEAPSNAP_SITE_BITS;

		count += site >= (uintptr_t)__executable_start && site < (uintptr_t)etext &&
			 signature != 0 && signature != HEAPSNAP_WIPED;
	}
	return count;
}

// The library's variables: what it has mapped, and the anonymous memory behind it.
int main(void)
{
	static char line[4096];
	unsigned long start, end, last = 0;
	unsigned count = 0, ranges = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	for (size_t size = 1; size <= SIZES; size++)
		make(size);
	while (maps && fgets(line, sizeof(line), maps)) {
		char protection[8], name[8] = "";

		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &start, &end, protection, name) < 3)
			break;
		if (strstr(line, "/libheapsnap") || (start == last && !*name)) {
			last = end;
			if (protection[1] == 'w') {
				ranges++;
				count += count_headers((const void *)start, (const void *)end);
			}
		}
	}
	printf("ranges %u\nheaders %u\n", ranges, count);
	return 0;
}
