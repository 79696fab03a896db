// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list whose blocks have room for one more word, in which a pointer into another list lies. A block's
 * usable size does not tell that its struct ends before that word.
 */
#include <stdio.h>
#include <stdlib.h>
struct ring {
	struct ring *next;
	long number, more[2];
};
struct chain {
	struct chain *next;
	double weight, more[2];
};
static struct ring *rings;
static struct chain *chains;
int main(void)
{
	for (int i = 0; i < 100; i++) {
		struct chain *chain = calloc(1, sizeof(*chain));
		chain->weight = i * 0.5;
		chain->next = chains;
		chains = chain;
	}
	struct chain *at = chains->next;
	for (int i = 0; i < 50; i++, at = at->next) {
		void **ring = calloc(1, sizeof(struct ring) + sizeof(void *));
		ring[4] = at;
		((struct ring *)ring)->number = i;
		((struct ring *)ring)->next = rings;
		rings = (struct ring *)ring;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
