// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_MACHINE_X86_64_H
#define HEAPSNAP_MACHINE_X86_64_H

/** x86-64 for machine.h. Source: System V ABI, AMD64 supplement, 3.2 and 3.6. */

enum {
	HEAPSNAP_DWARF_FRAME = 6, // rbp
	HEAPSNAP_DWARF_STACK = 7, // rsp
	HEAPSNAP_DWARF_RETURN = 16,

	// Bytes that rules count in.
	HEAPSNAP_RULE_UNIT = 1,
	HEAPSNAP_RULE_PLACE_UNIT = 1,

	// In struct ucontext, which a signal's frame has at rsp.
	HEAPSNAP_CONTEXT_FP = 120,
	HEAPSNAP_CONTEXT_SP = 160,
	HEAPSNAP_CONTEXT_PC = 168,
	HEAPSNAP_CONTEXT_LINK = 0, // there is no link register
};

enum {
	HEAPSNAP_HAS_LINK = false, // a register for return addresses
};

/** Letters of augmentations that only this machine has, and change no rule. */
#define HEAPSNAP_AUGMENTATIONS ""

struct heapsnap_rule {
	uint8_t kind;         /**< enum heapsnap_rule_kind */
	uint8_t frame;        /**< enum heapsnap_rule_frame */
	int16_t frame_offset; /**< bytes */
	int32_t offset;       /**< bytes */
};

typedef int32_t heapsnap_rule_offset;

/** Return addresses are always on the stack. */
struct heapsnap_link {
};

/** The frame of a function that begins with push %rbp; mov %rsp, %rbp. */
#define HEAPSNAP_RULE_BY_FRAME \
	{ \
		.kind = HEAPSNAP_RULE_FRAME, .frame = HEAPSNAP_FRAME_AT_CFA, .frame_offset = -16, \
		.offset = 16, \
	}

/** A call frame instruction of this machine that changes no rule: x86-64 has none. */
static inline bool heapsnap_is_cfa_ignored(uint8_t code)
{
	(void)code;
	return false;
}

/** Sets the place of the return address. @return false if that is not at CFA - 8 */
static inline bool heapsnap_rule_set_return(struct heapsnap_rule *rule,
					    enum heapsnap_rule_return kind, int64_t offset)
{
	(void)rule;
	return kind == HEAPSNAP_RETURN_AT_CFA && offset == -8;
}

/** @return 0: in the link register */
static inline uint64_t heapsnap_return_place(const struct heapsnap_rule *rule, uint64_t cfa)
{
	(void)rule;
	return cfa - 8;
}

static inline uint64_t heapsnap_strip(uint64_t address)
{
	return address;
}

static inline uint64_t heapsnap_link_address(const struct heapsnap_link *link)
{
	(void)link;
	return 0;
}

static inline struct heapsnap_link heapsnap_link_of(uint64_t address)
{
	(void)address;
	return (struct heapsnap_link){};
}

/** Notes if the frame of the callee was guessed. */
static inline struct heapsnap_link heapsnap_link_in_caller(bool is_guess)
{
	(void)is_guess;
	return (struct heapsnap_link){};
}

/** True if sp was guessed, and is too low for rules. */
static inline bool heapsnap_link_has_lost_sp(const struct heapsnap_link *link)
{
	(void)link;
	return false;
}

/** True if a signal's handler returns to the code, by its instructions: the tables say so. */
static inline bool heapsnap_is_signal_return(const uint8_t *code)
{
	(void)code;
	return false;
}

// --- registers ---------------------------------------------------------------------

/** Reads the registers. pc is one past the next instruction, as if it were a call's return address. */
#define HEAPSNAP_READ_REGISTERS(pc_, sp_, fp_, link_) \
	__asm__ volatile("leaq 1f(%%rip), %0\n" \
			 "1: movq %%rsp, %1\n" \
			 "movq %%rbp, %2" \
			 : "=&r"(pc_), "=&r"(sp_), "=&r"(fp_))

/** The stack pointer that the function that this is inlined into was called with. */
#define HEAPSNAP_CALLERS_SP ((uint64_t)__builtin_dwarf_cfa())

// --- hops --------------------------------------------------------------------------

enum {
	HEAPSNAP_HOP_SAVED_SHIFT = 32,
	HEAPSNAP_HOP_SAVED =
		0xffff, /**< the caller's fp is as many bytes below its sp; 0: in rbp */
};

/** The way that follows a rule; 0: there is none. */
static inline uint64_t heapsnap_hop_of_rule(const struct heapsnap_rule *rule)
{
	int32_t word = sizeof(uint64_t), saved = -rule->frame_offset;

	if (rule->kind == HEAPSNAP_RULE_FRAME && rule->offset == 2 * word &&
	    rule->frame == HEAPSNAP_FRAME_AT_CFA && saved == 2 * word)
		return HEAPSNAP_HOP_FRAME | HEAPSNAP_HOP_COMPLEX;
	if (rule->kind != HEAPSNAP_RULE_STACK || rule->offset <= 0 || rule->offset % word != 0)
		return 0;
	if (rule->frame == HEAPSNAP_FRAME_SAME)
		return (uint64_t)rule->offset;
	// Below the return address, and in the frame.
	if (rule->frame != HEAPSNAP_FRAME_AT_CFA || saved < 2 * word || saved > rule->offset ||
	    saved % word != 0)
		return 0;
	return (uint64_t)rule->offset | (uint64_t)saved << HEAPSNAP_HOP_SAVED_SHIFT;
}

/** Bytes from the frame's sp to its caller's. 0: the frame makes no sense */
static inline uint64_t heapsnap_hop_bytes(uint64_t way, struct heapsnap_frame frame)
{
	uint64_t bytes = frame.fp - frame.sp + 2 * sizeof(uint64_t);

	if (!(way & HEAPSNAP_HOP_FRAME))
		return (uint32_t)way;
	return bytes % sizeof(uint64_t) ? 0 : bytes;
}

/** Makes the frame its caller's. @return the address that the function returns to */
static inline uint64_t heapsnap_hop_take(uint64_t way, uint64_t bytes, struct heapsnap_frame *frame)
{
	uint64_t saved = way >> HEAPSNAP_HOP_SAVED_SHIFT & HEAPSNAP_HOP_SAVED;

	if (way & HEAPSNAP_HOP_FRAME)
		frame->fp = *(const uint64_t *)frame->fp;
	else if (saved != 0)
		frame->fp = *(const uint64_t *)(frame->sp + bytes - saved);
	frame->sp += bytes;
	return *(const uint64_t *)(frame->sp - sizeof(uint64_t));
}

/** The same, of a way that is not HEAPSNAP_HOP_COMPLEX, from the stack pointer of the caller's frame. */
static inline uint64_t heapsnap_hop_return(uint64_t way, uint64_t callers_sp)
{
	(void)way;
	return *(const uint64_t *)(callers_sp - sizeof(uint64_t));
}

#endif
