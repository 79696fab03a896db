// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_EXPRESSION_H
#define HEAP_DWARF_EXPRESSION_H

/**
 * DWARF expressions, evaluated over a frame of the frozen process.
 *
 * (DWARF 5, sections 2.5 and 2.6.) Stack and steps are bounded, and whatever needs what
 * is not known (a register that a callee lost, another thread's storage) makes the value
 * unavailable; nothing is ever guessed.
 */

#include "lib/dwarf/unwind.h"

struct heap_debug_entries;

struct heap_expression_frame {
	const struct heap_registers *registers;
	uint64_t cfa;  /**< 0: unknown */
	uint64_t bias; /**< of the module: added to addresses that stand in expressions */
	bool has_frame_base;
	uint64_t frame_base; /**< value of the function's DW_AT_frame_base */
	heap_memory_reader *read;
	void *context; /**< of read */
	/** of the unit that the expression stands in; NULL: there are no indexed addresses */
	const struct heap_debug_entries *entries;
	/**
	 * What an expression, a register mostly, gave when the function was entered; NULL if
	 * nothing can tell.
	 */
	bool (*entry_value)(void *context, const uint8_t *bytes, uint64_t size, uint64_t *result);
	void *entry_context;
};

enum heap_expression_kind {
	HEAP_EXPRESSION_ADDRESS,  /**< value is an address of memory */
	HEAP_EXPRESSION_REGISTER, /**< value is a register's number */
	HEAP_EXPRESSION_VALUE,    /**< value is the value itself */
};

struct heap_expression_result {
	enum heap_expression_kind kind;
	bool is_fixed; /**< came from an address in the file: a global's */
	uint64_t value;
};

/**
 * @param bytes    [size] the operations
 * @param initial  what the stack holds before them; NULL: nothing
 * @return whether the expression has a value here
 */
bool heap_expression_evaluate(const uint8_t *bytes, uint64_t size,
			      const struct heap_expression_frame *frame, const uint64_t *initial,
			      struct heap_expression_result *result);

#endif
