// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * deep-stack DEPTH: calls recurse() so many times, each with a block that only its caller holds, and waits for input.
 */
#include <stdio.h>
#include <stdlib.h>

struct kept {
	int depth;
};

static int recurse(int depth)
{
	struct kept *own = malloc(sizeof(*own));
	int result;

	if (!own)
		abort();
	own->depth = depth;
	if (depth == 1) {
		puts("ready");
		fflush(stdout);
		result = getchar();
	} else {
		result = recurse(depth - 1);
	}
	result += own->depth;
	free(own);
	return result;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 1;

	return recurse(depth) == 0;
}
