// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LOCALS_H
#define HEAP_DWARF_LOCALS_H

/**
 * The local variables and parameters of a frame that are live at its pc, and where they are: a layout
 * (dwarf_layout.h), evaluated for one frame.
 *
 * A variable is listed only if its location holds at this very pc, since a dead slot would name
 * types wrongly; or if it was in memory until the call that the frame stands in, which leaves it
 * alone. (DWARF 5, sections 2.5, 2.6 and 3.3.)
 */

#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_layout.h"
#include "lib/dwarf/dwarf_unwind.h"

enum heap_dwarf_location_kind {
	HEAP_DWARF_LOCATION_MEMORY,   /**< at address */
	HEAP_DWARF_LOCATION_REGISTER, /**< in a register of the frame; if that was saved by a callee,
				     kind is MEMORY with the address it was saved at */
	HEAP_DWARF_LOCATION_VALUE,    /**< nowhere, but its value is known */
	HEAP_DWARF_LOCATION_NOWHERE, /**< it is in scope, but where it is is not known, if it is anywhere */
};

struct heap_dwarf_local {
	char *name;     /**< malloc'd */
	char *function; /**< malloc'd: the (inlined) function whose variable it is */
	char *file;     /**< malloc'd, "" if unknown: where it is declared */
	uint32_t line;
	uint64_t type;     /**< place of its type's DIE (dwarf_units.h); 0 if it has none */
	uint8_t kind;      /**< enum heap_dwarf_location_kind */
	uint8_t reg;       /**< DWARF number */
	bool may_be_unset; /**< see struct heap_dwarf_layout_variable */
	uint64_t address;
	uint64_t value;
};

struct heap_dwarf_locals {
	struct heap_dwarf_local *locals; /**< [count] innermost scope first */
	size_t count;
};

/** The frame whose locals are wanted. */
struct heap_dwarf_locals_frame {
	uint64_t pc;    /**< address in the file; for a caller: return address minus 1 */
	bool is_caller; /**< it stands in a call, whose instruction ends behind the pc */
	uint64_t bias;  /**< of the module */
	uint64_t cfa;
	const struct heap_dwarf_registers *registers;
	const struct heap_dwarf_registers *caller; /**< its caller's; NULL if it has none */
	bool with_nowhere; /**< variables that are nowhere are listed, too */
	heap_dwarf_memory_reader *read;
	void *context;
};

/** The place whose layout is that of a frame. */
struct heap_dwarf_layout_place heap_dwarf_locals_place(const struct heap_dwarf_locals_frame *frame);

/** Finds the locals of a frame by its layout. @return NULL (also if there are none) or MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_locals_evaluate(const struct heap_dwarf_layout *layout,
					      const struct heap_dwarf_locals_frame *frame,
					      struct heap_dwarf_locals *result);

/** Finds the layout of a frame and its locals. @return NULL (also if there are none), FORMAT or MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_locals_find(struct heap_dwarf_file *file,
					  const struct heap_dwarf_locals_frame *frame,
					  struct heap_dwarf_locals *result);

void heap_dwarf_locals_deinit(struct heap_dwarf_locals *locals);

#endif
