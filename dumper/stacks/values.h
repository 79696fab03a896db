// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_VALUES_H
#define HEAPSNAP_VALUES_H

/**
 * The contents of registers and the stack at a place in a function's code, in terms of the values
 * that it was called with: the abstract values of the data-flow analysis in passing.h.
 *
 * x86-64 alone. async-signal-safe.
 */

#include "dumper/stacks/machine_code.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_RAX,
	HEAPSNAP_RCX,
	HEAPSNAP_RDX,
	HEAPSNAP_RBX,
	HEAPSNAP_RSP,
	HEAPSNAP_RBP,
	HEAPSNAP_RSI,
	HEAPSNAP_RDI,
	HEAPSNAP_R8,
	HEAPSNAP_R9,
	HEAPSNAP_R10,
	HEAPSNAP_R11,

	HEAPSNAP_VALUE_REGISTERS = 16,
	HEAPSNAP_VALUE_PARAMETERS = 6, /**< in registers */
	HEAPSNAP_VALUE_SLOTS = 48,     /**< of 4 bytes each, below the return address */
};

enum heapsnap_value_kind {
	HEAPSNAP_VALUE_OTHER,
	HEAPSNAP_VALUE_CONSTANT,
	HEAPSNAP_VALUE_PARAMETER, /**< or that and a constant, or parameters multiplied */
	HEAPSNAP_VALUE_BLOCK,     /**< what an allocator has returned */
	HEAPSNAP_VALUE_STACK,     /**< an address on the stack */
};

struct heapsnap_value {
	uint8_t kind;       /**< enum heapsnap_value_kind */
	uint8_t parameters; /**< a bit for each that it is made of; BLOCK: that its size is */
	int16_t number;     /**< CONSTANT: INT16_MAX if larger; STACK: relative to the first rsp */
};

struct heapsnap_values {
	struct heapsnap_value registers[HEAPSNAP_VALUE_REGISTERS];
	struct heapsnap_value slots[HEAPSNAP_VALUE_SLOTS];
};

/** The registers of parameters: System V ABI, AMD64 supplement, 3.2.3. */
extern const uint8_t heapsnap_parameters[HEAPSNAP_VALUE_PARAMETERS]
	__attribute__((visibility("hidden")));

/** The values with which a function begins. */
void heapsnap_values_init(struct heapsnap_values *values);

/** Keeps what is known on both of two ways to one place. */
void heapsnap_values_join(struct heapsnap_values *values, const struct heapsnap_values *other);

/**
 * The effect of an instruction that is no jump, call or return.
 *
 * @return false if its effect on the stack or the registers is not known
 */
bool heapsnap_values_step(struct heapsnap_values *values,
			  const struct heapsnap_instruction *instruction);

/** The effect of a call. @param passed  parameters that make up the size of the block; 0: none */
void heapsnap_values_call(struct heapsnap_values *values, uint8_t passed);

#endif
