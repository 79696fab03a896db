// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_BLOCKS_H
#define HEAPSNAP_BLOCKS_H

/**
 * Blocks with a signed header, made from those of the next allocator. In trace-only mode blocks
 * have no header: untracked.h.
 *
 * The fast path (here, inlined into malloc, free and operator new) takes no lock and does no atomic
 * read-modify-write. It is optimized for few instructions rather than for short latency: what a
 * processor does between two cache misses costs nothing, until its reorder window is full. On Zen
 * 5, with 1 M live blocks replaced at random, 38 instructions more than glibc cost 6 %, a dozen
 * more 40 %, and another two 20 %. So there are two libraries, and no test on the fast path for
 * whether blocks have headers: libheapsnap.so, and libheapsnap-trace.so, which is built with
 * HEAPSNAP_UNTRACKED defined.
 */

#include "dumper/stacks/backtraces.h"
#include "dumper/alloc/next_allocator.h"
#include "dumper/base/header.h"
#include "dumper/base/process.h"
#include "dumper/trace/sampling.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The caller of the function that this is inlined into: the site of its block. */
#define HEAPSNAP_SITE ((uint64_t)__builtin_return_address(0))

/** To be called once the next allocator has been found. */
void heapsnap_blocks_begin(void);

/** A block of zeros. */
void *heapsnap_allocate_zeros(size_t size, uint64_t site);

/** A block at a multiple of @p alignment, a power of two. */
void *heapsnap_allocate_aligned(size_t alignment, size_t size, uint64_t site, unsigned flags);

void *heapsnap_reallocate(void *block, size_t size, uint64_t site);

/** The usable bytes of a block. */
size_t heapsnap_usable_size(void *block);

/** The header just before a block. */
static inline struct heapsnap_header *heapsnap_header_of(const void *block)
{
	return (struct heapsnap_header *)((uintptr_t)block - HEAPSNAP_HEADER_SIZE);
}

/**
 * The header or footer of a block of ours; NULL if it is not live.
 *
 * @param block  what the program calls a block: any address
 */
struct heapsnap_header *heapsnap_find_header(const void *block);

/** The upper 16 bits of the origin: where a little-endian machine has them. */
static inline uint16_t *heapsnap_signature(const struct heapsnap_header *header)
{
	return (uint16_t *)((uintptr_t)(header + 1) - sizeof(uint16_t));
}

/**
 * Signs the header: from here on the block is live. The signature comes with the last store, and the
 * origin with it, so that a block that is being moved has its stamp until then (protocol.h).
 */
HEAPSNAP_INLINE void heapsnap_sign(struct heapsnap_header *header, const void *block,
				   uint64_t extent, uint64_t site, bool is_special)
{
	__atomic_store_n(&header->extent, extent, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);

	uint64_t hash = heapsnap_hash(heapsnap_hot.secret, (uint64_t)block, extent);

	hash = is_special ? heapsnap_special(hash, heapsnap_hot.mark) : hash | heapsnap_hot.mark;
	__atomic_store_n(&header->origin, (site & HEAPSNAP_SITE_MASK) | hash << HEAPSNAP_SITE_BITS,
			 __ATOMIC_RELAXED);
}

/** True if free() takes the block to begin at its header. */
static inline bool heapsnap_is_plain(const void *block)
{
	return *heapsnap_signature(heapsnap_header_of(block)) & heapsnap_hot.plain;
}

/**
 * Wipes the header: from here on the block is not live. To be called before the next allocator may
 * reuse it.
 */
HEAPSNAP_INLINE void heapsnap_wipe(struct heapsnap_header *header)
{
	__atomic_store_n(heapsnap_signature(header), HEAPSNAP_WIPED, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/**
 * True if backtraces.h knows all it needs of a site and a size below 2^16. A plain
 * read, of a word that others write whole: one instruction, with the comparison.
 */
HEAPSNAP_INLINE bool heapsnap_has_seen(uint64_t site, uint64_t size)
{
	return heapsnap_seen[(uint16_t)(site + size)] == site;
}

#ifndef HEAPSNAP_UNTRACKED

/*
 * In a function that malloc and its like end with: mostly they have jumped to it, so that its caller
 * is theirs, the code at the site. Then what that has as its frame pointer is the first thing that
 * the function saves, since it asks for its own frame.
 */
#define HEAPSNAP_FRAME_AT(site) \
	((uint64_t)__builtin_return_address(0) == (site) \
		 ? (struct heapsnap_frame){ HEAPSNAP_CALLERS_SP, \
					    *(const uint64_t *)__builtin_frame_address(0) } \
		 : (struct heapsnap_frame){ 0 })

/**
 * A slow path: makes a block from memory of the next allocator. NULL if it is too large, or there is no
 * memory. If there is, heapsnap_take_bytes() has taken its bytes.
 *
 * @param base  NULL: there is none
 */
typedef void *heapsnap_slow_path(char *base, size_t size, uint64_t site);

/** malloc's where the site and size have not been seen: most of its sites are in wrappers. */
void *heapsnap_adopt_in_wrapper(char *base, size_t size, uint64_t site);

/** malloc's for all other reasons. */
void *heapsnap_adopt_slowly(char *base, size_t size, uint64_t site);

/** Does what all slow paths do. @param frame  at the site */
void *heapsnap_adopt_at(char *base, size_t size, uint64_t site, unsigned flags,
			struct heapsnap_frame frame);

/** Frees a block that is not plain: aligned, foreign, damaged, freed before, or of the arena. */
void heapsnap_release_other(void *block);

/** Makes a block that is plain. */
HEAPSNAP_INLINE void *heapsnap_adopt(char *base, size_t size, uint64_t site, unsigned flags)
{
	char *block = base + HEAPSNAP_HEADER_SIZE;

	__asm__("" : "+r"(block)); // one addition, not one per store
	heapsnap_sign(heapsnap_header_of(block), block,
		      heapsnap_extent(size, 0, 0, flags) | heapsnap_hot.birth, site, false);
	return block;
}

/** The fast path. What ends with it jumps to a slow one, which thereby knows its caller's frame. */
HEAPSNAP_INLINE void *heapsnap_allocate_or(size_t size, unsigned flags,
					   heapsnap_slow_path *in_wrapper, heapsnap_slow_path *slow)
{
	// A size that overflows here is refused below: it is more than the bytes left can be.
	char *base = heapsnap_hot.malloc(size + HEAPSNAP_HEADER_SIZE);
	uint64_t site = HEAPSNAP_SITE;

	if (HEAPSNAP_UNLIKELY(!base || !heapsnap_take_bytes(size)))
		return slow(base, size, site);
	if (HEAPSNAP_UNLIKELY(!heapsnap_has_seen(site, size)))
		return in_wrapper(base, size, site);
	return heapsnap_adopt(base, size, site, flags);
}

/** The path of blocks that are made in wrappers. It, too, may end with a jump. */
HEAPSNAP_INLINE void *heapsnap_adopt_or(char *base, size_t size, uint64_t site, unsigned flags,
					heapsnap_slow_path *slow)
{
	// Mostly that has been jumped to: then its caller is that at the site.
	uint64_t caller = HEAPSNAP_LIKELY(HEAPSNAP_SITE == site)
				  ? heapsnap_hop_simply(size, site, HEAPSNAP_CALLERS_SP)
				  : 0;

	if (HEAPSNAP_UNLIKELY(!caller))
		return slow(base, size, site);
	return heapsnap_adopt(base, size, caller, flags);
}

HEAPSNAP_INLINE void *heapsnap_allocate(size_t size, unsigned flags)
{
	return heapsnap_allocate_or(size, flags, heapsnap_adopt_in_wrapper, heapsnap_adopt_slowly);
}

HEAPSNAP_INLINE void heapsnap_release(void *block)
{
	if (!block)
		return;

	// Not verified: a header that is damaged but for its mark still says where libc's block
	// begins, and what libc finds there is for libc to say.
	if (HEAPSNAP_UNLIKELY(!heapsnap_is_plain(block))) {
		heapsnap_release_other(block);
		return;
	}
	heapsnap_wipe(heapsnap_header_of(block));
	heapsnap_hot.free(heapsnap_header_of(block));
}

#else
#include "dumper/alloc/untracked.h"
#endif

#endif
