// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LARGER_TARGETS_H
#define LARGER_TARGETS_H

/**
 * Blocks that begin with the struct to which typed slots lead, and of which these alone do not tell what the whole is.
 * C programs extend a struct by another one that has the same first members:
 *
 *	struct table { int size; struct node **nodes; };
 *	struct index { int size; struct node **nodes; long scans; };
 *	tables[i] ──▶ struct table * ──▶ as many bytes as a struct index has
 *
 * Where sizes are not exact, such a block may as well be the smaller struct in a chunk with a rest. So it is a struct
 * index if that is the only larger struct and more blocks are of its size than are known to be of the smaller one's, or
 * if both have one name: then the other declaration leaves the private members out. Else all that is known of the
 * block is that a struct table is its first part. That is so for a base of classes, too, whatever the block contains.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/** The pairs of a struct and the size of blocks that begin with it. */
struct larger_targets;

/** @return NULL: there is no memory */
struct larger_targets *larger_targets_create(void);

void larger_targets_destroy(struct larger_targets *targets);

/**
 * Counts the blocks without a name that begin with a struct, and claims those whose whole struct is known.
 *
 * @param claimed  is counted up for each claim
 */
HEAP_MUST_CHECK
struct heap_error *larger_targets_claim(struct inference *inference, uint64_t *claimed);

/** The struct with which a block without a name begins, and that its content confirms; HEAP_NO_TYPE: there is none. */
heap_type_id larger_targets_beginning(const struct inference *inference, heap_object_id object);

#endif
