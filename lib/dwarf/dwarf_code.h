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

#include "lib/dwarf/dwarf_code_unit.h"
#include "lib/dwarf/dwarf_file_names.h"
#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_object.h"

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
 * Visits the code of all units. What was not read before is not kept; a damaged unit is passed over.
 *
 * @param visit  @return false to stop
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_visit_units(
	struct heap_dwarf_code *code,
	bool (*visit)(void *context, const struct heap_dwarf_code_unit *unit), void *context);

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

/**
 * Describes a function or a variable, with what the DIEs that its DIE is a copy or a completion of tell.
 *
 * @param place  of its DIE
 * @return NULL, HEAP_ERROR_FORMAT or HEAP_ERROR_MEMORY
 */
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
