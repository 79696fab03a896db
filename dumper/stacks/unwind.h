// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_UNWIND_H
#define HEAPSNAP_UNWIND_H

/**
 * Walks the calling thread's own stack, from inside malloc.
 *
 * Any code may be what malloc was called from, in any state: so there is no lock, no
 * allocation, and no word is read from the stack before it is known to be readable. What is
 * known of the thread's own stack is kept; of another (a signal's, a coroutine's) the kernel
 * is asked, page by page. A wrong rule costs the rest of a backtrace and nothing else.
 *
 * Rules (frame_rules.h) are looked up once and kept in a table that all threads share: a word
 * for the place in the code, xor'ed with the rule, and the rule. Two threads that write at the
 * same time leave what belongs to neither (R. Hyatt, "A lockless transposition table").
 *
 * A walk counts its steps, and ends when its event has taken too many (effort.h).
 *
 * async-signal-safe, after heapsnap_unwind_init().
 */

#include "dumper/stacks/machine.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_STACK_PAGE = 4096,
	HEAPSNAP_RULE_SLOTS = 1 << 14, /**< 16 bytes each: 256 KiB, resident as far as used */
};

struct heapsnap_rule_slot {
	uint64_t key; /**< a generation and an address, xor'ed with the rule */
	uint64_t rule;
};

struct heapsnap_walk {
	uint64_t pc;         /**< in this frame: where its callee returns to */
	bool is_interrupted; /**< pc is where a signal came, not after a call */
	uint64_t sp, fp;
	struct heapsnap_link link;
	uint64_t top; /**< what lies between sp and this can be read */
};

/**
 * Prepares for walks, once.
 *
 * @param room  [2 * HEAPSNAP_RULE_SLOTS] zeros, for ever
 * @return false if this library's own code cannot be found, or nothing can be unwound here
 */
bool heapsnap_unwind_init(struct heapsnap_rule_slot *room);

/**
 * True while this thread unwinds for a sample. Samples come at random: their rules have a cache of their
 * own, so that they make no other walk cheaper, and the same walks are cut short in each run.
 */
extern __thread bool heapsnap_unwinds_aside __attribute__((visibility("hidden")));

/** Forgets the rules of code that has been unmapped: other code may be mapped there. */
void heapsnap_unwind_forget(uint64_t start, uint64_t end);

/** How often code near an address has been unmapped: facts about it hold for one such age. */
uint32_t heapsnap_code_age(uint64_t address);

/** The way (machine.h) from a return address in a function to its caller's. @return 0: there is none */
uint64_t heapsnap_hop_at(uint64_t address);

enum {
	HEAPSNAP_STACK_ROOM = 3072, /**< for a look at a new site, in wrappers */
};

/** The readable part of a thread's own stack, as far as it is known. */
struct heapsnap_own_stack {
	uint64_t low, top; /**< top is 0: not found out yet */
};

extern __thread struct heapsnap_own_stack heapsnap_own_stack __attribute__((visibility("hidden")));

/**
 * How many bytes can be read at @p sp, the stack pointer of a frame whose callee has not returned:
 * to the top of the thread's own stack; of another, a coroutine's for one, to the end of the page.
 */
static inline uint64_t heapsnap_stack_left(uint64_t sp)
{
	const struct heapsnap_own_stack *stack = &heapsnap_own_stack;

	if (sp % sizeof(uint64_t))
		return 0;
	// The return address at sp - 8 is mapped, so the rest of its page is.
	return sp >= stack->low && sp < stack->top ? stack->top - sp
						   : -sp & (HEAPSNAP_STACK_PAGE - 1);
}

/** Where what can be read at such a stack pointer ends; 0: at none. */
static inline __attribute__((always_inline)) uint64_t heapsnap_stack_end(uint64_t sp)
{
	const struct heapsnap_own_stack *stack = &heapsnap_own_stack;

	if (__builtin_expect(sp >= stack->low && sp < stack->top, 1))
		return stack->top;
	return sp + heapsnap_stack_left(sp);
}

/** heapsnap_stack_left() after probing the thread's own stack down to @p sp, some pages at a time. */
uint64_t heapsnap_stack_probe(uint64_t sp);

/** Steps to the caller's frame. @return false if there is none, or it cannot be found */
bool heapsnap_walk_next(struct heapsnap_walk *walk);

/**
 * False on a stack that has less than HEAPSNAP_STACK_ROOM bytes left, as far as that can be known: a small one
 * of a coroutine or of signals. The thread's own always has them.
 */
bool heapsnap_stack_has_room(void);

/** Finds out how far the stack can be read. pc, sp and fp must have been set. */
void heapsnap_walk_start(struct heapsnap_walk *walk);

/** The same, without a system call, where sp is a frame's that this thread has called from. */
void heapsnap_walk_start_here(struct heapsnap_walk *walk);

/** A walk that starts in the function that this is inlined into, which must not return first. */
static inline __attribute__((always_inline)) struct heapsnap_walk heapsnap_walk_begin(void)
{
	struct heapsnap_walk walk = { 0 };

	HEAPSNAP_READ_REGISTERS(walk.pc, walk.sp, walk.fp, walk.link);
	walk.pc++;
	heapsnap_walk_start_here(&walk);
	return walk;
}

/**
 * The calls that led here, innermost first, without those within this library.
 *
 * @param addresses  [max] gets return addresses; where a signal came, the address after it
 * @return how many
 */
unsigned heapsnap_unwind(uint64_t *addresses, unsigned max);

/**
 * The innermost of at most @p max callers that passes a test; 0: there is none.
 *
 * @param frame  at @p site, the innermost, if it is known: a shorter way
 */
uint64_t heapsnap_unwind_to(uint64_t site, struct heapsnap_frame frame,
			    bool (*is_wanted)(uint64_t address), unsigned max);

#endif
