// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CALL_FRAMES_H
#define HEAP_DWARF_CALL_FRAMES_H

/**
 * Call frame information: the rules that find the caller's registers, for each pc.
 *
 * (.debug_frame: DWARF 5, section 6.4. .eh_frame: Linux Standard Base Core 5.0, section 10.6, and
 * the extensions of gcc, clang and aarch64's ABI.) The tables may be damaged: invalid entries count
 * as missing.
 */

#include "lib/dwarf/dwarf_registers.h"
#include "lib/dwarf/dwarf_sections.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heap_dwarf_frame_rule_kind {
	HEAP_DWARF_FRAME_SAME = 0,  /**< the caller's value is still there, or nothing is said */
	HEAP_DWARF_FRAME_UNDEFINED, /**< it is lost; of the return address: there is no caller */
	HEAP_DWARF_FRAME_SAVED,     /**< in memory at CFA + offset */
	HEAP_DWARF_FRAME_OFFSET,    /**< its value is CFA + offset */
	HEAP_DWARF_FRAME_REGISTER,  /**< in another register */
	HEAP_DWARF_FRAME_SAVED_EXPRESSION, /**< in memory where the expression says */
	HEAP_DWARF_FRAME_EXPRESSION,       /**< its value is what the expression says */
};

struct heap_dwarf_frame_rule {
	uint8_t kind; /**< enum heap_dwarf_frame_rule_kind */
	uint64_t reg; /**< of HEAP_DWARF_FRAME_REGISTER, and of a CFA without expression */
	int64_t offset;
	const uint8_t *bytes; /**< [size] the expression; the table owns it */
	uint64_t size;
};

/** The rules for one pc. */
struct heap_dwarf_frame_row {
	bool is_signal;                   /**< a signal's trampoline: its caller's pc is exact */
	uint8_t return_register;          /**< below HEAP_DWARF_REGISTERS */
	struct heap_dwarf_frame_rule cfa; /**< OFFSET: reg + offset; EXPRESSION */
	struct heap_dwarf_frame_rule rules[HEAP_DWARF_REGISTERS];
};

struct heap_dwarf_call_frames;

/**
 * @param is_debug  .debug_frame rather than .eh_frame
 * @return NULL, HEAP_ERROR_ABSENT (no such section), SYSTEM, FORMAT (no ELF file) or MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_call_frames_open(const char *path, bool is_debug,
					       struct heap_dwarf_call_frames **result);

/**
 * The same from the bytes of a section, which must outlive it.
 *
 * @param address  of the section in memory, less the module's bias
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_call_frames_parse(const uint8_t *bytes, size_t size, uint64_t address,
						bool is_debug,
						struct heap_dwarf_call_frames **result);

/** NULL is fine. */
void heap_dwarf_call_frames_close(struct heap_dwarf_call_frames *frames);

/** The section that the table is in. */
struct heap_dwarf_bytes heap_dwarf_call_frames_section(const struct heap_dwarf_call_frames *frames);

/** @return false if there are no rules for @p pc, an address in the file */
bool heap_dwarf_call_frames_find(const struct heap_dwarf_call_frames *frames, uint64_t pc,
				 struct heap_dwarf_frame_row *row);

#endif
