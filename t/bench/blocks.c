// SPDX-License-Identifier: GPL-3.0-or-later
// Many blocks of 16 to 527 bytes with one pointer each to another at random; dumps itself:
//
//	blocks [COUNT [wait]]
//
// wait: says that it is ready and waits to be killed, a thousandth of the blocks leaked.
#include "dumper/heapsnap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct element {
	struct element *other;
	uint64_t number;
};

static struct element **elements;

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	uint64_t state = 88172645463325252u;
	struct timespec start, end;

	elements = malloc(count * sizeof(*elements));
	for (size_t i = 0; i < count; i++)
		elements[i] = malloc(16 + (i % 4 ? 0 : next(&state) % 512));
	for (size_t i = 0; i < count; i++)
		elements[i]->other = elements[next(&state) % count];
	if (argc > 2) {
		for (size_t i = 0; i < count; i += 1000)
			elements[i] = malloc(16);
		puts("ready");
		fflush(stdout);
		pause();
	}
	if (!heapsnap_dump)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	heapsnap_dump(NULL);
	if (heapsnap_wait() != 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("seconds %.3f\n", end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9);
	return 0;
}
