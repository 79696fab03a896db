// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CODE_CAST_VISITOR_H
#define CODE_CAST_VISITOR_H

/** The visitor to whom code_casts.h tells each cast, and whom it asks about types and code. */

#include "dumper/writer/casts/cast_paths.h"

/** The roles that the type of a variable has in casts; flags. */
enum cast_role {
	/** A pointer to void pointers, or to a struct with them or arrays of them. */
	CAST_HOLDER = 1 << 0,
	CAST_TARGET = 1 << 1, /**< a pointer to what may be cast to */
	CAST_VOID = 1 << 2,   /**< a pointer to void */
};

struct code_cast {
	/**
	 * The type of a variable, or member, that is a pointer to the struct with the void pointer: its place, or
	 * the visitor's number of it.
	 */
	uint64_t holder;
	uint64_t target; /**< likewise, of a variable, member or result that is the pointer */
	uint32_t offset; /**< of the void pointer, maybe: in any case what is moved is there */
	bool is_element; /**< it is an element of the array that what is there leads to */
	struct cast_container container; /**< that this is for; zeros: it is not known */
};

struct code_cast_visitor {
	/** Reads code. @param address  in the file @return false if it is not all there */
	bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/** The roles of a type by its place or number, enum cast_role. */
	unsigned (*role)(void *context, uint64_t type);
	/**
	 * The visitor's number, no place, of the type of a member that is a pointer; 0: it is none, or in a union.
	 *
	 * @param holder  type of a pointer to the struct
	 */
	uint64_t (*member)(void *context, uint64_t holder, uint32_t offset);
	/** Likewise of a pointer in static memory, at an address in the file. */
	uint64_t (*variable)(void *context, uint64_t address);
	/**
	 * Likewise of what leads to the struct in static memory that an address lies in, or to the element of an array of
	 * structs; 0: there is none.
	 *
	 * @param inner  gets the offset of the address in the struct
	 */
	uint64_t (*statics)(void *context, uint64_t address, uint32_t *inner);
	/** Code is at its address in the file: constants in it may be addresses of static memory. */
	bool is_fixed;
	/** Finds how far the value of a register is from the CFA. @return false if that is not known */
	bool (*frame)(void *context, uint64_t pc, uint8_t reg, int64_t *distance);
	/** Called for each cast; a place may be visited again and again. */
	struct heap_error *(*visit)(void *context, const struct code_cast *cast);
	/** @return true: no more of the code is looked at */
	bool (*is_late)(void *context);
	void *context;
};

#endif
