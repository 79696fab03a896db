// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MOVES_H
#define MOVES_H

/**
 * The instructions by which pointers get from place to place: loads, stores, copies, calls and returns.
 *
 * Where they lead is code_flow.h's to say. (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, MOV;
 * Arm Architecture Reference Manual for A-profile, LDR and STR (immediate, unsigned offset), MOV (register),
 * ADRP.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#if defined(__x86_64__)
	MOVE_ALIGNMENT = 1, /**< of instructions */
	MOVE_PARAMETERS = 6,
	MOVE_FRAME_POINTER = 6, /**< DWARF number of the register that frames are addressed by */
	MOVE_STACK_POINTER = 7, /**< likewise of that which leads to the stack's top */
	MOVE_CFA = 16,          /**< bytes from that register to the CFA */
#else
	MOVE_ALIGNMENT = 4,
	MOVE_PARAMETERS = 8,
	MOVE_FRAME_POINTER = 29,
	MOVE_STACK_POINTER = 31,
	MOVE_CFA = 0, /**< where a frame ends is not the same in all functions */
#endif
	MOVE_RESULT = 0, /**< register of what a function returns */
	MOVE_VECTORS =
		17, /**< x86-64: DWARF number of the first vector register, whose lower half counts */
	MOVE_HIGHER = MOVE_VECTORS + 16, /**< and numbers of our own for the higher halves */
	MOVE_REGISTERS = MOVE_HIGHER + 16,
	MOVE_NO_REGISTER = 0xff,
};

enum move_kind {
	MOVE_OTHER, /**< it may change registers */
	MOVE_LOAD,
	MOVE_STORE,
	MOVE_COPY,    /**< from the base register */
	MOVE_ADDRESS, /**< what a LOAD would read from, or the base and a constant */
	/* These three, in this order, have an address of static memory as their target. */
	MOVE_VARIABLE,       /**< that address itself */
	MOVE_LOAD_VARIABLE,  /**< what is there */
	MOVE_STORE_VARIABLE, /**< the other way */
	MOVE_ADD,            /**< of the base register to the value's */
	MOVE_CALL,
	MOVE_BRANCH, /**< maybe to its target */
	MOVE_JUMP,   /**< to a place that is known: another function, if it is that one's */
	MOVE_RETURN,
};

/** The effect of an instruction on 64 bits, or twice as many. Registers have their DWARF numbers. */
struct code_move {
	uint8_t kind;   /**< enum move_kind */
	uint8_t value;  /**< register that is loaded, stored or copied to */
	uint8_t base;   /**< register that the memory is at an offset from */
	uint8_t second; /**< LOAD, STORE: likewise, 8 bytes behind; or MOVE_NO_REGISTER */
	uint8_t length; /**< of the instruction; of an unknown one what may be skipped */
	bool is_end;    /**< it does not lead to the next instruction */
	bool is_indexed; /**< LOAD, STORE, ADDRESS: an index of 8 bytes each, or of bytes, is added */
	bool is_absolute; /**< VARIABLE and those with it: the offset is the address */
	bool is_sum;      /**< LOAD: what is there is added to the value */
	uint8_t index; /**< register of the latter, which may be the base as well; or MOVE_NO_REGISTER */
	int32_t offset;
	uint64_t changed; /**< OTHER: a bit for each register that it may change */
	uint64_t
		target; /**< CALL, JUMP: address, if that of the code is right; 0: it is not known. (VARIABLE and those with it: likewise) */
};

/** The register of a function's first integer parameters, from 0 to MOVE_PARAMETERS - 1. */
uint8_t move_parameter(size_t number);

/** True if a call may change a register, though its function leaves as it was what its caller wants kept. */
bool move_is_lost(uint8_t reg);

/** True if functions get a parameter in a register. (System V ABI, AMD64 supplement, 3.2.3; AAPCS64, 6.8.2.) */
bool move_is_parameter(uint8_t reg);

/**
 * Decodes an instruction.
 *
 * @param code     [size] at least one byte
 * @param address  of the code in the program
 */
struct code_move move_decode(const uint8_t *code, size_t size, uint64_t address);

#endif
