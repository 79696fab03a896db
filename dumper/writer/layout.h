// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LAYOUT_H
#define LAYOUT_H

/**
 * What inference asks of types: where pointers are in them, what they are parts of, and
 * how a type fits into a block of a given size.
 */

#include "lib/snapshot.h"

/** A place inside a type that holds a pointer. */
struct layout_slot {
	uint64_t offset;
	heap_type_id pointee; /**< stripped; HEAP_NO_TYPE for void * */
};

struct layout_slots {
	struct layout_slot *slots; /**< [count] by offset; of a union, several at one */
	uint32_t count;
	bool known; /**< has been worked out */
};

/** A type that has another one as a part, at any depth. */
struct layout_part {
	heap_type_id part;
	heap_type_id whole;
	uint64_t offset;
};

struct layouts {
	const struct heap_types *types;
	struct layout_slots *slots; /**< [types->count] */
	struct layout_part *parts;  /**< [part_count] by part, by offset */
	uint8_t *header; /**< [types->count] private: whether structs begin with its members */
	size_t part_count, part_capacity;
};

/** How well a type fits a block, best first; also the order in which claims are heard. */
enum layout_fit {
	LAYOUT_EXACT,    /**< the very size */
	LAYOUT_FLEXIBLE, /**< header and elements of a flexible array member */
	LAYOUT_EMBEDDED, /**< the block is the only type of its size that has the part there */
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

HEAP_MUST_CHECK
struct heap_error *layouts_init(struct layouts *layouts, const struct heap_types *types);

void layouts_deinit(struct layouts *layouts);

/** The pointers in one value of @p type. NULL if memory is short. */
const struct layout_slots *layouts_slots(struct layouts *layouts, heap_type_id type);

/** Whether a block's pointers agree with its being of a type: chooses among several. */
struct layout_witness {
	bool (*agrees)(void *context, heap_type_id type);
	void *context;
};

/**
 * What a block of @p size bytes is, if something of type @p pointee is at @p interior.
 *
 * fit is LAYOUT_NONE where that says nothing: void, an incomplete type, a size that
 * cannot be, or several types that could equally well be the whole, of which the witness
 * does not rule out all but one.
 */
struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee,
				uint64_t interior, uint64_t size,
				const struct layout_witness *witness);

#endif
