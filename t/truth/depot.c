// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A warehouse, of which there is one: clang puts static memory in place of the blocks that static pointers lead to, if it
 * sees but one allocation, and takes that memory apart. Then only symbols and pointers without an address tell what it is. These
 * blocks are not logged, and their code must not be: the log would see their addresses.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	CRATES = 200,
	RACKS = 16,
	TRUCKS = 8,
};

struct crate {
	struct crate *next;
	char *label;
	long weight;
};

struct truck {
	struct crate *load;
	char *driver;
	int seats;
};

struct depot {
	struct crate *first;
	struct crate **racks;
	long count;
	int is_open;
};

struct yard {
	struct truck **trucks;
	int gates;
	struct depot *annex;
};

static struct depot *depot;
static struct crate **shelf;
static struct yard yard;
static _Thread_local struct truck *own;

static struct crate *pack(int number, struct crate *next)
{
	struct crate *crate = NEW(struct crate);
	char label[40];

	snprintf(label, sizeof(label), "crate %d, this side up", number);
	*crate = (struct crate){ next, TEXT(strdup(label)), number * 10L };
	return crate;
}

static struct truck *hire(int number)
{
	struct truck *truck = NEW(struct truck);

	*truck = (struct truck){ pack(number, NULL), TEXT(strdup("Ada Lovelace")), 2 };
	return truck;
}

static void build(void)
{
	depot = malloc(sizeof(*depot));
	depot->racks = calloc(RACKS, sizeof(*depot->racks));
	depot->first = NULL;
	depot->count = 0;
	shelf = calloc(RACKS, sizeof(*shelf));
	yard.trucks = calloc(TRUCKS, sizeof(*yard.trucks));
	yard.annex = calloc(1, sizeof(*yard.annex));
	own = calloc(1, sizeof(*own));
	own->load = pack(0, NULL);
}

static void fill(void)
{
	for (int i = 0; i < CRATES; i++) {
		depot->first = pack(i, depot->first);
		depot->count++;
		yard.annex->first = pack(i, yard.annex->first);
	}
	for (int i = 0; i < RACKS; i++) {
		depot->racks[i] = pack(i, NULL);
		shelf[i] = pack(i, NULL);
	}
	for (int i = 0; i < TRUCKS; i++)
		yard.trucks[i] = hire(i);
}

int main(int argc, char **argv)
{
	(void)argv;
	build();
	fill();
	truth_capture();
	return depot->count + depot->first->weight + depot->racks[argc]->weight +
		       shelf[argc]->weight + yard.trucks[argc]->seats + yard.annex->first->weight +
		       own->load->weight <
	       argc;
}
