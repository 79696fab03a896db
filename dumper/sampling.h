// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SAMPLING_H
#define HEAPSNAP_SAMPLING_H

/**
 * Which allocations are sampled: those in which a point falls, where points lie at random
 * among all bytes that a thread allocates, at a mean distance (a Poisson process). A block of
 * s bytes is sampled with probability 1 - exp(-s / mean), whatever was allocated before it.
 *
 * The fast path counts heapsnap_bytes_left down. It is never more than HEAPSNAP_STRETCH, so
 * that larger blocks always come by the slow path.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_STRETCH = 65535,
};

/** Bytes that this thread may allocate before it takes the slow path once. */
extern __thread uint64_t heapsnap_bytes_left;

/**
 * After an allocation has taken more than was left: sets heapsnap_bytes_left anew.
 *
 * @return whether the allocation is sampled
 */
bool heapsnap_sampling_refill(void);

/** Has heapsnap_sampling_thread() asked anew in children of fork(). At load time. */
void heapsnap_sampling_init(void);

/** The calling thread's id: asked for once. */
uint32_t heapsnap_sampling_thread(void);

#endif
