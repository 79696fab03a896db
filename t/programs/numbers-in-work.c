// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A solver keeps its clauses in arrays of numbers, and looks at one clause of each: only a local variable points to
 * that. A list whose head only a local variable has lies in another array: its nodes lead on.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	STORES = 8,
	NUMBERS = 4001,
	NODES = 20,
	STRIDE = 5, // numbers from a node to the next
};

struct clause {
	unsigned size : 27, mark : 5;
	int literals[];
};

struct node {
	struct node *next;
	uint64_t weight;
};

struct store {
	uint32_t *memory;
	uint32_t size, wasted;
};

static struct store stores[STORES];
static uint64_t *arena;

__attribute__((noinline)) static uint64_t work(const struct clause *clause, struct node *head)
{
	puts("ready");
	while (getchar() != EOF)
		;
	return clause->size + head->weight;
}

static struct node *make_list(void)
{
	struct node *head = NULL;

	arena = calloc(NODES * STRIDE, sizeof(*arena));
	for (int i = 0; i < NODES; i++) {
		struct node *node = (struct node *)(arena + 1 + (i * 7 % NODES) * STRIDE);

		node->next = head;
		node->weight = (uint64_t)i;
		head = node;
	}
	return head;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < STORES; i++) {
		stores[i].memory = malloc(NUMBERS * sizeof(*stores[i].memory));
		for (uint32_t j = 0; j < NUMBERS; j++)
			stores[i].memory[j] = j % 4 == 0 ? 96 : j * 7 + i;
		stores[i].size = NUMBERS;
	}
	return work((struct clause *)(stores[3].memory + 1600), make_list()) == 0;
}
