// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FUNCTION_ARGUMENTS_H
#define HEAP_DWARF_FUNCTION_ARGUMENTS_H

/**
 * The types that a function was instantiated for: the arguments of its template and of the classes that it is a
 * member of.
 *
 * Code that erases types has only these to tell what a void pointer leads to. Its parameters are void pointers, and where it is
 * optimized no variable is left that has the type.
 */

#include "lib/dwarf/dwarf_answers.h"
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_templates.h"

/** The arguments in one unit after the other: the last unit's are kept. Zeros; deinit frees them. */
struct heap_dwarf_function_arguments {
	const struct heap_dwarf_unit *unit; /**< NULL: none */
	struct heap_dwarf_templates templates;
	struct HEAP_ARRAY(
		uint64_t) types; /**< of the last function: places, innermost first, each once */
	bool is_complete;        /**< nothing was missing: another look finds the same */
};

/**
 * Finds the arguments of the function that begins at an address; those of code in the middle of one are none.
 *
 * Functions of one unit should be asked for one after the other.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_function_arguments_find(
	struct heap_dwarf_function_arguments *arguments, struct heap_dwarf_code *code, uint64_t pc);

/** Finds in the cache what heap_dwarf_function_arguments_find() once gave. @return false if it is not there */
bool heap_dwarf_function_arguments_recall(struct heap_dwarf_function_arguments *arguments,
					  struct heap_dwarf_answers *cache, uint64_t pc);

/** Adds those of the last function to the cache, unless they are incomplete or the cache is full. */
void heap_dwarf_function_arguments_note(const struct heap_dwarf_function_arguments *arguments,
					struct heap_dwarf_answers *cache, uint64_t pc);

void heap_dwarf_function_arguments_deinit(struct heap_dwarf_function_arguments *arguments);

#endif
