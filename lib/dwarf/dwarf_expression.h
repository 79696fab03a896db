// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_EXPRESSION_H
#define HEAP_DWARF_EXPRESSION_H

/**
 * DWARF expressions: decoded by libdwarf, evaluated over a frame of the frozen process.
 *
 * (DWARF 5, sections 2.5 and 2.6.) Stack and steps are bounded, and whatever needs an unknown
 * value (a register that a callee lost, another thread's storage) makes the result unavailable;
 * nothing is ever guessed.
 */

#include "lib/base/array.h"
#include "lib/dwarf/dwarf_object.h"
#include "lib/dwarf/dwarf_registers.h"

struct heap_dwarf_dies;
struct Dwarf_Locdesc_c_s;

struct heap_dwarf_operation {
	uint64_t operands[2];
	uint32_t offset; /**< in the expression, for branches */
	uint8_t code;    /**< DW_OP_... */
};

/** Operations of any number of expressions, one expression after the other. */
struct heap_dwarf_operations HEAP_ARRAY(struct heap_dwarf_operation);

/** An expression: some of these. No operations: it was empty or damaged, and has no value. */
struct heap_dwarf_expression {
	const struct heap_dwarf_operation *operations; /**< [count] */
	size_t count;
};

/**
 * Decodes an expression and appends its operations; none if it is damaged.
 *
 * @param bytes    [size]
 * @param dies     of the unit that it stands in; NULL: there are no indexed addresses
 * @return NULL or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_expression_decode(const struct heap_dwarf_object *object,
						const uint8_t *bytes, uint64_t size,
						const struct heap_dwarf_dies *dies,
						struct heap_dwarf_operations *result);

/** The same of an entry of libdwarf's location lists. @param count  of operations, says libdwarf */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_expression_append(const struct heap_dwarf_object *object,
						struct Dwarf_Locdesc_c_s *entry, uint64_t count,
						const struct heap_dwarf_dies *dies,
						struct heap_dwarf_operations *result);

struct heap_dwarf_expression_frame {
	const struct heap_dwarf_registers *registers;
	uint64_t cfa;  /**< 0: unknown */
	uint64_t bias; /**< of the module: added to addresses that stand in expressions */
	bool has_frame_base;
	uint64_t frame_base; /**< value of the function's DW_AT_frame_base */
	heap_dwarf_memory_reader *read;
	void *context; /**< of read */
	/**
	 * Finds the value that an expression, a register mostly, had when the function was entered;
	 * NULL if nothing can tell. The operation's operands are the size of that expression and the
	 * address of its bytes, unless the caller has replaced them (dwarf_layout.h).
	 */
	bool (*entry_value)(void *context, const struct heap_dwarf_operation *operation,
			    uint64_t *result);
	void *entry_context;
};

enum heap_dwarf_expression_kind {
	HEAP_DWARF_EXPRESSION_ADDRESS,  /**< value is an address of memory */
	HEAP_DWARF_EXPRESSION_REGISTER, /**< value is a register's number */
	HEAP_DWARF_EXPRESSION_VALUE,    /**< value is the value itself */
};

struct heap_dwarf_expression_result {
	enum heap_dwarf_expression_kind kind;
	bool is_fixed; /**< came from an address in the file: a global's */
	uint64_t value;
};

/**
 * @param initial  on the stack before the first operation; NULL: nothing
 * @return true if the expression has a value here
 */
bool heap_dwarf_expression_evaluate(struct heap_dwarf_expression expression,
				    const struct heap_dwarf_expression_frame *frame,
				    const uint64_t *initial,
				    struct heap_dwarf_expression_result *result);

#endif
