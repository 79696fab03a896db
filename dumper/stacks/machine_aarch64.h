// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_MACHINE_AARCH64_H
#define HEAPSNAP_MACHINE_AARCH64_H

/**
 * aarch64 for machine.h. Sources: Procedure Call Standard for the Arm 64-bit Architecture, 6.4;
 * DWARF for the Arm 64-bit Architecture, 4.1 and 4.5.
 *
 * A call leaves its return address in x30, the link register; a function that calls others stores
 * it, mostly in a frame record. gcc has that at the low end of the frame, clang at the high end:
 *
 *	high   CFA ─▶ the caller's sp
 *	              …
 *	              x30: return address, perhaps signed
 *	       x29 ─▶ the caller's x29
 *	low     sp ─▶ …
 */

#include <string.h>

enum {
	HEAPSNAP_DWARF_FRAME = 29,
	HEAPSNAP_DWARF_STACK = 31,
	HEAPSNAP_DWARF_RETURN = 30,

	// Bytes that rules count in: stacks are aligned to 16 bytes, registers are saved at words.
	HEAPSNAP_RULE_UNIT = 16,
	HEAPSNAP_RULE_PLACE_UNIT = 8,

	// In struct rt_sigframe, which a signal's frame has at sp: after a siginfo of 128 bytes.
	HEAPSNAP_CONTEXT_FP = 544,
	HEAPSNAP_CONTEXT_LINK = 552,
	HEAPSNAP_CONTEXT_SP = 560,
	HEAPSNAP_CONTEXT_PC = 568,
};

enum {
	HEAPSNAP_HAS_LINK = true, // a register for return addresses
};

/** Letters of augmentations that only this machine has, and change no rule: keys, memory tags. */
#define HEAPSNAP_AUGMENTATIONS "BG"

struct heapsnap_rule {
	uint8_t kind;          /**< enum heapsnap_rule_kind */
	uint8_t frame : 4;     /**< enum heapsnap_rule_frame */
	uint8_t is_stored : 4; /**< the return address is at CFA + return_offset; else in x30 */
	int16_t frame_offset;  /**< words */
	int16_t return_offset; /**< words */
	int16_t offset;        /**< of 16 bytes */
};

typedef int16_t heapsnap_rule_offset;

struct heapsnap_link {
	uint64_t address; /**< x30, where it is known; else 0 */
	bool has_lost_sp; /**< sp was guessed: only fp is right */
};

/**
 * The frame of a function that has a frame record. The caller's sp is not known: that it is above
 * the record is all that the rule says.
 */
#define HEAPSNAP_RULE_BY_FRAME \
	{ \
		.kind = HEAPSNAP_RULE_FRAME, .frame = HEAPSNAP_FRAME_AT_CFA, .is_stored = true, \
		.frame_offset = -2, .return_offset = -1, .offset = 1, \
	}

/** True for a call frame instruction that changes no rule: those about signed return addresses. */
static inline bool heapsnap_is_cfa_ignored(uint8_t code)
{
	return code == 0x2c || code == 0x2d; // DW_CFA_AARCH64_negate_ra_state(_with_pc)
}

/** Sets the place of the return address. @return false if a rule cannot express it */
static inline bool heapsnap_rule_set_return(struct heapsnap_rule *rule,
					    enum heapsnap_rule_return kind, int64_t offset)
{
	int64_t words = offset / HEAPSNAP_RULE_PLACE_UNIT;

	rule->is_stored = kind == HEAPSNAP_RETURN_AT_CFA;
	rule->return_offset = (int16_t)words;
	return kind == HEAPSNAP_RETURN_SAME ||
	       (kind == HEAPSNAP_RETURN_AT_CFA && words == rule->return_offset &&
		offset % HEAPSNAP_RULE_PLACE_UNIT == 0);
}

/** @return 0: in the link register */
static inline uint64_t heapsnap_return_place(const struct heapsnap_rule *rule, uint64_t cfa)
{
	return rule->is_stored ? cfa + (uint64_t)(rule->return_offset * HEAPSNAP_RULE_PLACE_UNIT)
			       : 0;
}

/** Without the signature that pointer authentication (PAC) puts into the upper bits. */
static inline uint64_t heapsnap_strip(uint64_t address)
{
	return address & ((UINT64_C(1) << 48) - 1);
}

static inline uint64_t heapsnap_link_address(const struct heapsnap_link *link)
{
	return heapsnap_strip(link->address);
}

static inline struct heapsnap_link heapsnap_link_of(uint64_t address)
{
	return (struct heapsnap_link){ .address = address };
}

/** Notes if the frame of the callee was guessed. */
static inline struct heapsnap_link heapsnap_link_in_caller(bool is_guess)
{
	return (struct heapsnap_link){ .has_lost_sp = is_guess };
}

/** True if sp was guessed, and is too low for rules. */
static inline bool heapsnap_link_has_lost_sp(const struct heapsnap_link *link)
{
	return link->has_lost_sp;
}

/** True if a signal's handler returns to the code: mov x8, #139 (rt_sigreturn); svc #0. */
static inline bool heapsnap_is_signal_return(const uint8_t *code)
{
	static const uint32_t expected[] = { 0xd2801168, 0xd4000001 };

	return memcmp(code, expected, sizeof(expected)) == 0;
}

// --- registers ---------------------------------------------------------------------

/** Reads the registers. pc is one past the next instruction, as if it were a call's return address. */
#define HEAPSNAP_READ_REGISTERS(pc_, sp_, fp_, link_) \
	__asm__ volatile("adr %0, 1f\n" \
			 "1: mov %1, sp\n" \
			 "mov %2, x29\n" \
			 "mov %3, x30" \
			 : "=&r"(pc_), "=&r"(sp_), "=&r"(fp_), "=&r"((link_).address))

/** The stack pointer that the function that this is inlined into was called with. */
#if defined(__clang__)
// Its __builtin_dwarf_cfa() is x29; its frame records are at the frame's high end.
#define HEAPSNAP_CALLERS_SP ((uint64_t)__builtin_frame_address(0) + 16)
#else
#define HEAPSNAP_CALLERS_SP ((uint64_t)__builtin_dwarf_cfa())
#endif

// --- hops --------------------------------------------------------------------------

enum {
	/** Where the return address is: as many words below the caller's sp. */
	HEAPSNAP_HOP_RETURN_SHIFT = 32,
	HEAPSNAP_HOP_RETURN = 0xffff,
};

/** The caller's fp is in x29; else it is below the return address. */
#define HEAPSNAP_HOP_SAME (UINT64_C(1) << 60)

/** The way that follows a rule; 0: there is none. */
static inline uint64_t heapsnap_hop_of_rule(const struct heapsnap_rule *rule)
{
	bool is_record = rule->frame == HEAPSNAP_FRAME_AT_CFA &&
			 rule->frame_offset == rule->return_offset - 1;
	int words = rule->offset * (HEAPSNAP_RULE_UNIT / HEAPSNAP_RULE_PLACE_UNIT);
	int below = -rule->return_offset;
	uint64_t way = (uint64_t)words * HEAPSNAP_RULE_PLACE_UNIT |
		       (uint64_t)below << HEAPSNAP_HOP_RETURN_SHIFT;

	if (!rule->is_stored || rule->offset <= 0 || below <= 0 || below + is_record > words)
		return 0;
	// The record is where x29 points.
	if (rule->kind == HEAPSNAP_RULE_FRAME && is_record && rule->frame_offset == -words)
		return way | HEAPSNAP_HOP_FRAME | HEAPSNAP_HOP_COMPLEX;
	if (rule->kind != HEAPSNAP_RULE_STACK || (!is_record && rule->frame != HEAPSNAP_FRAME_SAME))
		return 0;
	return way | (is_record ? 0 : HEAPSNAP_HOP_SAME);
}

/** Bytes from the frame's sp to its caller's. 0: the frame makes no sense */
static inline uint64_t heapsnap_hop_bytes(uint64_t way, struct heapsnap_frame frame)
{
	uint64_t bytes = (uint32_t)way;

	if (!(way & HEAPSNAP_HOP_FRAME))
		return bytes;
	return frame.fp >= frame.sp && frame.fp % sizeof(uint64_t) == 0
		       ? frame.fp - frame.sp + bytes
		       : 0;
}

/** Makes the frame its caller's. @return the address that the function returns to */
static inline uint64_t heapsnap_hop_take(uint64_t way, uint64_t bytes, struct heapsnap_frame *frame)
{
	uint64_t below = way >> HEAPSNAP_HOP_RETURN_SHIFT & HEAPSNAP_HOP_RETURN;
	const uint64_t *stored = (const uint64_t *)(frame->sp + bytes) - below;

	if (way & HEAPSNAP_HOP_FRAME)
		stored = (const uint64_t *)frame->fp + 1;
	if (!(way & HEAPSNAP_HOP_SAME))
		frame->fp = stored[-1];
	frame->sp += bytes;
	return heapsnap_strip(*stored);
}

/** The same, of a way that is not HEAPSNAP_HOP_COMPLEX, from the stack pointer of the caller's frame. */
static inline uint64_t heapsnap_hop_return(uint64_t way, uint64_t callers_sp)
{
	uint64_t below = way >> HEAPSNAP_HOP_RETURN_SHIFT & HEAPSNAP_HOP_RETURN;

	return heapsnap_strip(((const uint64_t *)callers_sp)[-(int64_t)below]);
}

#endif
