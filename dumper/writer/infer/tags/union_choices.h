// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNION_CHOICES_H
#define UNION_CHOICES_H

/**
 * The pointers in unions, and the numbers in the structs around them. One of these numbers may tell the type
 * that a pointer leads to: see union_tags.h.
 */

#include "dumper/writer/infer/inference.h"

enum {
	UNION_LEVELS = 3,   /**< structs around a union that may have its tag, innermost first */
	UNION_NUMBERS = 24, /**< in a struct, that may be the tag */
	UNION_LENGTHS = 4,  /**< numbers beside a pointer in the same alternative of its union */
};

#define UNION_NO_CHOICE UINT32_MAX

/** A number that may be the tag. */
struct union_number {
	heap_type_id type;
	uint32_t offset; /**< in the struct */
	uint8_t size, shift, bits;
	bool is_own;      /**< above the address in the pointer itself */
	bool is_in_union; /**< of its own: where another member holds, other data is there */
};

/** The meaning of a tag's value. */
struct union_meaning {
	uint64_t value;
	heap_type_id type;
	bool is_sure;
	bool is_array; /**< of any number of that type */
	uint32_t
		length; /**< in the choice's lengths: tells that number; UNION_LENGTHS: none does */
};

/** A pointer in a union, in a struct that has numbers. */
struct union_choice {
	heap_type_id holder;  /**< the struct */
	uint64_t offset;      /**< of the pointer in it */
	uint64_t union_start; /**< in it */
	struct union_number numbers[UNION_NUMBERS];
	uint32_t number_count;
	struct union_number
		lengths[UNION_LENGTHS]; /**< may be how many elements the pointer leads to */
	uint32_t length_count;
	uint32_t tag;                   /**< in numbers */
	struct union_meaning *meanings; /**< [meaning_count] */
	uint32_t meaning_count;
	struct union_meaning *named; /**< [named_count] what union_names.h knows */
	uint32_t named_count, named_capacity;
	uint32_t named_tag; /**< in numbers, if there are any */
	bool has_names;     /**< that has been found out */
	bool is_changed;    /**< its pointers are to be followed again */
};

/** The choices for a pointer of a type. */
struct union_place {
	heap_type_id type;
	uint64_t offset;
	uint32_t choices[UNION_LEVELS]; /**< UNION_NO_CHOICE: none */
	uint64_t starts[UNION_LEVELS];  /**< where their structs begin in the type */
};

/**
 * Finds the choices for a pointer in a value.
 *
 * @param address  where the value begins; gets where the one of several begins that has the pointer
 * @param offset   of the pointer in the value
 * @param result   NULL: it is in no union. Valid until the next call
 */
HEAP_MUST_CHECK
struct heap_error *union_choices_find(struct inference *inference, heap_type_id type,
				      uint64_t *address, uint64_t offset,
				      const struct union_place **result);

/** True if objects of a type may have pointers in unions. */
bool union_choices_concern(struct inference *inference, heap_type_id type);

/** Reads all numbers of a choice at once. @param address  of their struct */
void union_choices_read_all(const struct inference *inference, const struct union_choice *choice,
			    uint64_t address, uint64_t values[UNION_NUMBERS]);

/** Reads a number. @param address  of its struct */
uint64_t union_choices_read(const struct inference *inference, const struct union_number *number,
			    uint64_t address);

#endif
