// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PREFIX_LEADS_H
#define PREFIX_LEADS_H

/**
 * Hints on one block say whether it has a prefix: the *lead* is where the slots lead to whose type says something. Whether the bytes
 * before it are a prefix, all blocks with such a lead tell together (block_prefixes.h).
 *
 *	block ─▶ 16 bytes
 *	slots ─▶ T           lead: T at 16
 */

#include "dumper/writer/infer/prefixes/block_prefixes.h"

struct method_table;

struct prefix_lead {
	heap_type_id type;
	uint32_t offset;
	uint64_t header; /**< slots lead to the start, too: to a struct of so many bytes */
	bool is_plain;   /**< no slots lead to structs or texts there, but to numbers or pointers */
	bool is_linked;  /**< that header has pointers */
	heap_type_id storage; /**< the header, if it is a struct that ends in bytes at the lead */
};

/** The answer of one block, as its lead, size and contents have it. */
enum prefix_reading {
	READING_OTHER,
	READING_PREFIX,
	READING_MEASURED, /**< a prefix that tells how long the rest is */
	READING_ARRAY,    /**< a prefix of several values, if the site's other pointers say so */
	READING_EMBEDDED,
};

/** @return false: the hints on a block agree on no place behind its start */
bool prefix_lead_find(const struct inference *inference, heap_object_id object,
		      enum block_prefix_kind kind, struct prefix_lead *lead);

/** The place in a storage header where its bytes begin. @return false: a block has none */
bool prefix_lead_find_stored(const struct inference *inference, heap_object_id object,
			     enum block_prefix_kind kind, struct prefix_lead *lead);

/** Asks a block of its lead. @param words  [CONTENT_WORDS + 1] are overwritten */
enum prefix_reading prefix_lead_read(const struct inference *inference, heap_object_id object,
				     const struct prefix_lead *lead, uint64_t *words);

/** The method table that a block points to where the struct behind a prefix has a pointer to a struct, or NULL. */
const struct method_table *prefix_lead_find_table(const struct inference *inference,
						  heap_object_id object,
						  const struct prefix_lead *lead);

/**
 * True if the bytes before the lead are a header by which an allocator links its blocks: all of its pointers lead to
 * where blocks begin, one of which leads back, and typed slots do not.
 */
bool prefix_lead_is_doubly_linked(const struct inference *inference, heap_object_id object,
				  const struct prefix_lead *lead);

/** True if the bytes before the lead may be a link. Where sites are known, these tell more. */
bool prefix_lead_may_be_linked(const struct inference *inference, const struct prefix_lead *lead);

/**
 * Reads the text that begins at an offset of a block, and not before.
 *
 * @param is_stored  in a storage header, as prefix_lead_find_stored() has it
 * @param words      [CONTENT_WORDS + 1] are overwritten
 */
enum prefix_reading prefix_lead_read_text(const struct inference *inference, heap_object_id object,
					  uint32_t offset, bool is_stored, uint64_t *words);

/** True for a pointer to a struct. */
bool prefix_lead_is_pointer(const struct inference *inference, heap_type_id type);

#endif
