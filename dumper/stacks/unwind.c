// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/unwind.h"

#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/base/process.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/system.h"
#include "dumper/base/thread_pointer.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

__thread struct heapsnap_own_stack heapsnap_own_stack;

enum {
	PAGE = HEAPSNAP_STACK_PAGE,
	MAIN_STACK = 8 << 20,
	MAX_PAGES = 16,      // probed to find out whether a stack is the thread's
	MAX_FRAME = 1 << 30, // bytes from one frame to the next
	NEARBY = 128 << 20,  // from one function to another, in code without tables
	AGE_SHIFT = 48,      // addresses of code have no more bits
	AREAS = 64,          // of code, by address: each has an age
	AREA_SHIFT = 20,
};

// --- what can be read ------------------------------------------------------------

static uint64_t main_stack_top;

static bool is_readable(uint64_t address)
{
	return !heapsnap_sandbox_forbids(HEAPSNAP_NEED_PROBE) &&
	       heapsnap_is_readable((const void *)(address & ~(uint64_t)(PAGE - 1)), 1);
}

// glibc has a thread's control block above its stack, without a gap. The main thread's lies elsewhere.
static uint64_t find_top(void)
{
	uint64_t pointer = heapsnap_thread_pointer();

	if (pointer == heapsnap_process.main_thread_pointer || pointer == 0)
		return main_stack_top;
	return pointer;
}

// The kernel maps nothing else closely below the main thread's stack: its 128 MiB at least are kept free.
static void note_main_stack(struct heapsnap_own_stack *stack)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	if (stack->top == main_stack_top && here < stack->low && stack->top - here < MAIN_STACK)
		stack->low = here & ~(uint64_t)(PAGE - 1);
}

/*
 * True if an address lies on the thread's own stack: no gap between there and its top. Costs no
 * steps, as each page is probed once: how many there are differs from run to run.
 */
static bool is_on_own_stack(struct heapsnap_own_stack *stack, uint64_t address)
{
	if (stack->top == 0) {
		stack->top = find_top();
		stack->low = stack->top & ~(uint64_t)(PAGE - 1);
	}
	if (address >= stack->top)
		return false;
	note_main_stack(stack);
	for (int i = 0; i < MAX_PAGES && address < stack->low && is_readable(stack->low - PAGE);
	     i++)
		stack->low -= PAGE;
	return address >= stack->low;
}

uint64_t heapsnap_stack_probe(uint64_t sp)
{
	is_on_own_stack(&heapsnap_own_stack, sp);
	return heapsnap_stack_left(sp);
}

static bool is_on_signal_stack(uint64_t sp, uint64_t *left)
{
	stack_t stack = { 0 };

	if (HEAPSNAP_SYSTEM_2(SYS_sigaltstack, NULL, &stack) != 0 ||
	    sp - (uint64_t)stack.ss_sp >= stack.ss_size)
		return false;
	*left = sp - (uint64_t)stack.ss_sp;
	return true;
}

bool heapsnap_stack_has_room(void)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0), left;

	if (is_on_own_stack(&heapsnap_own_stack, sp))
		return true;
	if (heapsnap_sandbox_forbids(HEAPSNAP_NEED_PROBE))
		return false;
	if (is_on_signal_stack(sp, &left))
		return left >= HEAPSNAP_STACK_ROOM;
	return heapsnap_is_readable((const void *)(sp - HEAPSNAP_STACK_ROOM), HEAPSNAP_STACK_ROOM);
}

// A word that lies beyond what is known to be readable.
static bool read_beyond(struct heapsnap_walk *walk, uint64_t address, uint64_t *value)
{
	heapsnap_spend(HEAPSNAP_EFFORT_SYSTEM);
	if (address - walk->sp > MAX_FRAME || !is_readable(address))
		return false;
	// A stack that is not the thread's own, up to its first gap.
	if (address - walk->top < PAGE)
		walk->top = (address & ~(uint64_t)(PAGE - 1)) + PAGE;
	memcpy(value, (const void *)address, sizeof(*value));
	return true;
}

static inline bool read_word(struct heapsnap_walk *walk, uint64_t address, uint64_t *value)
{
	if (address % sizeof(*value) || address < walk->sp)
		return false;
	if (address >= walk->top)
		return read_beyond(walk, address, value);
	memcpy(value, (const void *)address, sizeof(*value));
	return true;
}

static void start(struct heapsnap_walk *walk, bool is_here)
{
	if (is_on_own_stack(&heapsnap_own_stack, walk->sp)) {
		walk->top = heapsnap_own_stack.top & ~(uint64_t)7;
		return;
	}
	if (!is_here)
		heapsnap_spend(HEAPSNAP_EFFORT_SYSTEM);
	walk->top = walk->sp;
	if (is_here || is_readable(walk->sp))
		walk->top += heapsnap_stack_left(walk->sp);
}

void heapsnap_walk_start(struct heapsnap_walk *walk)
{
	start(walk, false);
}

void heapsnap_walk_start_here(struct heapsnap_walk *walk)
{
	start(walk, true);
}

// --- rules -------------------------------------------------------------------------

__thread bool heapsnap_unwinds_aside;

static struct heapsnap_rule_slot *slots;
static uint32_t ages[AREAS]; // in the upper bits of keys: what is older counts for nothing

static uint64_t word_of(struct heapsnap_rule rule)
{
	uint64_t word;

	memcpy(&word, &rule, sizeof(word));
	return word;
}

uint32_t heapsnap_code_age(uint64_t address)
{
	return __atomic_load_n(&ages[(address >> AREA_SHIFT) % AREAS], __ATOMIC_RELAXED);
}

// @return false if a slot has the rule of another key
static bool read_slot(const struct heapsnap_rule_slot *slot, uint64_t key,
		      struct heapsnap_rule *rule)
{
	uint64_t word = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);

	memcpy(rule, &word, sizeof(*rule));
	return (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) ^ word) == key;
}

static struct heapsnap_rule look_up_rule(struct heapsnap_rule_slot *slot, uint64_t address,
					 uint64_t key)
{
	struct heapsnap_rule rule;
	uint64_t word;

	heapsnap_spend(HEAPSNAP_EFFORT_LOOKUP);
	rule = heapsnap_rule_find(address);
	word = word_of(rule);
	__atomic_store_n(&slot->rule, word, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->key, key ^ word, __ATOMIC_RELAXED);
	return rule;
}

// @param aside  what is not in the cache goes to another one
static inline struct heapsnap_rule rule_at(uint64_t address, bool aside)
{
	uint64_t key = address | (uint64_t)(heapsnap_code_age(address) + 1) << AGE_SHIFT;
	struct heapsnap_rule_slot *slot =
		&slots[heapsnap_code_hash(address) >> 50 & (HEAPSNAP_RULE_SLOTS - 1)];
	struct heapsnap_rule rule;

	if (read_slot(slot, key, &rule) ||
	    (aside && read_slot(slot + HEAPSNAP_RULE_SLOTS, key, &rule)))
		return rule;
	return look_up_rule(aside ? slot + HEAPSNAP_RULE_SLOTS : slot, address, key);
}

void heapsnap_unwind_forget(uint64_t start, uint64_t end)
{
	uint64_t first = start >> AREA_SHIFT, last = end >> AREA_SHIFT;

	heapsnap_code_hash_forget();
	heapsnap_rules_forget();
	for (uint64_t i = 0; i < AREAS && i <= last - first; i++)
		__atomic_add_fetch(&ages[(first + i) % AREAS], 1, __ATOMIC_RELAXED);
}

uint64_t heapsnap_hop_at(uint64_t address)
{
	struct heapsnap_rule rule = rule_at(address - 1, true);

	return heapsnap_hop_of_rule(&rule);
}

// --- the walk ----------------------------------------------------------------------

// The kernel has put the registers of the interrupted code on the handler's stack.
static bool leave_signal(struct heapsnap_walk *walk)
{
	uint64_t pc, sp, fp, link = 0;

	if (!read_word(walk, walk->sp + HEAPSNAP_CONTEXT_FP, &fp) ||
	    !read_word(walk, walk->sp + HEAPSNAP_CONTEXT_SP, &sp) ||
	    !read_word(walk, walk->sp + HEAPSNAP_CONTEXT_PC, &pc) || pc == 0 ||
	    (HEAPSNAP_HAS_LINK && !read_word(walk, walk->sp + HEAPSNAP_CONTEXT_LINK, &link)))
		return false;
	*walk = (struct heapsnap_walk){
		.pc = pc, .is_interrupted = true, .sp = sp, .fp = fp, .link = heapsnap_link_of(link)
	};
	heapsnap_walk_start(walk); // most likely another stack
	return true;
}

// The bytes that a rule's number of units is.
static uint64_t bytes_of(int64_t units, int unit)
{
	return (uint64_t)(units * unit);
}

static bool find_frame(struct heapsnap_walk *walk, const struct heapsnap_rule *rule, uint64_t cfa,
		       uint64_t *fp)
{
	switch (rule->frame) {
	case HEAPSNAP_FRAME_SAME:
		*fp = walk->fp;
		return true;
	case HEAPSNAP_FRAME_AT_CFA:
		return read_word(walk, cfa + bytes_of(rule->frame_offset, HEAPSNAP_RULE_PLACE_UNIT),
				 fp);
	case HEAPSNAP_FRAME_AT_FRAME:
		return read_word(walk,
				 walk->fp + bytes_of(rule->frame_offset, HEAPSNAP_RULE_PLACE_UNIT),
				 fp);
	default:
		*fp = 0; // which no rule of the caller's will be able to use
		return true;
	}
}

// Where sp has been lost: fp points to where a function has saved its caller's.
static bool find_cfa_by_record(const struct heapsnap_walk *walk, const struct heapsnap_rule *rule,
			       uint64_t *cfa)
{
	*cfa = walk->fp - bytes_of(rule->frame_offset, HEAPSNAP_RULE_PLACE_UNIT);
	return rule->frame == HEAPSNAP_FRAME_AT_CFA;
}

static bool find_cfa(struct heapsnap_walk *walk, const struct heapsnap_rule *rule, uint64_t *cfa)
{
	uint64_t offset = bytes_of(rule->offset, HEAPSNAP_RULE_UNIT);

	switch (rule->kind) {
	case HEAPSNAP_RULE_STACK:
		*cfa = walk->sp + offset;
		return !heapsnap_link_has_lost_sp(&walk->link) ||
		       find_cfa_by_record(walk, rule, cfa);
	case HEAPSNAP_RULE_FRAME:
		*cfa = walk->fp + offset;
		return true;
	case HEAPSNAP_RULE_SAVED:
		return read_word(walk, walk->fp + offset, cfa);
	default:
		return false;
	}
}

// The address that a frame's function returns to.
static bool find_return(struct heapsnap_walk *walk, const struct heapsnap_rule *rule, uint64_t cfa,
			uint64_t *pc)
{
	uint64_t place = heapsnap_return_place(rule, cfa);

	if (HEAPSNAP_HAS_LINK && place == 0) {
		*pc = heapsnap_link_address(&walk->link);
		return cfa >= walk->sp;
	}
	if (cfa <= walk->sp || !read_word(walk, place, pc))
		return false;
	*pc = heapsnap_strip(*pc);
	return true;
}

// True if code without tables may have been called from an address.
static bool is_plausible(uint64_t pc, uint64_t caller)
{
	struct heapsnap_code code;

	heapsnap_spend(2);
	return caller - pc + NEARBY < 2 * (uint64_t)NEARBY || heapsnap_code_find(caller, &code);
}

bool heapsnap_walk_next(struct heapsnap_walk *walk)
{
	static const struct heapsnap_rule by_frame = HEAPSNAP_RULE_BY_FRAME;

	if (!heapsnap_spend(1))
		return false;

	struct heapsnap_rule rule =
		rule_at(walk->pc - !walk->is_interrupted, heapsnap_unwinds_aside);
	bool guessed = rule.kind == HEAPSNAP_RULE_GUESS;
	uint64_t cfa, pc, fp;

	if (rule.kind == HEAPSNAP_RULE_SIGNAL)
		return leave_signal(walk);
	if (guessed)
		rule = by_frame;
	if (!find_cfa(walk, &rule, &cfa) || !find_return(walk, &rule, cfa, &pc) ||
	    !find_frame(walk, &rule, cfa, &fp))
		return false;
	if (pc < PAGE || pc >> AGE_SHIFT || (guessed && !is_plausible(walk->pc, pc)))
		return false;
	walk->pc = pc;
	walk->is_interrupted = false;
	walk->sp = cfa;
	walk->fp = fp;
	walk->link = heapsnap_link_in_caller(guessed);
	return true;
}

// --- within the library --------------------------------------------------------------

static struct heapsnap_code own_code;

static bool is_own(uint64_t pc)
{
	return pc - own_code.start < own_code.end - own_code.start;
}

bool heapsnap_unwind_init(struct heapsnap_rule_slot *room)
{
	slots = room;
	// The kernel puts the program's name at the very top of the main thread's stack. The
	// frames of a program with a small environment are in the same page.
	main_stack_top = getauxval(AT_EXECFN) & ~(uint64_t)7;
	heapsnap_code_init();
	return heapsnap_code_find((uint64_t)is_own, &own_code);
}

unsigned heapsnap_unwind(uint64_t *addresses, unsigned max)
{
	struct heapsnap_walk walk = heapsnap_walk_begin();
	unsigned count = 0;

	while (count < max && heapsnap_walk_next(&walk)) {
		if (count > 0 || !is_own(walk.pc))
			addresses[count++] = walk.pc + walk.is_interrupted;
	}
	return count;
}

// From a frame whose stack pointer is known, and whose frame pointer may not be: as far as
// one goes without that.
static uint64_t unwind_from(uint64_t site, struct heapsnap_frame frame,
			    bool (*is_wanted)(uint64_t address), unsigned max)
{
	struct heapsnap_walk walk = { .pc = site, .sp = frame.sp, .fp = frame.fp };

	heapsnap_walk_start_here(&walk);
	for (unsigned count = 0; count < max && heapsnap_walk_next(&walk); count++) {
		if (is_wanted(walk.pc + walk.is_interrupted))
			return walk.pc + walk.is_interrupted;
	}
	return 0;
}

uint64_t heapsnap_unwind_to(uint64_t site, struct heapsnap_frame frame,
			    bool (*is_wanted)(uint64_t address), unsigned max)
{
	uint64_t found = frame.sp ? unwind_from(site, frame, is_wanted, max) : 0;
	unsigned count = 0;

	if (found)
		return found;

	struct heapsnap_walk walk = heapsnap_walk_begin();

	while (count < max && heapsnap_walk_next(&walk)) {
		if (count == 0 && is_own(walk.pc))
			continue;
		if (is_wanted(walk.pc + walk.is_interrupted))
			return walk.pc + walk.is_interrupted;
		count++;
	}
	return 0;
}
