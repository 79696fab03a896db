// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_UNWIND_H
#define HEAP_DWARF_UNWIND_H

/**
 * One step up a stack: from a frame's registers to its caller's, by call frame
 * information (DWARF 5, section 6.4; .eh_frame: Linux Standard Base Core 5.0, section 10.6).
 *
 * Rules come from .eh_frame of the module first, from .debug_frame (of its separate debug file
 * too) where that has nothing, and are kept per pc: threads stand at the same places again and
 * again.
 */

#include "lib/base/error.h"
#include "lib/dwarf/dwarf_registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_dwarf_unwinder;

/**
 * @param module  ELF file for .eh_frame and .debug_frame; it may have neither
 * @param debug   another one for .debug_frame; may be NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_unwinder_create(const char *module, const char *debug,
					      struct heap_dwarf_unwinder **result);

/** NULL is fine. */
void heap_dwarf_unwinder_destroy(struct heap_dwarf_unwinder *unwinder);

enum heap_dwarf_unwind_result {
	HEAP_DWARF_UNWIND_CALLER, /**< registers are now the caller's */
	HEAP_DWARF_UNWIND_END,    /**< the outermost frame: its return address is undefined */
	HEAP_DWARF_UNWIND_LOST, /**< no information for this pc, or a register or memory is missing */
};

/**
 * @param registers  the frame's; replaced by the caller's on HEAP_DWARF_UNWIND_CALLER only
 * @param pc         address in the file to look the rule up by (a return address minus 1)
 * @param cfa        the frame's canonical frame address, whenever it could be computed (else 0)
 * @param is_signal  true for a signal's trampoline: its caller's pc is exact
 */
enum heap_dwarf_unwind_result heap_dwarf_unwinder_step(struct heap_dwarf_unwinder *unwinder,
						       uint64_t pc, heap_dwarf_memory_reader *read,
						       void *context,
						       struct heap_dwarf_registers *registers,
						       uint64_t *cfa, bool *is_signal);

/**
 * Steps from the trampoline that a signal handler returns to, which has no call frame information
 * in the kernel's own object on aarch64 and in musl: it is known by its instructions, and the
 * kernel saved the registers of the interrupted code on the stack.
 *
 * @param registers  the trampoline's; replaced by those of the interrupted code, all of them known
 * @param cfa        gets the interrupted code's stack pointer
 * @return           false if there is no such trampoline at the pc, or no memory of its frame
 */
bool heap_dwarf_unwinder_step_signal(heap_dwarf_memory_reader *read, void *context,
				     struct heap_dwarf_registers *registers, uint64_t *cfa);

/** True if an address lies in a mapping of code. */
typedef bool heap_dwarf_code_test(void *context, uint64_t address);

/**
 * Steps from a pc that is no code, where a call through a wild pointer led, or one that is NULL: the call has
 * left its return address, and all registers are still the caller's.
 *
 * @param registers  at that pc; get the caller's
 * @param cfa        gets the caller's stack pointer
 * @return           false if the pc is code, or no call has led there
 */
bool heap_dwarf_unwinder_step_wild(heap_dwarf_memory_reader *read, heap_dwarf_code_test *is_code,
				   void *context, struct heap_dwarf_registers *registers,
				   uint64_t *cfa);

/**
 * Finds a frame pointer that a thread left asleep could not tell: the nearest place above
 * the stack pointer that looks like a saved frame pointer and the return address above it.
 *
 * A guess: frames found through it should be marked so.
 *
 * @param registers  the frame's, with its stack pointer; gets the frame pointer
 */
bool heap_dwarf_unwinder_guess_frame_pointer(heap_dwarf_memory_reader *read,
					     heap_dwarf_code_test *is_code, void *context,
					     struct heap_dwarf_registers *registers);

#endif
