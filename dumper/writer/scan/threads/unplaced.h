// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNPLACED_H
#define UNPLACED_H

/**
 * Variables that are somewhere, but debug information does not tell where. gcc often says no more of a local variable that is
 * used after the call in which its frame waits; clang keeps a static pointer in a register if one function alone uses it.
 *
 *	struct loop *loop = loop_create();	a register, then a word of the frame, then nowhere
 *	wait();					here the frame has a pointer to a block of such a size
 *	loop_free(loop);
 *
 * So each block that a word of the frame leads to may be what one of these variables leads to. What it is, contents tell:
 * infer/unplaced_variables.h. Only captures without sites ask.
 */

#include "dumper/writer/scan/modules/modules.h"
#include "dumper/writer/scan/objects.h"
#include "lib/base/array.h"

/** A block that a frame leads to, and what a variable of the frame that is nowhere leads to. */
struct unplaced_target {
	heap_object_id object;
	heap_type_id type; /**< stripped: a struct */
};

struct unplaced {
	struct HEAP_ARRAY(struct unplaced_target) list;
	uint32_t frames; /**< that were looked at */
};

/** A frame whose variables are read. */
struct unplaced_frame {
	const struct module *module;
	uint64_t low, high; /**< its words */
	const struct heap_dwarf_registers *registers;
	struct HEAP_ARRAY(heap_type_id) types; /**< of variables that are nowhere */
};

/** Notes the blocks that a frame leads to, if it has such variables. */
HEAP_MUST_CHECK
struct heap_error *unplaced_note(struct unplaced *unplaced, struct unplaced_frame *frame,
				 const struct heap_types *types, const struct image *image,
				 const struct objects *objects);

#endif
