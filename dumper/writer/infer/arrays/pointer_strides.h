// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POINTER_STRIDES_H
#define POINTER_STRIDES_H

/**
 * Strides: how far apart the places are that a table's pointers lead to, in blocks that a program cuts into
 * values of one size.
 *
 *	table ─▶ block ┌ value ┬ value ┬ value ┬ value ┐
 *	                 ▲               ▲       ▲            all distances are multiples of a value's size, and
 *	                                                      have no greater divisor
 *
 * A table's pointers may mean several types: the one of that very size is meant.
 */

#include "lib/snapshot/snapshot.h"

/** @return the greatest common divisor of the distances; 0: too few pointers lead into the same blocks to tell */
uint64_t pointer_strides_find(const struct heap_snapshot *snapshot, heap_object_id table);

#endif
