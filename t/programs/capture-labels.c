// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks of which only heapsnap_set_type() can tell what they are. t/capture/labels.t asks.
 */
#include "dumper/heapsnap.h"

#include <stdio.h>
#include <stdlib.h>

struct session {
	long number;
	char name[40];
};

struct session *unused; // so that the type is known
void *kept[200], *freed_since[10], *aligned;

static int label(void *block)
{
	return heapsnap_set_type(block, "struct session");
}

int main(void)
{
	int failed = 0;
	long on_stack[4] = { 0 };

	for (int i = 0; i < 100; i++) {
		kept[i] = malloc(sizeof(struct session));
		failed += label(kept[i]) != 0;
	}
	for (int i = 0; i < 10; i++) {
		void *block = malloc(sizeof(struct session));

		failed += label(block) != 0;
		free(block);
		freed_since[i] = malloc(sizeof(struct session)); // in its place
	}
	aligned = aligned_alloc(64, sizeof(struct session));
	failed += label(aligned) != 0;
	free(aligned);
	aligned = aligned_alloc(64, sizeof(struct session));
	failed += label(aligned) != 0;
	failed += label(aligned) != 0; // twice does no harm
	printf("failed: %d; of NULL %d, of none %d, without a name %d\n", failed, label(NULL),
	       label(&on_stack[2]), heapsnap_set_type(kept[0], NULL));
	printf("dump: %d\n", heapsnap_dump(NULL));
	printf("wait: %d\n", heapsnap_wait());
	return 0;
}
