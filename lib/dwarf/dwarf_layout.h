// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LAYOUT_H
#define HEAP_DWARF_LAYOUT_H

/**
 * The layout of a frame: the variables and parameters at a pc, and the expressions that locate them.
 *
 *	layout, of all frames at a pc ──registers, memory──▶ locals of one frame (dwarf_locals.h)
 *
 * It depends on nothing but the file, so it can be cached (dwarf_answers.h). Scopes are searched from the
 * function to the innermost block, inlined functions included. (DWARF 5, sections 2.6 and 3.3.)
 */

#include "lib/dwarf/dwarf_answers.h"
#include "lib/dwarf/dwarf_expression.h"
#include "lib/dwarf/dwarf_file.h"

/** Operations of the layout; none: there is no expression. */
struct heap_dwarf_layout_expression {
	uint32_t first, count;
};

/** A variable in one of the places where it may be. Several places of one variable follow each other. */
struct heap_dwarf_layout_variable {
	const char *name;
	const char *function; /**< the (inlined) function whose variable it is */
	const char *file;     /**< "" if unknown: where it is declared */
	uint32_t line;
	uint64_t type; /**< place of its type's DIE (dwarf_units.h); 0 if it has none */
	/**
	 * 0, or where the call begins until which it was there, an address in the file. It is still there
	 * if the frame stands in that call, and if the place is in memory.
	 */
	uint64_t call;
	bool is_alternative; /**< another such place of the variable before it; the first counts */
	/**
	 * A local variable of an inlined function that is in one place wherever it is in scope. Something else is there
	 * until the code sets it.
	 */
	bool may_be_unset;
	bool is_nowhere; /**< it is in scope, but in no place that is known; it has no location */
	struct heap_dwarf_layout_expression location;
	struct heap_dwarf_layout_expression frame_base; /**< of the function that is not inlined */
};

/**
 * Strings are those of the file or of the cache: valid as long as the file is open, or until an answer is
 * added to the cache.
 *
 * DW_OP_entry_value has other operands than in the file: the layout's expression, for the caller's frame,
 * of what was passed. Nothing is known of that if it is empty.
 */
struct heap_dwarf_layout {
	struct HEAP_ARRAY(
		struct heap_dwarf_layout_variable) variables; /**< outermost scope first */
	struct heap_dwarf_operations operations;
	struct HEAP_ARRAY(char *) names; /**< of functions, if these are the layout's own */
	/** True if nothing was missing, so that another look finds the same. */
	bool is_complete;
};

/** The frames that a layout is of. */
struct heap_dwarf_layout_place {
	uint64_t pc;    /**< address in the file; for a caller: return address minus 1 */
	bool is_caller; /**< it stands in a call, whose instruction ends behind the pc */
	uint64_t
		return_pc; /**< of its caller: address in the file; 0: unknown, or of another file */
};

/** @return NULL (also if there are none), FORMAT or MEMORY; @p result is empty then */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_layout_find(struct heap_dwarf_file *file,
					  const struct heap_dwarf_layout_place *place,
					  struct heap_dwarf_layout *result);

/** Finds in the cache what heap_dwarf_layout_find() once gave. @return false if it is not there */
bool heap_dwarf_layout_recall(struct heap_dwarf_answers *cache,
			      const struct heap_dwarf_layout_place *place,
			      struct heap_dwarf_layout *result);

/** Adds a layout that is not in the cache, unless it is incomplete or the cache is full. */
void heap_dwarf_layout_note(struct heap_dwarf_answers *cache,
			    const struct heap_dwarf_layout_place *place,
			    const struct heap_dwarf_layout *layout);

void heap_dwarf_layout_deinit(struct heap_dwarf_layout *layout);

#endif
