// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_MACHINE_CODE_H
#define HEAPSNAP_MACHINE_CODE_H

/**
 * Decodes x86-64 instructions, as far as passing.h needs it: lengths and operands of all that
 * compilers emit for integers, and the lengths of everything else up to AVX2.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A.
 *
 * async-signal-safe. Reads no byte beyond the end that it is given.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_NO_REGISTER = 0xff,
	HEAPSNAP_MAP_ONE = 0, /**< opcodes of one byte */
	HEAPSNAP_MAP_0F = 1,
	HEAPSNAP_MAP_0F38 = 2,
	HEAPSNAP_MAP_0F3A = 3,
};

struct heapsnap_instruction {
	const uint8_t *next; /**< the byte after it */
	uint8_t map, opcode; /**< HEAPSNAP_MAP_… */
	bool is_vector;      /**< with a VEX prefix */
	bool is_narrow;      /**< 16-bit operands */
	bool is_wide;        /**< 64-bit operands */
	bool is_based;       /**< relative to fs or gs, or of 32 bits */
	bool has_operand;    /**< reg and rm are given */
	bool is_memory;      /**< rm is memory; else a register */
	uint8_t reg, rm;     /**< registers' numbers, or opcode extensions in reg */
	uint8_t base, index; /**< of memory; HEAPSNAP_NO_REGISTER: none, as with rip */
	uint8_t scale;       /**< bits that the index is shifted by */
	bool is_relative;    /**< memory relative to the next instruction */
	int32_t displacement;
	int64_t immediate;
};

/** @return false if the bytes are no known instruction, or it does not end before @p end */
bool heapsnap_decode(const uint8_t *at, const uint8_t *end, struct heapsnap_instruction *result);

#endif
