// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CODE_CASTS_H
#define CODE_CASTS_H

/**
 * Casts in code: what the program takes for a T, though the member that holds it is a void pointer.
 *
 *	struct job *job = node->data;		mov 0x10(%rbx),%rdi
 *
 * Debug information says nothing of an assignment, but it tells in which registers variables are at each address. A
 * load from the register that `node` is in, into the one that `job` is in behind it, is such a cast; so is
 * a store. Where code is not optimized, variables are in memory, and each is loaded before it is used. Void pointers
 * also go through functions: cast_paths.h. Those in an array may have an index:
 *
 *	struct gateway *gateway = connection->contexts[plugin->id];	mov 0x28(%rdi),%rax
 *									mov (%rax,%rdx,8),%rbx
 *
 * A container of anything that is handed to a function together with the pointer tells more: that of one member, or
 * variable, may have one type of values alone.
 *
 *	struct client *client = map_get(office->clients, key);
 *
 * What a member leads to has the type that it is declared with, though no variable has it: `walk->map->slots[i].value`.
 * So has what a function returns, wherever it is put (cast_results.h).
 *
 * (DWARF 5, sections 2.6 and 4.1.)
 */

#include "dumper/writer/casts/cast_paths.h"
#include "lib/dwarf/dwarf_code.h"

/** The roles that the type of a variable has in casts; flags. */
enum cast_role {
	CAST_HOLDER =
		1
		<< 0, /**< a pointer to void pointers, or to a struct with them or arrays of them */
	CAST_TARGET = 1 << 1, /**< a pointer to what may be cast to */
	CAST_VOID = 1 << 2,   /**< a pointer to void */
};

struct code_cast {
	/** The type of a variable, or member, that is a pointer to the struct with the void pointer: its place, or the visitor's number of it. */
	uint64_t holder;
	uint64_t
		target; /**< likewise of a variable, member or result that has the pointer's value */
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
	/** Finds how far the value of a register is from the CFA. @return false if that is not known */
	bool (*frame)(void *context, uint64_t pc, uint8_t reg, int64_t *distance);
	/** Called for each cast; a place may be visited again and again. */
	struct heap_error *(*visit)(void *context, const struct code_cast *cast);
	/** @return true: no more of the code is looked at */
	bool (*is_late)(void *context);
	void *context;
};

/** Visits the casts in the code of a file. Damage costs the functions that it is in. */
HEAP_MUST_CHECK
struct heap_error *code_casts_visit(struct heap_dwarf_file *file,
				    const struct code_cast_visitor *visitor);

#endif
