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
 *	extent: size 40 bits | birth epoch 16 | place 5 | flags 3         (from bit 0 up)
 *	origin: site 48 bits | signature 16
 *
 * A block that is aligned beyond malloc's own alignment would be pushed to the next page by a
 * header. Above glibc such a block has the same 16 bytes behind it, as a footer, and begins where
 * glibc's chunk does:
 *
 *	block                      footer - 8            footer
 *	┌────────────────────────┬─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┌────────────────────┬────────────────────┐
 *	│ what the program       │ distance from the   │ extent             │ origin             │
 *	│ asked for, up to 8     │ block, if chunk is  │ size, birth, kind  │ site, signature    │
 *	└────────────────────────┴─ larger ─ ─ ─ ─ ─ ─ └────────────────────┴────────────────────┘
 *	                                                                       end of usable memory
 *
 * free() finds it by glibc's word on how much is usable, the writer by its signature. What is
 * below may not be glibc: then all of the alignment precedes the block, the header at its end.
 *
 * The signature is made from the block's address, the extent and a secret of the process;
 * one bit of it says how the block is freed (below). A block is live exactly when its
 * header verifies, so there is no table to keep in step and no lock: malloc signs last,
 * free wipes first. An overrun from below comes by the extent before it reaches the site,
 * and then the header does not verify, rather than tell lies.
 *
 * No signature is 0: a word before a block that glibc made without us is glibc's size of
 * the block, whose upper 16 bits are 0. HEAPSNAP_WIPED, of a block that has been freed, is
 * none either; nor is HEAPSNAP_MOVING, of a block that realloc is just moving: what stood in
 * its header, the thread has noted (protocol.h, struct heapsnap_move).
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
	HEAPSNAP_WIPED = 0x000e,
	HEAPSNAP_MOVING = 0x000c,

	/**
	 * One of these bits, the mark, is set in the signature of a plain block. It is all that
	 * free() looks at: the block begins at its header. In that of a special block it is not:
	 * those at alignments beyond malloc's own and samples are verified first. Which bit, the
	 * process chooses: none that glibc sets in a block that has been freed.
	 */
	HEAPSNAP_MARKS = 0xfff0,
	HEAPSNAP_SPECIAL = 0x0001, /**< set in theirs, so that it is none of the above */
};

#define HEAPSNAP_SIZE_MAX ((UINT64_C(1) << HEAPSNAP_SIZE_BITS) - 1)
#define HEAPSNAP_SITE_MASK ((UINT64_C(1) << HEAPSNAP_SITE_BITS) - 1)

enum heapsnap_block_flags {
	HEAPSNAP_BLOCK_LABELLED = 1 << 0,  /**< heapsnap_set_type() has an entry for it */
	HEAPSNAP_BLOCK_NEW = 1 << 1,       /**< from C++ operator new */
	HEAPSNAP_BLOCK_NEW_ARRAY = 1 << 2, /**< from operator new[] */
};

/** Where the 16 bytes are. From 5 on: before the block, log2 of the alignment before that. */
enum heapsnap_place {
	HEAPSNAP_BEFORE = 0,     /**< the block begins 16 bytes into libc's */
	HEAPSNAP_BEHIND = 1,     /**< behind the block's size, rounded up to 8 */
	HEAPSNAP_FAR_BEHIND = 2, /**< further behind, as the word before them says */
	HEAPSNAP_ALIGNED = 5,
};

struct heapsnap_header {
	uint64_t extent;
	uint64_t origin;
};

static inline uint64_t heapsnap_extent(uint64_t size, uint32_t birth, unsigned place,
				       unsigned flags)
{
	return size | (uint64_t)birth << 40 | (uint64_t)place << 56 | (uint64_t)flags << 61;
}

static inline uint64_t heapsnap_extent_size(uint64_t extent)
{
	return extent & HEAPSNAP_SIZE_MAX;
}

static inline uint32_t heapsnap_extent_birth(uint64_t extent)
{
	return extent >> 40 & 0xffff;
}

static inline unsigned heapsnap_extent_place(uint64_t extent)
{
	return extent >> 56 & 0x1f;
}

/** True if a footer has this extent. */
static inline int heapsnap_extent_is_behind(uint64_t extent)
{
	unsigned place = heapsnap_extent_place(extent);

	return place == HEAPSNAP_BEHIND || place == HEAPSNAP_FAR_BEHIND;
}

/** Bytes from the block that libc gave to the program's, which has a header. */
static inline uint64_t heapsnap_extent_lead(uint64_t extent)
{
	unsigned place = heapsnap_extent_place(extent);

	return place >= HEAPSNAP_ALIGNED ? UINT64_C(1) << place : HEAPSNAP_HEADER_SIZE;
}

/** The least distance of a footer from its block. */
static inline uint64_t heapsnap_footer_distance(uint64_t size)
{
	return (size + 7) & ~UINT64_C(7);
}

static inline unsigned heapsnap_extent_flags(uint64_t extent)
{
	return (unsigned)(extent >> 61);
}

/**
 * 16 bits. Each bit of the address and the extent decides over some of them.
 *
 * @param secret  of the process: an odd number, the multiplier of Dietzfelbinger's
 *	"multiply-shift" hashing, whose upper bits are as good as the multiplier is random
 * @param block   the address the program gets
 */
static inline uint64_t heapsnap_hash(uint64_t secret, uint64_t block, uint64_t extent)
{
	return ((extent ^ block) * secret) >> 48;
}

static inline uint64_t heapsnap_special(uint64_t hash, uint64_t mark)
{
	return (hash & ~mark) | HEAPSNAP_SPECIAL;
}

/** True if these 16 bytes, just before @p block, are a live block's header. */
static inline int heapsnap_verifies(uint64_t secret, uint64_t mark, uint64_t block, uint64_t extent,
				    uint64_t origin)
{
	uint64_t signature = origin >> HEAPSNAP_SITE_BITS;
	uint64_t hash = heapsnap_hash(secret, block, extent);

	return signature == (signature & mark ? hash | mark : heapsnap_special(hash, mark));
}

#endif
