// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SLABS_H
#define SLABS_H

/**
 * Slabs: arrays that the program hands out element by element.
 *
 *	vector                                   slab
 *
 *	items ──▶ [ T │ T │ T │ T ]              buckets ──┬────────┬───▶ T
 *	                 ▲                                 ▼        ▼
 *	current ─────────┘                               [ T │ T │ T │ T ]
 *
 * An array belongs to whoever points to its start; pointers to its elements only use it. The elements of a
 * slab belong to those who point to them. What tells the two apart are the places that hold the pointers: a
 * vector's member leads to starts, but for stale pointers, while the links that lead to a slab's first element lead to all
 * the others as well.
 *
 * Slabs are made of one type and number of elements over and over, so those of one such kind are judged together.
 */

#include "dumper/writer/scan/capture.h"

/** Adds the slabs to the snapshot. The names of all objects are known. */
HEAP_MUST_CHECK
struct heap_error *slabs_find(struct capture *capture);

#endif
