// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A list whose blocks have room for one more word, in which a pointer into another list lies. A block's
 * usable size does not tell that its struct ends before that word. So do texts, whose blocks were others' before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct ring {
	struct ring *next;
	long number, more[2];
};
struct chain {
	struct chain *next;
	double weight, more[2];
};
struct label {
	struct label *next;
	char *text;
	double number;
};
static struct label *labels;
static struct ring *rings;
static struct chain *chains;
static void add_label(int number)
{
	struct label *label = calloc(1, sizeof(*label));
	void **block = calloc(1, 16 + sizeof(void *));

	block[2] = calloc(1, 400);
	memcpy(block, "fifteen letters", 16);
	label->text = (char *)block;
	label->number = number / 3.0;
	label->next = labels;
	labels = label;
}
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
	for (int i = 0; i < 30; i++)
		add_label(i);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
