// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_MACHINE_H
#define HEAPSNAP_MACHINE_H

/**
 * The parts of unwinding that differ between machines: how a call leaves its return address, how
 * DWARF numbers the registers, and what a signal's frame looks like.
 *
 * Each machine's header defines the same names:
 *
 *	struct heapsnap_rule         a rule of frame_rules.h in 8 bytes, and how it is filled in
 *	struct heapsnap_link         the return address that has not been stored yet, if any
 *	HEAPSNAP_HAS_LINK            a call leaves its return address in a register
 *	heapsnap_return_place()      where a frame's return address is stored
 *	heapsnap_strip()             a return address without its signature
 *	heapsnap_hop_of_rule() ...   ways, for hops.h
 *	HEAPSNAP_READ_REGISTERS()    the registers in the function that it is inlined into
 *	HEAPSNAP_CONTEXT_...         offsets of registers from the stack pointer of a signal's frame
 *
 * async-signal-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The registers of a frame. */
struct heapsnap_frame {
	uint64_t sp; /**< 0: not known */
	uint64_t fp; /**< 0: not known */
};

enum heapsnap_rule_kind {
	HEAPSNAP_RULE_NONE,      /**< the tables know the code, but not in a form that we read */
	HEAPSNAP_RULE_OUTERMOST, /**< nobody has called it */
	HEAPSNAP_RULE_STACK,     /**< CFA = sp + offset */
	HEAPSNAP_RULE_FRAME,     /**< CFA = fp + offset */
	HEAPSNAP_RULE_SAVED,     /**< CFA = *(fp + offset): of a function that aligns its stack */
	HEAPSNAP_RULE_SIGNAL,    /**< where a signal's handler returns to: a ucontext at sp */
	HEAPSNAP_RULE_GUESS,     /**< no tables: by frame pointer, if that makes sense */
};

/** Where the caller's frame pointer is. */
enum heapsnap_rule_frame {
	HEAPSNAP_FRAME_SAME,     /**< still in the register */
	HEAPSNAP_FRAME_AT_CFA,   /**< saved at CFA + frame_offset */
	HEAPSNAP_FRAME_AT_FRAME, /**< saved at fp + frame_offset */
	HEAPSNAP_FRAME_LOST,
};

/** Where the return address is. */
enum heapsnap_rule_return {
	HEAPSNAP_RETURN_SAME,   /**< still in the link register, if the machine has one */
	HEAPSNAP_RETURN_AT_CFA, /**< saved at CFA + an offset */
	HEAPSNAP_RETURN_LOST,
};

/**
 * A way from a return address in a function to its caller's: the lower 32 bits are the bytes of the frame,
 * and what is above is the machine's. But these are for all machines:
 */
#define HEAPSNAP_HOP_COMPLEX (UINT64_C(1) << 63)   /**< there is more to it than bytes */
#define HEAPSNAP_HOP_DISPLACED (UINT64_C(1) << 62) /**< a size of the site may be known: seen.h */
#define HEAPSNAP_HOP_FRAME (UINT64_C(1) << 61) /**< the frame pointer says where the frame ends */

#if defined(__x86_64__)
#include "dumper/stacks/machine_x86_64.h"
#elif defined(__aarch64__)
#include "dumper/stacks/machine_aarch64.h"
#endif

_Static_assert(sizeof(struct heapsnap_rule) == 8, "a rule is read and written as one word");

#endif
