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
 * A thread's allocations since its last stretch ended. A sample does not end a stretch, so that
 * stretches end at the same blocks in each run.
 */
struct heapsnap_stretch {
	uint64_t bytes; /**< more than HEAPSNAP_STRETCH; 0: it goes on */
	uint64_t last;  /**< of these, some of the last block, since heapsnap_bytes_left ran out */
};

/**
 * After an allocation has taken more than was left: sets heapsnap_bytes_left anew.
 *
 * @return true if the allocation is sampled
 */
bool heapsnap_sampling_refill(struct heapsnap_stretch *ended);

/**
 * Called on the slow path of allocation of blocks with a header, each HEAPSNAP_STRETCH bytes of a thread or sooner. It gets
 * the most that the thread has allocated since, or will before the next call. NULL: no function is called.
 */
extern void (*heapsnap_each_stretch)(uint64_t bytes);

/** A sampled allocation. */
struct heapsnap_sampled {
	uint32_t backtrace; /**< 0: the block is not a sample */
	uint32_t number;    /**< in the trace; 0: none */
	uint64_t time_ns;   /**< of the allocation: monotonic */
	uint32_t thread;    /**< that allocated it */
};

/**
 * Samples the calling thread by the settings from here on, and has heapsnap_sampling_thread() ask
 * again in children of fork(). At load time, after the settings have been read.
 */
void heapsnap_sampling_init(void);

/** The calling thread's id, read once. 0 if the program's sandbox came before that. */
uint32_t heapsnap_sampling_thread(void);

#endif
