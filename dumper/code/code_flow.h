// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_CODE_FLOW_H
#define HEAPSNAP_CODE_FLOW_H

/**
 * Where an instruction leads, and its effect on the values of values.h: the machine-dependent part
 * of analyses of code (code_x86_64.c, code_aarch64.c).
 *
 * async-signal-safe.
 */

#include "dumper/code/values.h"

#include <stdbool.h>
#include <stdint.h>

enum heapsnap_flow_kind {
	HEAPSNAP_FLOW_ON,   /**< to the next instruction */
	HEAPSNAP_FLOW_STOP, /**< nowhere that is known: a trap, a switch */
	HEAPSNAP_FLOW_JUMP,
	HEAPSNAP_FLOW_JUMP_IF, /**< or to the next instruction */
	HEAPSNAP_FLOW_CALL,
	HEAPSNAP_FLOW_RETURN,
};

/** Where an instruction leads. */
struct heapsnap_flow {
	uint8_t kind;        /**< enum heapsnap_flow_kind */
	const uint8_t *next; /**< the byte after the instruction */
	uint64_t target;     /**< of a jump or call; 0: through a pointer */
	uint64_t slot;       /**< of the linkage table that holds the target, if not 0 */
};

/** The bytes of an entry in a procedure linkage table that heapsnap_linkage_slot() reads. */
enum {
	HEAPSNAP_LINKAGE_BYTES = 16,
};

/**
 * Takes one instruction.
 *
 * @param values  gets its effect on them, if it leads to the next instruction. NULL: not wanted
 * @param flow    gets where it leads
 * @return false if the bytes are no known instruction, or it does not end before @p end; if only its
 *	effect is not known, flow->next is set, else NULL
 */
bool heapsnap_flow_step(const uint8_t *at, const uint8_t *end, struct heapsnap_values *values,
			struct heapsnap_flow *flow);

/** The memory that an instruction writes to. */
struct heapsnap_store {
	struct heapsnap_value address;
	uint8_t bytes;
};

/**
 * Finds what an instruction stores into.
 *
 * @param values  before the instruction
 * @return false if it is no plain move to memory, or if the address depends on an index
 */
bool heapsnap_flow_store(const uint8_t *at, const uint8_t *end,
			 const struct heapsnap_values *values, struct heapsnap_store *store);

/** The slot through which an entry of a procedure linkage table jumps; 0 if the code is no such entry. */
uint64_t heapsnap_linkage_slot(const uint8_t *code);

/**
 * Where the call before a return address leads to; 0 if it is through a pointer.
 *
 * @param before  bytes of the function's code before the return address
 */
uint64_t heapsnap_call_target(const uint8_t *site, uint64_t before);

/** True if a constant is moved to the first parameter just before that call. */
bool heapsnap_call_has_constant(const uint8_t *site, uint64_t before);

#endif
