// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PREFIX_GROUPS_H
#define PREFIX_GROUPS_H

/**
 * Groups of blocks that begin alike, by a number there, where no site and no block with a name tells what it means:
 *
 *	struct cell { int kind; struct cell *next; };
 *	struct number { struct cell cell; double value; };
 *	struct label { struct cell cell; char *text; };
 *	cells[i] ──▶ struct cell * ──▶ as many bytes as any of them has
 *
 * The number is the one by which the contents of each group agree with some struct, and those of several groups with
 * different ones. Where names tell what a value means, discriminators.h knows it.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims the blocks of groups whose contents agree with one struct better than with any other.
 *
 * @param claimed  is counted up for each claim
 */
HEAP_MUST_CHECK
struct heap_error *prefix_groups_claim(struct inference *inference, uint64_t *claimed);

#endif
