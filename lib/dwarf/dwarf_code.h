// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CODE_H
#define HEAP_DWARF_CODE_H

/**
 * The code of a module by its debug information: the unit that an address belongs to, and that
 * unit's functions with their inlined calls, blocks and variables.
 *
 *	function serve [0x1200, 0x1340)         parameters, variables
 *	├─ block [0x1220, 0x1300)               variables
 *	│  └─ inlined find [0x1240, 0x1260)     parameters, variables
 *	└─ inlined log [0x1310, 0x1330)
 *
 * (DWARF 5, sections 3.3 to 3.5.) A unit's DIEs are read once, when its first address is looked up,
 * and kept.
 */

#include "lib/dwarf/dwarf_dies.h"
#include "lib/dwarf/dwarf_file_names.h"
#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_object.h"

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

/** A call from the unit's code, of which it says how parameters were passed. */
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

struct heap_dwarf_code;

/** The code of a file: read once, kept with the file. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_file_code(struct heap_dwarf_file *file,
					struct heap_dwarf_code **result);

/** The unit whose code holds @p pc, an address in the file; NULL if none does. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_find_unit(struct heap_dwarf_code *code, uint64_t pc,
					     const struct heap_dwarf_code_unit **result);

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

/**
 * The next call behind an address: where it returns to, the least such address of the unit above @p pc;
 * 0 if there is none.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_next_call(struct heap_dwarf_code *code, uint64_t pc,
					     uint64_t *result);

/** True if no part of the debug information is in files or sections that could not be read. */
bool heap_dwarf_code_is_complete(const struct heap_dwarf_code *code);

/** The name and type of a function or variable, from its DIE or from one that it completes. */
struct heap_dwarf_description {
	const char *name;         /**< "" if it has none; of the sections, as all texts here */
	const char *linkage_name; /**< "" if it has none */
	const char *file;         /**< where it is declared; "" if unknown */
	uint32_t line;
	uint64_t type; /**< place of its type, or of what it returns */
	/** place of what it is a copy of, or HEAP_DWARF_NOWHERE: inlining makes copies */
	uint64_t original;
	uint64_t root; /**< place of the last of the DIEs that complete each other */
};

HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_describe(struct heap_dwarf_code *code, uint64_t place,
					    struct heap_dwarf_description *result);

/** The function's name as people write it, malloc'd: demangled, without parameters; or NULL. */
char *heap_dwarf_description_name(const struct heap_dwarf_description *entry);

/**
 * Visits the attributes of a DIE of any unit.
 *
 * @param dies  gets the reader of its unit; valid until the next call for this code
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_visit(struct heap_dwarf_code *code, uint64_t place,
					 heap_dwarf_attribute_visitor *visit, void *context,
					 const struct heap_dwarf_dies **dies, uint16_t *tag,
					 bool *children, uint64_t *next);

/**
 * The reader of the unit that a DIE is in; valid until the next call for this code.
 *
 * @return NULL, HEAP_ERROR_FORMAT (no unit is there) or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_dies(struct heap_dwarf_code *code, uint64_t place,
					const struct heap_dwarf_dies **result);

/**
 * libdwarf's view of the file that a unit is in.
 *
 * @param result  gets NULL if libdwarf can make nothing of it
 * @return NULL or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_object(struct heap_dwarf_code *code,
					  const struct heap_dwarf_unit *unit,
					  const struct heap_dwarf_object **result);

/**
 * The path of a file that DIEs of that unit count in: heap_dwarf_file_names_path().
 *
 * @param result  malloc'd; "" if there is none such
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_path(struct heap_dwarf_code *code,
					const struct heap_dwarf_unit *unit, uint64_t number,
					char **result);

/** The name of a file that DIEs of that unit count in; "" if there is none such. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_file(struct heap_dwarf_code *code,
					const struct heap_dwarf_unit *unit, uint64_t number,
					const char **result);

#endif
