// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HEADER_H
#define HEAPSNAP_HEADER_H

/**
 * The signed header: 16 bytes just before every block that the program gets.
 *
 *	              block - 16          block - 8            block
 *	┌─ ─ ─ ─ ─ ─┬────────────────────┬────────────────────┬──────────────────
 *	  libc's own │ extent             │ origin             │ what the program
 *	  chunk head │ size, birth, shape │ site, signature    │ asked for
 *	└─ ─ ─ ─ ─ ─┴────────────────────┴────────────────────┴──────────────────
 *
 *	extent: size 40 bits | birth epoch 16 | alignment 5 | flags 3     (from bit 0 up)
 *	origin: site 48 bits | signature 16
 *
 * The signature is made from the block's address, both words and a secret of the process.
 * A block is live exactly when its header verifies, so there is no table to keep in step
 * and no lock: malloc signs last, free wipes first. It covers all fields, so a header
 * that an overrun has touched does not verify, rather than tell lies.
 *
 * A signature is never 0: no pointer of the program, whose upper 16 bits are 0, can look
 * like an origin. Nor is it HEAPSNAP_WIPED, which marks a block that has been freed.
 *
 * Shared by the library, which signs, and the writer, which finds the signed.
 */

#include <stdint.h>

enum {
	HEAPSNAP_HEADER_SIZE = 16,
	HEAPSNAP_SIZE_BITS = 40,
	HEAPSNAP_BIRTH_BITS = 16,
	HEAPSNAP_ALIGNMENT_BITS = 5,
	HEAPSNAP_SITE_BITS = 48,
	HEAPSNAP_WIPED = 0xffff,
};

#define HEAPSNAP_SIZE_MAX ((UINT64_C(1) << HEAPSNAP_SIZE_BITS) - 1)
#define HEAPSNAP_SITE_MASK ((UINT64_C(1) << HEAPSNAP_SITE_BITS) - 1)

enum heapsnap_block_flags {
	HEAPSNAP_BLOCK_LABELLED = 1 << 0,  /**< heapsnap_set_type() has an entry for it */
	HEAPSNAP_BLOCK_NEW = 1 << 1,       /**< from C++ operator new */
	HEAPSNAP_BLOCK_NEW_ARRAY = 1 << 2, /**< from operator new[] */
};

struct heapsnap_header {
	uint64_t extent;
	uint64_t origin;
};

/** @param alignment  log2 of it, or 0 for malloc's own: the way back to libc's block */
static inline uint64_t heapsnap_extent(uint64_t size, uint32_t birth, unsigned alignment,
				       unsigned flags)
{
	return size | (uint64_t)birth << 40 | (uint64_t)alignment << 56 | (uint64_t)flags << 61;
}

static inline uint64_t heapsnap_extent_size(uint64_t extent)
{
	return extent & HEAPSNAP_SIZE_MAX;
}

static inline uint32_t heapsnap_extent_birth(uint64_t extent)
{
	return extent >> 40 & 0xffff;
}

static inline unsigned heapsnap_extent_alignment(uint64_t extent)
{
	return extent >> 56 & 0x1f;
}

static inline unsigned heapsnap_extent_flags(uint64_t extent)
{
	return (unsigned)(extent >> 61);
}

/** The whole origin word: site and signature. @param block  the address the program gets */
static inline uint64_t heapsnap_origin(uint64_t secret, uint64_t block, uint64_t extent,
				       uint64_t site)
{
	site &= HEAPSNAP_SITE_MASK;

	// Two rounds of multiply and fold: what one bit of any input changes is spread over
	// all of the signature, at about the price of the store that follows.
	uint64_t mixed = (extent ^ block ^ secret) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 32;
	mixed = (mixed ^ site) * UINT64_C(0xd6e8feb86659fd93);

	uint64_t signature = mixed >> 48;

	// 0 and HEAPSNAP_WIPED have meanings of their own.
	signature += signature == 0;
	signature -= signature == HEAPSNAP_WIPED;
	return site | signature << HEAPSNAP_SITE_BITS;
}

/** Whether these 16 bytes, just before @p block, are a live block's header. */
static inline int heapsnap_verifies(uint64_t secret, uint64_t block, uint64_t extent,
				    uint64_t origin)
{
	return origin >> HEAPSNAP_SITE_BITS != 0 &&
	       origin == heapsnap_origin(secret, block, extent, origin);
}

#endif
