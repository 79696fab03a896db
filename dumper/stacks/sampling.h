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

/** @return false if they were not left; then heapsnap_bytes_left has to be set anew */
static inline __attribute__((always_inline)) bool heapsnap_take_bytes(uint64_t size)
{
	bool too_many;

#if defined(__x86_64__)
	// In place; compilers load, subtract and store.
	__asm__("subq %2, %0" : "+m"(heapsnap_bytes_left), "=@ccc"(too_many) : "r"(size));
#else
	too_many = __builtin_sub_overflow(heapsnap_bytes_left, size, &heapsnap_bytes_left);
#endif
	return !too_many;
}

/**
 * After an allocation has taken more than was left: sets heapsnap_bytes_left anew.
 *
 * @return whether the allocation is sampled
 */
bool heapsnap_sampling_refill(void);

/** Has heapsnap_sampling_thread() asked anew in children of fork(). At load time. */
void heapsnap_sampling_init(void);

/** The calling thread's id: asked for once. 0 if the program's sandbox came before that. */
uint32_t heapsnap_sampling_thread(void);

#endif
