// SPDX-License-Identifier: GPL-3.0-or-later
// A large table that no debug information knows, half of it touched; dumps itself.
#include "dumper/heapsnap.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	TABLE_BYTES = 24 << 20,
};

__asm__(".local table\n.comm table,25165824,32");
extern char table[TABLE_BYTES] __attribute__((visibility("hidden")));

int main(void)
{
	struct timespec start, end;

	memset(table, 1, TABLE_BYTES / 2);
	if (!heapsnap_dump)
		return 0;
	for (int i = 0; i < 2; i++) {
		// The first one fills the cache of debug information.
		clock_gettime(CLOCK_MONOTONIC, &start);
		heapsnap_dump(NULL);
		if (heapsnap_wait() != 0)
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &end);
	}
	printf("seconds %.3f\n",
	       (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
	return 0;
}
