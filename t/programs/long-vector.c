// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A vector of void pointers in a flexible array. Nothing tells of the types of the blocks that these lead to.
 */
#include <stdio.h>
#include <stdlib.h>

struct vector {
	long count;
	void *items[];
};

struct owner {
	struct vector *vector;
	long number;
};

struct owner *owner;

// In a function of its own: main() has no local pointers to the blocks.
__attribute__((noinline)) static void fill(long count)
{
	owner = calloc(1, sizeof(*owner));
	if (owner)
		owner->vector = calloc(1, sizeof(struct vector) + (size_t)count * sizeof(void *));
	if (!owner || !owner->vector)
		exit(1);
	owner->vector->count = count;
	for (long i = 0; i < count; i++) {
		long *numbers = malloc(3 * sizeof(*numbers));

		if (!numbers)
			exit(1);
		numbers[0] = i;
		numbers[1] = i * 3;
		numbers[2] = 1;
		owner->vector->items[i] = numbers;
	}
}

int main(int argc, char **argv)
{
	fill(argc > 1 ? atol(argv[1]) : 100);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
