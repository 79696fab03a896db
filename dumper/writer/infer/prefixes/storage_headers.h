// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STORAGE_HEADERS_H
#define STORAGE_HEADERS_H

/**
 * Storage headers: structs that end in bytes in which the program keeps values of other types, as each block of a pool that
 * frees all that was allocated from it.
 *
 *	struct piece { struct list links; struct class *class; size_t size; char data[]; };
 *
 *	pool, neighbours ─▶ piece
 *	all else         ─▶ data: T
 *
 * The same struct may hold what it says, such as a name. So there have to be typed slots that lead to where the bytes
 * begin, as to a struct, while those that lead before agree with the header.
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/** A block with a prefix in place of a storage header, and what its name was or would be. */
struct stored_block {
	heap_object_id object;
	heap_type_id header;
	uint64_t elements; /**< of the header */
	uint8_t evidence;
};

/** A struct that ends in bytes. */
struct storage_header {
	heap_type_id type;
	uint64_t start; /**< of the bytes */
};

struct storage_headers {
	struct HEAP_ARRAY(struct storage_header) types; /**< that may be one, by start */
	struct HEAP_ARRAY(struct stored_block) blocks;  /**< that have a prefix in place of it */
	uint32_t *counts; /**< [types] blocks in headers of each; NULL: there are none */
	uint8_t *have;    /**< [objects / 8 + 1] bits.h: those; NULL: there are none */
	bool are_listed;
};

/** True for a struct that ends in bytes, and may be a storage header. */
bool storage_headers_may_be(const struct layouts *layouts, heap_type_id type);

/** True for a block that has a prefix in place of its storage header. */
bool storage_headers_have(const struct storage_headers *headers, heap_object_id object);

/** True for the type of the header that a block has a prefix in place of: what is behind it is no such header. */
bool storage_headers_are_own(const struct inference *inference, heap_object_id object,
			     heap_type_id type);

/** True for a block whose name is such a struct, and who has no prefix: it may be one of what it stores. */
bool storage_headers_name(const struct inference *inference, heap_object_id object);

/**
 * Finds the storage header of a block by the slots that lead to it: those to where its bytes begin lead to a struct, others
 * before agree with it, or it is the block's name.
 *
 * @param stored  gets the type of that struct
 * @return HEAP_NO_TYPE if there is none
 */
heap_type_id storage_headers_find(const struct inference *inference, heap_object_id object,
				  heap_type_id *stored);

/** Likewise if slots lead to characters there, and other blocks of that name are known to be storage headers. */
heap_type_id storage_headers_find_text(const struct inference *inference, heap_object_id object,
				       heap_type_id *stored);

/**
 * The storage header of a block that has its name, if others of that name are known to be storage headers, and the code that
 * allocates the block tells what it stores; HEAP_NO_TYPE if not.
 */
heap_type_id storage_headers_expect(const struct inference *inference, heap_object_id object);

/** Lists them, once. */
HEAP_MUST_CHECK
struct heap_error *storage_headers_list(struct inference *inference);

/** Notes that a block has got a prefix in place of its header. */
HEAP_MUST_CHECK
struct heap_error *storage_headers_note(struct inference *inference, heap_object_id object,
					heap_type_id header);

void storage_headers_deinit(struct storage_headers *headers);

#endif
