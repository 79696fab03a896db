// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_SITE_TYPES_H
#define HEAP_DWARF_SITE_TYPES_H

/**
 * The types that the code at an allocation site handles.
 *
 *	struct session *session_new(struct server *server)
 *	{
 *		struct session *session = xmalloc(sizeof(*session));
 *
 * The block that xmalloc() returns there is likely to be a session or a server: one of the types of
 * variables, parameters and results of each function at that address. All variables of the function
 * count, wherever they are and whether or not they live at that address: the variable that gets the
 * block has no place yet when the block is allocated. But those of another branch, whose block of code does not have
 * that address, do not.
 */

#include "lib/dwarf/dwarf_answers.h"
#include "lib/dwarf/dwarf_code.h"

enum heap_dwarf_site_type_kind {
	HEAP_DWARF_SITE_LOCAL,
	HEAP_DWARF_SITE_PARAMETER,
	HEAP_DWARF_SITE_RETURN,
};

struct heap_dwarf_site_type {
	uint64_t type; /**< place of the variable's type, or of what the function returns */
	uint8_t depth; /**< 0: the innermost inlined function at the pc, 1: that it is in, ... */
	uint8_t kind;  /**< enum heap_dwarf_site_type_kind */
	uint32_t line; /**< of the declaration; 0 if unknown */
};

struct heap_dwarf_site_types {
	struct heap_dwarf_site_type *types; /**< [count] innermost function first, as declared */
	size_t count, capacity;
	uint8_t functions; /**< at the pc: one, and those inlined there; 0: nothing is known of it */
	bool is_complete;  /**< nothing was missing, so that another look finds the same */
};

/** @param pc  address in the file: a return address minus 1 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_site_types_find(struct heap_dwarf_code *code, uint64_t pc,
					      struct heap_dwarf_site_types *result);

/** Finds in the cache what heap_dwarf_site_types_find() once gave. @return false if it is not there */
bool heap_dwarf_site_types_recall(struct heap_dwarf_answers *cache, uint64_t pc,
				  struct heap_dwarf_site_types *result);

/** Adds types that are not in the cache, unless they are incomplete or the cache is full. */
void heap_dwarf_site_types_note(struct heap_dwarf_answers *cache, uint64_t pc,
				const struct heap_dwarf_site_types *types);

void heap_dwarf_site_types_deinit(struct heap_dwarf_site_types *types);

#endif
