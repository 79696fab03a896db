// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lists of small and of large blocks, of which it has a snapshot taken: for another libc.
 */
#include "dumper/heapsnap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct small {
	struct small *next;
	int number;
};

struct large {
	struct large *next;
	char content[5000];
};

static struct small *smalls;
static struct large *larges;

int main(void)
{
	for (int i = 0; i < 100; i++) {
		struct small *small = malloc(sizeof(*small));
		struct large *large = malloc(sizeof(*large));

		*small = (struct small){ smalls, i };
		large->next = larges;
		smalls = small;
		larges = large;
	}
	free(realloc(malloc(10), 100000));
	if (heapsnap_dump) {
		raise(SIGQUIT);
		printf("captured: %d\n", heapsnap_wait());
	}
	puts("done");
	return 0;
}
