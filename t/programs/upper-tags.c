// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Pointers with tags above their addresses, for t/end-to-end/upper-tags.t: a list of 100 nodes whose links have a counter
 * beside them, as those of queues without locks do; 50 texts in values that are no numbers, as interpreters have them; a
 * block that only a local variable leads to. Three blocks leaked, the first words of which are tagged pointers
 * into the middle of something.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	NODES = 100,
	TEXTS = 50
};

struct node {
	uint64_t next; // and a counter
	long value;
};

struct text {
	char letters[24];
};

static uint64_t head;
static uint64_t *values;

static uint64_t tagged(const void *address, uint64_t tag)
{
	return (uint64_t)(uintptr_t)address | tag << 48;
}

static void make_all(void)
{
	uint64_t *large = malloc(4000);

	for (int i = 0; i < NODES; i++) {
		struct node *node = malloc(sizeof(*node));

		node->next = head;
		node->value = i;
		head = tagged(node, (uint64_t)i + 1);
	}
	values = malloc(TEXTS * sizeof(*values));
	for (int i = 0; i < TEXTS; i++) {
		struct text *text = malloc(sizeof(*text));

		snprintf(text->letters, sizeof(text->letters), "text %d", i);
		values[i] = tagged(text, 0xfffc);
	}
	for (int i = 0; i < 3; i++) {
		uint64_t *leaked = malloc(333);

		leaked[0] = tagged(large + 10 * i + 1, 0x1234);
	}
	free(large);
}

int main(void)
{
	volatile uint64_t held = tagged(malloc(777), 0x7ff9);

	make_all();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return held == 0;
}
