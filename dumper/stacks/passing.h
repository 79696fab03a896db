// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_PASSING_H
#define HEAPSNAP_PASSING_H

/**
 * Thin wrappers of allocators, known by their machine code:
 *
 *	void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
 *
 * A function is a thin wrapper if the size that it asks for is one of its parameters, or two of
 * them multiplied, but for a constant that it adds; and if it returns the block. One that
 * multiplies by a constant, or asks for a constant, knows what it makes. What it calls may be an
 * allocator, another thin wrapper, or unknown because it is called through a pointer.
 *
 * The answer follows from the code alone: it does not depend on which callers came first, as
 * wrappers.h does for functions that do more.
 *
 * The function's code is read once, from its start and in order. The values that matter
 * (parameters, blocks, constants) are followed through registers and the stack; where two paths
 * meet, a fact stays known if it holds on both. Of the jumps backwards, the first one that has a
 * block is taken. A short function that returns its first argument returns the block that it gets.
 * That is a data-flow analysis without its iteration (Aho et al., Compilers, 9.2), and errs in odd
 * code only.
 *
 * async-signal-safe after heapsnap_passing_init(); a few microseconds at most.
 */

#include <stdbool.h>
#include <stdint.h>

/** Finds the allocators that the program calls. To be called at load time. */
void heapsnap_passing_init(void);

/** Forgets all functions: code has been unmapped. */
void heapsnap_passing_forget(void);

/**
 * True if a function is a thin wrapper of the allocator that one of its calls led to.
 *
 * @param start, end  where the function's code lies, which must be readable
 * @param site        the return address of the call
 */
bool heapsnap_passes_size(uint64_t start, uint64_t end, uint64_t site);

#endif
