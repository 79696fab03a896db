// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Filters whose states only void pointers lead to. The table of functions beside such a pointer tells the type, but its functions
 * handle a struct of the same size, too. Some states lie in blocks that are larger than any that are asked for: what was
 * left of a free one is too small for a block.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	FILTERS = 200,
	SPARES = 40,
	HISTORY = 16,
	REST = 16, // bytes
};

struct slice {
	double start, gain, samples[HISTORY];
	unsigned frames, channel;
};

struct operations {
	void *(*create)(unsigned number);
	void (*run)(void *state, struct slice *slice);
	double (*peak)(void *state);
};

struct filter {
	const struct operations *operations;
	void *state;
	struct filter *next;
};

struct delay {
	double time, feedback, history[HISTORY];
	unsigned length, position;
};

struct gate {
	double threshold, level, history[HISTORY];
	unsigned hold, open;
};

static struct filter *filters;

static void *delay_create(unsigned number)
{
	struct delay *delay = NEW(struct delay);

	*delay = (struct delay){ number / 3.0, .5, { 0 }, number, 1 };
	return delay;
}

static void delay_run(void *state, struct slice *slice)
{
	struct delay *delay = state;

	delay->position += slice->frames;
	slice->gain *= delay->feedback;
}

static double delay_peak(void *state)
{
	struct delay *delay = state;

	return delay->time * delay->length;
}

static void *gate_create(unsigned number)
{
	struct gate *gate = NEW(struct gate);

	*gate = (struct gate){ number / 7.0, .25, { 0 }, number, 0 };
	return gate;
}

static void gate_run(void *state, struct slice *slice)
{
	struct gate *gate = state;

	gate->open = slice->gain > gate->threshold;
	slice->channel ^= gate->open;
}

static double gate_peak(void *state)
{
	struct gate *gate = state;

	return gate->level + gate->hold;
}

static const struct operations operations[] = {
	{ delay_create, delay_run, delay_peak },
	{ gate_create, gate_run, gate_peak },
};

// Makes filters without states. Between them lie blocks that are free then, and a little larger than states.
static void make_filters(void)
{
	void *volatile spares[SPARES];

	for (unsigned i = 0; i < FILTERS; i++) {
		struct filter *filter;

		if (i < SPARES)
			spares[i] = malloc(sizeof(struct delay) + REST);
		filter = NEW(struct filter);
		filter->operations = &operations[i % 2];
		filter->next = filters;
		filters = filter;
	}
	for (unsigned i = 0; i < SPARES; i++)
		free(spares[i]);
}

int main(void)
{
	struct slice *slice = NEW(struct slice);
	double peak = 0;

	*slice = (struct slice){ 1.5, 1, { 0 }, 64, 2 };
	make_filters();
	for (struct filter *filter = filters; filter; filter = filter->next) {
		filter->state = filter->operations->create((unsigned)peak);
		filter->operations->run(filter->state, slice);
		peak += filter->operations->peak(filter->state) > 1;
	}
	truth_capture();
	printf("%f\n", filters->operations->peak(filters->state) + slice->gain);
	return 0;
}
