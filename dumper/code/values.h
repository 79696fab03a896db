// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_VALUES_H
#define HEAPSNAP_VALUES_H

/**
 * The contents of registers and the stack at a place in a function's code, in terms of the values
 * that it was called with: the abstract values of a data-flow analysis.
 *
 * Written for machines one by one: code_x86_64.c, code_aarch64.c. async-signal-safe.
 */

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
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

	HEAPSNAP_VALUE_REGISTERS = 16,
	HEAPSNAP_VALUE_RESULT = HEAPSNAP_RAX,
	HEAPSNAP_VALUE_SP = HEAPSNAP_RSP,
	HEAPSNAP_VALUE_FP = HEAPSNAP_RBP,
	HEAPSNAP_VALUE_CLOBBERED = 0x0fc7, /**< a bit for each register that a call changes */
};
#else
enum {
	HEAPSNAP_VALUE_REGISTERS = 32, /**< x0 to x30, and sp */
	HEAPSNAP_VALUE_RESULT = 0,
	HEAPSNAP_VALUE_SP = 31,
	HEAPSNAP_VALUE_FP = 29,
	HEAPSNAP_VALUE_CLOBBERED = 0x4007ffff,
};
#endif

enum {
	HEAPSNAP_VALUE_PARAMETERS = 6, /**< in registers */
	HEAPSNAP_VALUE_SLOTS = 48,     /**< of 4 bytes each, below the return address */
};

enum heapsnap_value_kind {
	HEAPSNAP_VALUE_OTHER,
	HEAPSNAP_VALUE_CONSTANT,
	HEAPSNAP_VALUE_PARAMETER, /**< or that and a constant, or parameters multiplied */
	HEAPSNAP_VALUE_BLOCK,     /**< what an allocator has returned */
	HEAPSNAP_VALUE_STACK,     /**< an address on the stack */
	/** what a call has left in a register that it may change, but for that of the result: no code reads it */
	HEAPSNAP_VALUE_LOST,
};

struct heapsnap_value {
	uint8_t kind;       /**< enum heapsnap_value_kind */
	uint8_t parameters; /**< a bit for each that it is made of; BLOCK: that its size is */
	int16_t number; /**< CONSTANT: INT16_MAX if larger; STACK: relative to the first sp; BLOCK: offset
				 in it, INT16_MAX if that is not known */
};

struct heapsnap_values {
	struct heapsnap_value registers[HEAPSNAP_VALUE_REGISTERS];
	struct heapsnap_value slots[HEAPSNAP_VALUE_SLOTS];
};

/** The registers of parameters. */
extern const uint8_t heapsnap_parameters[HEAPSNAP_VALUE_PARAMETERS]
	__attribute__((visibility("hidden")));

// --- single values, and operations on them

extern const struct heapsnap_value heapsnap_value_unknown __attribute__((visibility("hidden")));

struct heapsnap_value heapsnap_value_make(enum heapsnap_value_kind kind, uint8_t of,
					  int64_t number);

/** Joins the values of two control-flow paths. */
struct heapsnap_value heapsnap_value_join(struct heapsnap_value a, struct heapsnap_value b);

/** @param sign  -1: subtracted */
struct heapsnap_value heapsnap_value_add(struct heapsnap_value a, struct heapsnap_value b,
					 int sign);

struct heapsnap_value heapsnap_value_multiply(struct heapsnap_value a, struct heapsnap_value b);

/** The slot of an address on the stack; NULL if none is kept. */
struct heapsnap_value *heapsnap_values_slot(struct heapsnap_values *values,
					    struct heapsnap_value address, int64_t displacement);

// --- all of them

/** The values with which a function begins. */
void heapsnap_values_init(struct heapsnap_values *values);

/**
 * Merges the values of two control-flow paths: keeps those that are known on both, or known on one and lost on the
 * other. What is read behind the place where they meet is not lost, so that the call on the other path does not return.
 */
void heapsnap_values_join(struct heapsnap_values *values, const struct heapsnap_values *other);

/** The effect of a call. @param passed  parameters that make up the size of the block; 0: none */
void heapsnap_values_call(struct heapsnap_values *values, uint8_t passed);

#endif
