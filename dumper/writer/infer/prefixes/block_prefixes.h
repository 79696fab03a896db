// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BLOCK_PREFIXES_H
#define BLOCK_PREFIXES_H

/**
 * Block prefixes: bytes that a runtime keeps at the start of a block, before the address that the
 * program gets, such as a garbage collector's links or the length of a string.
 *
 *	block ─▶ prefix, 16 bytes
 *	pointers ─▶ T
 *
 * Nearly all typed slots lead to one offset behind the start of such blocks. To all other stages a
 * block begins there: they take its address and size from here, not from the capture. At the end the prefix becomes a part of the type.
 */

#include "dumper/writer/infer/prefixes/storage_headers.h"
#include "dumper/writer/scan/capture.h"

#include "lib/base/array.h"

struct inference;

enum {
	BLOCK_PREFIX_MAX = 64, /**< bytes */
};

enum block_prefix_kind {
	BLOCK_PREFIX_STRUCTS, /**< before structs: these are found first */
	BLOCK_PREFIX_TEXTS,   /**< before texts, which is less sure */
	BLOCK_PREFIX_KINDS,
};

/** Counts the blocks with a T at an offset, which support a prefix of that length. */
struct prefix_pair {
	heap_type_id type;
	uint32_t offset;
	uint32_t supporting, contradicting;
	uint32_t headed;  /**< of the supporting ones, those that pointers lead to the header of */
	uint32_t linked;  /**< of the supporting ones, those whose headers are doubly linked */
	uint64_t tagged;  /**< blocks that point to the method tables of those that support it */
	bool is_measured; /**< a number in one of the supporting ones tells its length */
	bool is_accepted;
};

/** Counts the pointers to a site's blocks, typed or not, by the word that they point to. */
struct site_leads {
	uint32_t at[BLOCK_PREFIX_MAX / 8 + 1]; /**< by the word that they lead to */
	uint32_t from[BLOCK_PREFIX_MAX / 8];   /**< of those to the start, by their own */
	uint32_t beside[BLOCK_PREFIX_MAX / 8]; /**< of the site's own to elsewhere, likewise */
	uint32_t elsewhere;
};

struct block_prefixes {
	struct site_leads *leads; /**< [sites] NULL: not counted yet */
	uint8_t *
		are_next; /**< [objects / 8 + 1] bits.h: blocks that others link to; NULL: not found yet */
	uint8_t *of; /**< [objects] bytes; NULL: none has one */
	struct HEAP_ARRAY(struct prefix_pair) pairs;
	uint32_t hints_seen[BLOCK_PREFIX_KINDS];
	uint32_t followed; /**< hints that block_prefixes_follow() need not look at again */
	uint32_t count;    /**< objects that have got one */
	bool is_renewed;   /**< kinds have not been sorted since */
};

/**
 * True if a block has a text that begins at an offset, and none that begins before.
 *
 * @param words  [CONTENT_WORDS + 1] are overwritten
 */
bool block_prefixes_end_before_text(const struct inference *inference, heap_object_id object,
				    uint32_t offset, uint64_t *words);

/**
 * Finds the prefixes of blocks on which there are hints.
 *
 * @param is_thorough  also if there are few new hints
 * @param found        the number of blocks is added
 */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_find(struct inference *inference, enum block_prefix_kind kind,
				       bool is_thorough, uint64_t *found);

/**
 * Gives those blocks a prefix that there are new hints on, and that are like others with one: the next nodes of a list.
 * Each hint is looked at once. Kinds are not sorted, so that this is cheap.
 *
 * @param found  the number of blocks is added
 */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_follow(struct inference *inference, uint64_t *found);

/**
 * Finds the struct that is the first @p bytes of a block, if there is one: the allocating code has
 * variables of it, and it links such blocks. Then these bytes are no prefix, but a part of their own,
 * as in allocators whose blocks form trees.
 *
 * @param result  HEAP_NO_TYPE if there is none
 */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_header(struct inference *inference, heap_object_id object,
					 uint64_t bytes, heap_type_id *result);

/** Gives a block without a name a prefix. Offsets of its hints then count from its end. */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_set(struct inference *inference, heap_object_id object,
				      uint32_t bytes);

/** Takes the prefix from a block that is cut up. Offsets of its hints count from its start again. */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_clear(struct inference *inference, heap_object_id object);

/**
 * Makes the prefixes a part of the types of their blocks, which adds types to the capture's. Blocks in storage headers
 * that have no name have that of the header.
 */
HEAP_MUST_CHECK
struct heap_error *block_prefixes_finish(const struct block_prefixes *prefixes,
					 const struct storage_headers *headers,
					 struct capture *capture);

void block_prefixes_deinit(struct block_prefixes *prefixes);

#endif
