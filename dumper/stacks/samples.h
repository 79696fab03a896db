// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SAMPLES_H
#define HEAPSNAP_SAMPLES_H

/**
 * The live blocks that were sampled, each with its own backtrace. The writer reads them (protocol.h).
 * Without locks, and async-signal-safe.
 */

#include "dumper/base/protocol.h"
#include "dumper/trace/sampling.h"

#include <stdbool.h>

enum {
	HEAPSNAP_SAMPLES = 1 << 17,
};

struct heapsnap_samples {
	struct heapsnap_sample first[HEAPSNAP_FIRST_SAMPLES];
	struct heapsnap_sample *more; /**< which go on with them; NULL: not yet */
};

/** @param room  zeros. Nothing is noted before. */
void heapsnap_samples_init(struct heapsnap_samples *room);

/**
 * Notes that a block is a sample.
 *
 * @return where its number in the trace goes; NULL if there is no room, or no backtrace
 */
uint32_t *heapsnap_sample_add(const void *block, struct heapsnap_sampled sampled);

/**
 * Begins a sample, also in the trace.
 *
 * @param backtrace  0: the block is no sample
 * @param moved      by realloc()
 * @return whether it is one: then free() has to look at the block, so that the sample ends
 */
bool heapsnap_sample_begin(const void *block, uint64_t size, uint32_t backtrace, bool moved);

/** Forgets a sample, if the block is one. To be called before it is freed. */
struct heapsnap_sampled heapsnap_sample_remove(const void *block);

#endif
