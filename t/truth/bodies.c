// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values in two halves: heads lie in arrays, and bodies in pages of their own. A body has a number near its end that
 * happens to be what is left of it, as if each had a header with its size; the pointers to it lead before it, by the
 * members that it lacks. Nothing tells the type of bodies, and no arena is made of chunks that are smaller than headers.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	HEADS = 170, // in an array
	ARRAYS = 60,
	BODIES = 102, // in a page
	LACKED = 16,  // bytes before a body that heads count
};

struct head {
	void *body;
	unsigned references, flags;
	char *text;
};

struct body {
	size_t used, room;
	long number;
	double value;
};

static struct head *arrays[ARRAYS];
static char *page;
static size_t used = BODIES;

static void *new_body(double value)
{
	struct body *body;

	if (used == BODIES) {
		page = NEW_TEXT(BODIES * sizeof(struct body));
		used = 0;
	}
	body = (struct body *)(page + used++ * sizeof(*body));
	*body = (struct body){ 5, 10, (long)value, value };
	return (char *)body - LACKED;
}

static void fill(struct head *head, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	*head = (struct head){ new_body(number / 7.0), 1, 0x2206, TEXT(strdup(text)) };
}

int main(void)
{
	for (unsigned i = 0; i < ARRAYS; i++) {
		arrays[i] = NEW_ARRAY(struct head, HEADS);
		for (unsigned j = 0; j < HEADS; j++)
			fill(&arrays[i][j], i * HEADS + j);
	}
	truth_capture();
	printf("%p\n", arrays[0]->body);
	return 0;
}
