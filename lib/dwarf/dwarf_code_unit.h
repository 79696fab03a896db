// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CODE_UNIT_H
#define HEAP_DWARF_CODE_UNIT_H

/** The functions of one unit, with their inlined calls, blocks and variables, as dwarf_code.h keeps them. */

#include "lib/dwarf/dwarf_dies.h"

enum heap_dwarf_code_kind {
	HEAP_DWARF_CODE_FUNCTION,
	HEAP_DWARF_CODE_INLINED, /**< a copy of a function, inside another */
	HEAP_DWARF_CODE_BLOCK,
};

enum {
	HEAP_DWARF_CODE_DEPTH = 64, /**< scopes inside each other that are told apart */
};

#define HEAP_DWARF_CODE_NONE UINT32_MAX

struct heap_dwarf_code_scope {
	uint64_t place;
	uint32_t parent;         /**< in scopes; HEAP_DWARF_CODE_NONE of a function */
	uint32_t end;            /**< scopes before this one, from the next on, are inside it */
	uint32_t first_range;    /**< in ranges */
	uint32_t range_count;    /**< 0: it was optimized away */
	uint32_t first_variable; /**< in variables: its own and those of scopes inside it */
	uint32_t end_variable;
	uint32_t call_file, call_line; /**< inlined: where it is called */
	uint8_t kind;                  /**< enum heap_dwarf_code_kind */
};

struct heap_dwarf_code_range {
	uint64_t low, high;
	uint32_t scope;
};

/** A call from the unit's code, with DIEs for the values of its parameters. */
struct heap_dwarf_code_call {
	uint64_t pc; /**< return address */
	uint64_t place;
};

struct heap_dwarf_code_variable {
	uint64_t place;
	uint32_t scope;
	bool is_parameter;
};

struct heap_dwarf_code_unit {
	const struct heap_dwarf_unit *unit;      /**< that has the DIEs */
	const struct heap_dwarf_unit *skeleton;  /**< that has the line table; the same, mostly */
	uint64_t base;                           /**< DW_AT_low_pc */
	struct heap_dwarf_code_scope *scopes;    /**< [scope_count] in the order of the DIEs */
	struct heap_dwarf_code_range *ranges;    /**< [range_count] by scope */
	struct heap_dwarf_code_range *functions; /**< [function_count] their ranges, by address */
	struct heap_dwarf_code_variable
		*variables;                 /**< [variable_count] in the order of the DIEs */
	struct heap_dwarf_code_call *calls; /**< [call_count] by address */
	uint32_t scope_count, range_count, function_count, variable_count, call_count;
	uint32_t scope_capacity, range_capacity, variable_capacity, call_capacity;
};

/**
 * Reads the DIEs of a unit.
 *
 * @param dies   turned to the unit
 * @param skeleton  the unit that stands for it in the main file, or itself
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_unit_read(const struct heap_dwarf_dies *dies,
					     const struct heap_dwarf_unit *skeleton,
					     struct heap_dwarf_code_unit **result);

/** NULL is fine. */
void heap_dwarf_code_unit_destroy(struct heap_dwarf_code_unit *unit);

/**
 * The scopes of a unit that hold @p pc.
 *
 * @param result  [HEAP_DWARF_CODE_DEPTH] gets indexes in unit->scopes, outermost first
 * @return how many
 */
size_t heap_dwarf_code_unit_find(const struct heap_dwarf_code_unit *unit, uint64_t pc,
				 uint32_t *result);

/** The call that returns to @p pc, or NULL. */
const struct heap_dwarf_code_call *heap_dwarf_code_unit_call(
	const struct heap_dwarf_code_unit *unit, uint64_t pc);

#endif
