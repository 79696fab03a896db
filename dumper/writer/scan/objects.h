// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OBJECTS_H
#define OBJECTS_H

/**
 * The live blocks of the frozen copy, by address; and whose block an address lies in.
 *
 * To find the block that an address lies in, each range of memory has a bit per 16 bytes, set
 * where a block starts, and a running count per 1 KiB:
 *
 *	granules   bits   0100000001000100…  ranks[g]: blocks that start in granules before g
 *	                       ▲ address     block = first + rank + bits up to here − 1
 *
 * That is one or two cache misses for any pointer, for 1.6 % of the heap's size.
 */

#include "dumper/base/header.h"
#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/births.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/object_kinds.h"
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/prefetch.h"
#include "lib/base/search.h"
#include "lib/snapshot/snapshot.h"

/** The most blocks of a capture: their columns grow by doubling. */
#define OBJECTS_MOST (UINT32_C(1) << 31)

enum {
	GRANULE = 16,
	GRANULES_PER_WORD = 64,
	OBJECT_GROUP = 64,      /**< blocks whose addresses are kept as 2 bytes each and one base */
	OBJECT_UNIT = 8,        /**< bytes that these 2 bytes count */
	OBJECTS_UPPER_BITS = 8, /**< of addresses of 48 bits: a program's blocks have few of them */
};

/** Where blocks start in 1 KiB. */
struct object_starts {
	uint64_t bits;
	uint32_t before; /**< blocks that start in the range before this KiB */
};

/** Contiguous memory that malloc may have used. */
struct object_range {
	uint64_t start;
	uint64_t end;
	uint32_t first; /**< number of its first block */
	uint32_t count;
	struct object_starts *starts; /**< [(end - start) / 1024 + 1]; NULL: few, large blocks */
	bool is_aligned; /**< each block begins where a granule does, so that its bit tells its address */
};

/** Blocks in a row. Few groups are wide: of large blocks, or with a gap between two ranges. */
struct object_group {
	uint64_t base; /**< address of its first block */
	uint32_t wide; /**< its number among the wide ones, + 1; 0: it is none */
};

/** A block that begins 4 GiB or more behind the first one of its group. */
struct far_object {
	heap_object_id object;
	uint64_t address;
};

struct objects {
	struct object_group *groups; /**< [count / OBJECT_GROUP + 1] */
	uint16_t *offset; /**< [count] units from the group's base: see objects_address() */
	struct HEAP_ARRAY(uint32_t) wide; /**< bytes instead, of the blocks of wide groups */
	/** [count] in kinds: what allocated it, and its size. NULL: there are more than 16 bits can count */
	uint16_t *kind;
	uint32_t *wide_kind; /**< [count] in that case */
	struct births births;
	uint8_t *flags;    /**< [count] enum heapsnap_block_flags */
	uint8_t all_flags; /**< those that any block has */
	uint32_t count, capacity;
	struct HEAP_ARRAY(struct far_object) far; /**< ascending */
	struct object_kinds kinds;
	struct object_range *ranges; /**< [range_count] */
	size_t range_count, range_capacity;
	bool has_blocks
		[1
		 << OBJECTS_UPPER_BITS]; /**< by the upper bits of addresses, OBJECTS_UPPER_BITS of 48 */
	/** [damage_count] addresses of headers that something has overwritten */
	uint64_t *damages;
	size_t damage_count;
	size_t damages_left_out; /**< others, beyond what the list holds */
	bool damages_are_cut;    /**< there may be even more */
};

/** That there are more than OBJECTS_MOST blocks, HEAP_ERROR_ARGUMENT. */
HEAP_MAKES_ERROR
struct heap_error *objects_too_many(void);

/** Makes an empty set of blocks. */
HEAP_MUST_CHECK
struct heap_error *objects_init(struct objects *objects);

void objects_deinit(struct objects *objects);

/**
 * Adds a block behind all others.
 *
 * @param extent  its size, birth and flags, as its header has them
 * @param site    the return address of its allocation
 */
HEAP_MUST_CHECK
struct heap_error *objects_add(struct objects *objects, uint64_t block, uint64_t extent,
			       uint64_t site);

/**
 * Sets the address of a block. Those of blocks before it in its group are set already.
 */
HEAP_MUST_CHECK
struct heap_error *objects_set_address(struct objects *objects, heap_object_id object,
				       uint64_t address);

/** The address of a block in a wide group. */
uint64_t objects_wide_address(const struct objects *objects, heap_object_id object);

/** Where a block begins. */
static inline uint64_t objects_address(const struct objects *objects, heap_object_id object)
{
	const struct object_group *group = &objects->groups[object / OBJECT_GROUP];

	return !group->wide ? group->base + (uint64_t)objects->offset[object] * OBJECT_UNIT
			    : objects_wide_address(objects, object);
}

/** Prefetches what objects_address() reads. */
static inline void objects_prefetch_address(const struct objects *objects, heap_object_id object)
{
	heap_prefetch(&objects->groups[object / OBJECT_GROUP]);
	heap_prefetch(&objects->offset[object]);
}

/** Removes the block that was added last. */
void objects_remove_last(struct objects *objects);

/**
 * Makes a set of blocks. Their births and flags are 0; their kinds and, in order, their addresses are up to the
 * caller.
 *
 * @param offset  [count] by malloc(), the column of that name; is the set's from now on, also if this fails
 */
HEAP_MUST_CHECK
struct heap_error *objects_take(struct objects *objects, uint16_t *offset, uint32_t count);

/** Adds a range of memory behind all others, whose blocks have been added. */
HEAP_MUST_CHECK
struct heap_error *objects_add_range(struct objects *objects, const struct object_range *range);

/** The number of a block's kind. */
static inline uint32_t objects_kind(const struct objects *objects, heap_object_id object)
{
	return objects->kind ? objects->kind[object] : objects->wide_kind[object];
}

/** Prefetches what objects_kind() reads. */
static inline void objects_prefetch_kind(const struct objects *objects, heap_object_id object)
{
	if (objects->kind)
		heap_prefetch(&objects->kind[object]);
	else
		heap_prefetch(&objects->wide_kind[object]);
}

/** objects_set_kind() where the column may have to be widened. */
HEAP_MUST_CHECK
struct heap_error *objects_set_wide_kind(struct objects *objects, heap_object_id object,
					 uint32_t kind);

/** Sets the kind of a block. */
HEAP_MUST_CHECK
static inline struct heap_error *objects_set_kind(struct objects *objects, heap_object_id object,
						  uint32_t kind)
{
	if (!objects->kind || kind > UINT16_MAX)
		return objects_set_wide_kind(objects, object, kind);
	objects->kind[object] = (uint16_t)kind;
	return NULL;
}

/** Bytes of a block. */
static inline uint64_t objects_size(const struct objects *objects, heap_object_id object)
{
	return objects->kinds.list[objects_kind(objects, object)].size;
}

/** The first of the range's blocks that begins after an address; the range's end if none does. */
uint32_t objects_first_after(const struct objects *objects, const struct object_range *range,
			     uint64_t address);

/** Finds the block by binary search, for ranges with few blocks. */
heap_object_id objects_search(const struct objects *objects, const struct object_range *range,
			      uint64_t address);

static inline const struct object_range *objects_range(const struct objects *objects,
						       uint64_t address)
{
	size_t at =
		heap_partition_point(i, 0, objects->range_count, objects->ranges[i].end <= address);

	return at < objects->range_count && objects->ranges[at].start <= address
		       ? &objects->ranges[at]
		       : NULL;
}

/**
 * The last block that starts at or before @p address, which may lie beyond its end;
 * HEAP_NO_OBJECT if there is none in its range. Reads no column where the range has an index.
 *
 * @param is_start  gets true if that index tells that the block starts right there; false: perhaps it does
 */
static inline heap_object_id objects_find_before(const struct objects *objects, uint64_t address,
						 bool *is_start)
{
	const struct object_range *range = objects_range(objects, address);

	*is_start = false;
	if (!range)
		return HEAP_NO_OBJECT;
	if (!range->starts)
		return objects_search(objects, range, address);

	uint64_t granule = (address - range->start) / GRANULE;
	const struct object_starts *starts = &range->starts[granule / GRANULES_PER_WORD];
	uint64_t up_to_here = starts->bits << (63 - granule % GRANULES_PER_WORD);
	uint32_t rank = starts->before + heap_bits_count(up_to_here);

	*is_start =
		range->is_aligned && up_to_here >> 63 && (address - range->start) % GRANULE == 0;
	return rank == 0 ? HEAP_NO_OBJECT : range->first + rank - 1;
}

/** True if a block that starts at or before @p address holds it; an empty one its very start. */
static inline bool objects_holds(const struct objects *objects, heap_object_id object,
				 uint64_t address)
{
	uint64_t offset = address - objects_address(objects, object);

	return offset < objects_size(objects, object) || offset == 0;
}

/** Prefetches what objects_find_before() needs. */
static inline void objects_prefetch_starts(const struct objects *objects, uint64_t address)
{
	const struct object_range *range = objects_range(objects, address);

	if (range && range->starts)
		heap_prefetch(
			&range->starts[(address - range->start) / (GRANULE * GRANULES_PER_WORD)]);
}

/** The block that @p address points into (its very start, if it is empty), or HEAP_NO_OBJECT. */
static inline heap_object_id objects_find(const struct objects *objects, uint64_t address)
{
	bool is_start;
	heap_object_id object = objects_find_before(objects, address, &is_start);

	return object != HEAP_NO_OBJECT && (is_start || objects_holds(objects, object, address))
		       ? object
		       : HEAP_NO_OBJECT;
}

/**
 * The address in a word whose bits above those of addresses are a tag, as in pointers with a counter beside them and
 * values of interpreters; the word itself where there is none.
 */
static inline uint64_t objects_untag(uint64_t word)
{
	return word & ((UINT64_C(1) << MACHINE_ADDRESS_BITS) - 1);
}

/** False if a word cannot be an address of a block with a tag above it: most words with such bits. */
static inline bool objects_may_have_tag(const struct objects *objects, uint64_t word)
{
	uint64_t address = objects_untag(word);

	return address != word && objects->has_blocks[address >> (48 - OBJECTS_UPPER_BITS)];
}

/**
 * The block that a word points to: into it, or to its very start where there is a tag above the address, since most such
 * words are something else.
 *
 * @param interior  gets where it points to in the block, in bytes
 * @return HEAP_NO_OBJECT if it does not
 */
static inline heap_object_id objects_resolve(const struct objects *objects, uint64_t word,
					     uint64_t *interior)
{
	uint64_t address = objects_untag(word);
	heap_object_id object;

	// Most words, as soon as can be.
	if (objects->range_count == 0 || address < objects->ranges[0].start ||
	    address >= objects->ranges[objects->range_count - 1].end ||
	    (address != word && !objects_may_have_tag(objects, word)))
		return HEAP_NO_OBJECT;
	object = objects_find(objects, address);
	if (object == HEAP_NO_OBJECT)
		return object;
	*interior = address - objects_address(objects, object);
	return address == word || *interior == 0 ? object : HEAP_NO_OBJECT;
}

#endif
