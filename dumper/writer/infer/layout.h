// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LAYOUT_H
#define LAYOUT_H

/**
 * The layout of types for inference: where their pointers are, what they are parts of, and how a
 * type fits into a block of a given size.
 */

#include "dumper/writer/infer/part_answers.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "lib/types/slots.h"
#include "lib/snapshot/snapshot.h"

/** A type that has another one as a part, at any depth. */
struct layout_part {
	heap_type_id part;
	heap_type_id whole;
	uint64_t offset;
	uint64_t size; /**< the whole's; of a flexible one, without its elements */
};

/** Parts in the order of part, offset, size, whole. */
struct layout_index {
	struct layout_part *parts; /**< [count] */
	size_t count, capacity;
};

enum {
	LAYOUT_LEAST_PAGE = 1024, /**< bytes of a page of slots */
};

/** Facts about each type that are needed again and again. */
struct layout_facts {
	uint64_t size;         /**< bytes; 0: unknown */
	uint64_t start;        /**< bytes before the elements of a flexible array at its end */
	heap_type_id element;  /**< of that array, not stripped */
	heap_type_id stripped; /**< the type without typedefs and qualifiers */
	uint64_t bits;         /**< of an enum: those that its enumerators have */
	bool is_flexible;      /**< there is such an array */
	bool is_page;  /**< its elements are unions of structs with tags: see enum_tags_init() */
	bool fits_any; /**< blocks may have any number of its elements */
	bool is_candidate; /**< a block may be one: see find_candidates() */
	bool is_beginning; /**< other types begin with it */
	bool is_base;      /**< classes are derived from it, and begin with it */
	bool is_ordered;   /**< members neither begin nor end before those before them */
	bool is_compound;  /**< it has members: see layouts_is_compound() */
	bool is_link;      /**< see layouts_is_link() */
	bool has_copies;   /**< there is another one that layouts_is_copy() is true for */
};

struct layouts {
	const struct heap_types *types;
	struct heap_slot_table slots;
	struct layout_index index; /**< all parts */
	struct layout_index
		rivals; /**< those at the start, but for held ones: see held_members.h */
	struct layout_index flexible; /**< those of wholes whose number of elements is open */
	struct layout_facts *facts;   /**< [types->count] */
	uint8_t *bytes;  /**< [types->count] private: whether there are arrays of bytes in it */
	uint8_t *header; /**< [types->count] private: whether structs begin with its members */
	enum heap_block_sizes block_sizes;
	struct part_answers answers; /**< private: of layouts_has() */
};

/** Inheritance in C: if other structs begin with the members of a struct. */
enum layout_header {
	LAYOUT_HEADER_NONE,
	LAYOUT_HEADER,
	LAYOUT_HEADER_OF_ANY_SIZE, /**< of a struct with a flexible array */
};

/** How well a type fits a block, best first. */
enum layout_fit {
	LAYOUT_EXACT,    /**< the very size */
	LAYOUT_FLEXIBLE, /**< header and elements of a flexible array member */
	LAYOUT_ARRAY,    /**< a whole number of elements */
	LAYOUT_TEXT,     /**< characters */
	LAYOUT_SLACK,    /**< elements and a rest */
	LAYOUT_ELEMENT,  /**< an element in the middle of an array */
	LAYOUT_NONE,
};

struct layout_claim {
	enum layout_fit fit;
	heap_type_id type;
	uint64_t elements;
};

/** layouts_deinit() frees the layouts, also after an error. */
HEAP_MUST_CHECK
struct heap_error *layouts_init(struct layouts *layouts, const struct heap_types *types);

void layouts_deinit(struct layouts *layouts);

/**
 * The fit of a block of @p size bytes, if a slot that may point to a @p pointee points to its
 * start: EXACT, FLEXIBLE or NONE. void and incomplete types fit nothing.
 *
 * @param slack  bytes of these that the program may not have requested
 */
struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee, uint64_t size,
				uint64_t slack);

/**
 * The fit of a block that is only known to have a @p pointee at @p interior: ARRAY, TEXT, SLACK,
 * ELEMENT or NONE.
 */
struct layout_claim layouts_fit_weakly(const struct layouts *layouts, heap_type_id pointee,
				       uint64_t interior, uint64_t size, uint64_t slack);

/** True if there is a @p part at @p offset of a @p whole, at any depth; or it is the whole. */
bool layouts_has(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
		 uint64_t offset);

/** True for one struct in two versions, whose pointers lead to different nodes: see type_copies.h. */
bool layouts_is_copy(const struct layouts *layouts, heap_type_id one, heap_type_id other);

/** The first pointer that a type has to its own kind; NULL: it has none. */
const struct heap_slot *layouts_own_pointer(const struct layouts *layouts, heap_type_id type);

/** True if a type is nothing but several values of another one, one behind the other. */
bool layouts_consists_of(const struct layouts *layouts, heap_type_id whole, heap_type_id element);

/** True if there is a pointer to @p pointee at @p offset of a @p whole. */
bool layouts_has_pointer(const struct layouts *layouts, heap_type_id whole, uint64_t offset,
			 heap_type_id pointee);

/**
 * True if a value has at an offset what a node begins with: the sentinel that a library's list or tree ends with, and leads
 * to while it is empty.
 */
bool layouts_has_sentinel(const struct layouts *layouts, heap_type_id whole, uint64_t offset,
			  heap_type_id node);

/**
 * The first member of a union that has all of its bytes, as that of a union which only delays a constructor; any other
 * type as it is.
 */
heap_type_id layouts_whole_member(const struct layouts *layouts, heap_type_id type);

/** True for a struct of whole numbers alone, and no single bytes: anything can be read as one. */
bool layouts_has_integers_alone(const struct layouts *layouts, heap_type_id id);

/** True if any part of a type is an array of bytes, which programs use for any data. */
bool layouts_has_raw(const struct layouts *layouts, heap_type_id whole);

/** True if @p offset lies in such an array. */
bool layouts_is_raw(const struct layouts *layouts, heap_type_id whole, uint64_t offset);

/**
 * The type of the member, or of the element of an array, that an offset of a type lies in; HEAP_NO_TYPE: in none.
 *
 * @param offset  becomes that in the member
 */
heap_type_id layouts_step_in(const struct layouts *layouts, heap_type_id id, uint64_t *offset);

/* --- the index of parts: layout_index.c --- */

HEAP_MUST_CHECK
struct heap_error *layouts_index_init(struct layouts *layouts);

void layouts_index_deinit(struct layouts *layouts);

/** True if the index knows a @p part at @p offset of a @p whole. */
bool layouts_is_indexed(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
			uint64_t offset);

/** True if a type is a part of others that is not at their start. */
bool layouts_is_part_inside(const struct layouts *layouts, heap_type_id part);

/** Types, [at] to [end), that have a certain part at a certain place. */
struct layout_wholes {
	const struct layout_part *at, *end;
};

/** The types of @p size bytes, or up to @p slack less, that have a @p part at @p offset. */
struct layout_wholes layouts_exact_wholes(const struct layouts *layouts, heap_type_id part,
					  uint64_t offset, uint64_t size, uint64_t slack);

/** The types of less than @p size bytes that have a @p part at @p offset. */
struct layout_wholes layouts_smaller_wholes(const struct layouts *layouts, heap_type_id part,
					    uint64_t offset, uint64_t size);

/** The types with a flexible array that have a @p part at @p offset, and fit into @p size bytes. */
struct layout_wholes layouts_flexible_wholes(const struct layouts *layouts, heap_type_id part,
					     uint64_t offset, uint64_t size);

/**
 * True for a struct that has numbers with fractions alone, as points and colours are. It has nothing that tells what
 * goes on behind it: more of its kind, mostly.
 */
bool layouts_has_fractions_alone(const struct layouts *layouts, heap_type_id id);

/**
 * True for a struct of nothing but pointers to its own kind: the link of a list, of free blocks for one, which
 * lies over memory that is something else. It is never what an array is made of. Nor is a union of such a pointer and
 * bytes, by which programs cut up memory.
 */
static inline bool layouts_is_link(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].is_link;
}

/**
 * True if a pointer to the start of a block of @p size bytes does not say that it is a @p type: a larger
 * one that begins with it fits as well, or it is but a link. Only where sizes are not exact.
 */
bool layouts_is_ambiguous(const struct layouts *layouts, heap_type_id type, uint64_t size,
			  uint64_t slack);

/** True if a block of @p size bytes, or up to @p slack less, may be of a type that begins with a @p type. */
bool layouts_is_begun_by(const struct layouts *layouts, heap_type_id type, uint64_t size,
			 uint64_t slack);

/** A type's size in bytes, as heap_types_size() has it. */
static inline uint64_t layouts_size(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].size;
}

/** The bytes of a block of @p size that may be beyond the requested size. */
static inline uint64_t layouts_slack(const struct layouts *layouts, uint64_t size)
{
	return heap_block_slack(layouts->block_sizes, size);
}

/** The type of an array's elements, which are no arrays themselves; any other type as layouts_strip() has it. */
heap_type_id layouts_element(const struct layouts *layouts, heap_type_id type);

/** True if classes are derived from a type, and begin with it. */
static inline bool layouts_is_base(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].is_base;
}

/** A type without typedefs and qualifiers, as heap_types_strip() has it. */
static inline heap_type_id layouts_strip(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].stripped;
}

/** True if there is a flexible array at a type's end, as heap_types_flexible() has it. */
static inline bool layouts_is_flexible(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].is_flexible;
}

/**
 * True if a value may be one of an enum: one of its enumerators, or several of them combined.
 *
 * @param mask  the bits that the enum has
 */
bool layouts_is_enumerator(const struct layouts *layouts, heap_type_id type, uint64_t value,
			   uint64_t mask);

/** True if it has members: a struct, class or union whose definition is known. */
static inline bool layouts_is_compound(const struct layouts *layouts, heap_type_id type)
{
	return layouts->facts[type].is_compound;
}

/** True for a class with virtual functions: its objects begin with a pointer to their table. */
static inline bool layouts_is_polymorphic(const struct layouts *layouts, heap_type_id type)
{
	return layouts->types->types[layouts->facts[type].stripped].flags & HEAP_TYPE_POLYMORPHIC;
}

bool layouts_is_pointer(const struct layouts *layouts, heap_type_id type);

/** True if it is one byte wide, as the elements of texts are. */
bool layouts_is_character(const struct layouts *layouts, heap_type_id type);

/** True if the first of two types at one place has the second as its first part. */
bool layouts_says_more(const struct layouts *layouts, heap_type_id more, heap_type_id less);

/** Less than a pointer's alignment into a block is a tag in the low bits, not a place. */
static inline bool layouts_is_start(uint64_t interior)
{
	return interior < 8;
}

#endif
