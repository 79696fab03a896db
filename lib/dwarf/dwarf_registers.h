// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_REGISTERS_H
#define HEAP_DWARF_REGISTERS_H

/** Registers of a frame, and the memory of the frozen process. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HEAP_DWARF_REGISTERS = 34, /**< by DWARF number of the machine */
};

enum {
#if defined(__aarch64__)
	HEAP_DWARF_REGISTER_FRAME = 29,
	HEAP_DWARF_REGISTER_LINK = 30,
	HEAP_DWARF_REGISTER_SP = 31,
	HEAP_DWARF_REGISTER_PC = 32, /**< ours: DWARF has none */
#else
	HEAP_DWARF_REGISTER_FRAME = 6,
	HEAP_DWARF_REGISTER_SP = 7,
	HEAP_DWARF_REGISTER_PC = 16,
#endif
};

/** Registers of a frame; what the callee may have lost is not known any more. */
struct heap_dwarf_registers {
	uint64_t value[HEAP_DWARF_REGISTERS];
	uint64_t known; /**< bit n: value[n] is */
	/** [n] where in memory value[n] was saved, 0 if it still is in the register */
	uint64_t saved_at[HEAP_DWARF_REGISTERS];
};

/** Reads memory of the frozen process. @return false if not all of it is there */
typedef bool heap_dwarf_memory_reader(void *context, uint64_t address, void *buffer, size_t size);

#endif
