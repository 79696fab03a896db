// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HELD_PARTS_H
#define HELD_PARTS_H

/**
 * The parts of C++ values that hold something. The others are memory that is not cleared, in which old
 * pointers lie: such words are dead.
 *
 *	std::string            its own buffer, while a long text is elsewhere; of that one, what is behind its letters
 *	std::map, set          the word of what compares, if that is an empty class
 *	std::optional          the value, while there is none
 *	std::variant           what only other alternatives use
 *	std::weak_ptr          all: it holds nothing, but its counts, once the object is gone
 *	their counts           what they led to, when it is gone
 *	std::vector, deque     elements of their blocks before the first and behind the last one
 *	frames of coroutines   variables, once the coroutine has come to its end
 *	dlfo_mappings_segment  elements of its array behind the last one: the modules that glibc knows
 *
 * The words of a value must be consistent before any part of it counts as dead, so that a wrong type
 * costs no pointers.
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/image/page_cache.h"

struct held_parts;

/**
 * @param pages  must live as long as the result, as must @p capture and its table of types
 * @return NULL: memory is short
 */
struct held_parts *held_parts_create(const struct capture *capture, struct pages *pages);

/** NULL is fine. */
void held_parts_destroy(struct held_parts *held);

/** True if a value of a type may have dead words, or own blocks that have. */
bool held_parts_concern(struct held_parts *held, heap_type_id type);

/** True if a word lies in a part that holds nothing. @param address  of the value, or of the first of several */
bool held_parts_is_dead(struct held_parts *held, heap_type_id type, uint64_t address,
			uint64_t offset);

/**
 * Finds the alternative of a std::variant that holds, at an offset of a value: the innermost of several.
 *
 * @param offset  becomes that in the alternative
 * @return its type; HEAP_NO_TYPE if there is none
 */
heap_type_id held_parts_alternative(struct held_parts *held, heap_type_id type, uint64_t address,
				    uint64_t *offset);

/**
 * Notes which elements of a block are in use, if a word of a value is the pointer of a container to it.
 *
 * @param offset  of the word in the value
 * @param target  the object that the word points into
 */
HEAP_MUST_CHECK
struct heap_error *held_parts_note(struct held_parts *held, heap_type_id type, uint64_t address,
				   uint64_t offset, heap_object_id target);

/** The part of a block that is in use. */
struct held_range {
	heap_object_id object;
	uint64_t begin, end; /**< bytes from its start */
};

/**
 * The elements of a block that its container has in use, or that it says itself to have; all if nothing is
 * known.
 *
 * @param address  of the value with which the block begins
 */
struct held_range held_parts_range(struct held_parts *held, heap_type_id type, uint64_t address,
				   heap_object_id object);

/** True if an offset lies in that part. */
static inline bool held_range_has(const struct held_range *range, uint64_t offset)
{
	return offset >= range->begin && offset < range->end;
}

/** True if anything was noted of any block. */
bool held_parts_has_ranges(const struct held_parts *held);

/** A value whose typed pointers are visited: a string's are all in use. */
struct held_value {
	heap_type_id type;
	uint64_t address;
	struct held_range range; /**< of its block */
	bool has_choices;        /**< it may have parts that hold nothing */
	bool has_owners;         /**< it may have containers, for held_parts_note() */
};

/** @param object  that begins there; HEAP_NO_OBJECT if it is a variable */
struct held_value held_parts_value(struct held_parts *held, heap_type_id type, uint64_t address,
				   heap_object_id object);

/** True if a typed pointer of a value lies in a part that holds something. */
bool held_parts_has(struct held_parts *held, const struct held_value *value, uint64_t offset);

#endif
