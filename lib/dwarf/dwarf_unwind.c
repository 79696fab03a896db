// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_unwind.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash.h"
#include "lib/dwarf/dwarf_call_frames.h"
#include "lib/dwarf/dwarf_expression.h"

#include <stdlib.h>
#include <string.h>

enum {
	CACHE_SLOTS = 1 << 12,
	SEARCH_WORDS = 4096, // for a frame pointer that is not known
	SEARCH_REACH = 64 << 20,
};

// The rules of one pc.
struct known_row {
	uint64_t pc;
	bool found;
	uint8_t table; // that the row is from
	struct heap_dwarf_frame_row row;
};

struct heap_dwarf_unwinder {
	struct heap_dwarf_call_frames *tables[3]; // [table_count]
	size_t table_count;
	struct heap_dwarf_object
		*objects[3]; // decode the tables' expressions; NULL until the first
	struct known_row *cache[CACHE_SLOTS];
};

// --- tables ------------------------------------------------------------------

// A table that is not there, or that cannot be read, is one less.
HEAP_MUST_CHECK
static struct heap_error *add_table(struct heap_dwarf_unwinder *unwinder, const char *path,
				    bool is_debug)
{
	struct heap_error *error = heap_dwarf_call_frames_open(
		path, is_debug, &unwinder->tables[unwinder->table_count]);

	if (!error)
		unwinder->table_count++;
	else if (heap_error_code(error) == HEAP_ERROR_MEMORY)
		return error;
	heap_error_destroy(error);
	return NULL;
}

static void destroy(struct heap_dwarf_unwinder **unwinder)
{
	heap_dwarf_unwinder_destroy(*unwinder);
}

struct heap_error *heap_dwarf_unwinder_create(const char *module, const char *debug,
					      struct heap_dwarf_unwinder **result)
{
	CLEANUP(destroy) struct heap_dwarf_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return heap_error_out_of_memory();
	HEAP_TRY(add_table(unwinder, module, false));
	HEAP_TRY(add_table(unwinder, module, true));
	if (debug && strcmp(debug, module) != 0)
		HEAP_TRY(add_table(unwinder, debug, true));
	*result = keep(unwinder);
	return NULL;
}

void heap_dwarf_unwinder_destroy(struct heap_dwarf_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(unwinder->cache[i]);
	for (size_t i = 0; i < unwinder->table_count; i++) {
		heap_dwarf_object_close(unwinder->objects[i]);
		heap_dwarf_call_frames_close(unwinder->tables[i]);
	}
	free(unwinder);
}

// --- rows --------------------------------------------------------------------

// @return NULL if no table has rules for it
static const struct known_row *find_row(struct heap_dwarf_unwinder *unwinder, uint64_t pc)
{
	struct known_row **slot = &unwinder->cache[heap_hash_u64(pc) % CACHE_SLOTS];
	struct known_row *known = *slot ? *slot : malloc(sizeof(*known));

	if (!known)
		return NULL;
	if (!*slot || known->pc != pc) {
		known->pc = pc;
		known->found = false;
		*slot = known;
		for (uint8_t i = 0; i < unwinder->table_count && !known->found; i++) {
			known->found =
				heap_dwarf_call_frames_find(unwinder->tables[i], pc, &known->row);
			known->table = i;
		}
	}
	return known->found ? known : NULL;
}

// --- stepping ----------------------------------------------------------------

struct step {
	const struct heap_dwarf_frame_row *row;
	struct heap_dwarf_unwinder *unwinder;
	uint8_t table; // of the row
	struct heap_dwarf_expression_frame frame;
	const struct heap_dwarf_registers *before;
	struct heap_dwarf_registers after;
};

static bool is_known(const struct heap_dwarf_registers *registers, uint64_t number)
{
	return number < HEAP_DWARF_REGISTERS && (registers->known >> number & 1);
}

// @return NULL without memory
static const struct heap_dwarf_object *get_object(struct heap_dwarf_unwinder *unwinder,
						  uint8_t table)
{
	struct heap_dwarf_object **object = &unwinder->objects[table];

	if (!*object)
		heap_error_destroy(heap_dwarf_object_open_bytes(
			heap_dwarf_call_frames_section(unwinder->tables[table]), object));
	return *object;
}

// Without memory there is no value.
static bool evaluate(const struct step *step, const struct heap_dwarf_frame_rule *rule,
		     const uint64_t *initial, struct heap_dwarf_expression_result *result)
{
	CLEANUP_ARRAY struct heap_dwarf_operations operations = { 0 };
	struct heap_error *error =
		heap_dwarf_expression_decode(get_object(step->unwinder, step->table), rule->bytes,
					     rule->size, NULL, &operations);

	heap_error_destroy(error);
	return !error &&
	       heap_dwarf_expression_evaluate(
		       (struct heap_dwarf_expression){ operations.items, operations.count },
		       &step->frame, initial, result);
}

static bool find_cfa(struct step *step, uint64_t *cfa)
{
	const struct heap_dwarf_frame_rule *rule = &step->row->cfa;
	struct heap_dwarf_expression_result result;

	switch (rule->kind) {
	case HEAP_DWARF_FRAME_OFFSET:
		if (!is_known(step->before, rule->reg))
			return false;
		*cfa = step->before->value[rule->reg] + (uint64_t)rule->offset;
		return true;
	case HEAP_DWARF_FRAME_EXPRESSION:
		if (!evaluate(step, rule, NULL, &result))
			return false;
		*cfa = result.value;
		return true;
	default:
		return false;
	}
}

static void set_saved(struct step *step, unsigned number, uint64_t address)
{
	uint64_t value;

	if (!step->frame.read(step->frame.context, address, &value, sizeof(value)))
		return;
	step->after.value[number] = value;
	step->after.saved_at[number] = address;
	step->after.known |= UINT64_C(1) << number;
}

static void set_value(struct step *step, unsigned number, uint64_t value)
{
	step->after.value[number] = value;
	step->after.saved_at[number] = 0;
	step->after.known |= UINT64_C(1) << number;
}

static void copy_register(struct step *step, unsigned number, uint64_t from)
{
	if (!is_known(step->before, from))
		return;
	step->after.value[number] = step->before->value[from];
	step->after.saved_at[number] = step->before->saved_at[from];
	step->after.known |= UINT64_C(1) << number;
}

static void apply_expression(struct step *step, unsigned number,
			     const struct heap_dwarf_frame_rule *rule)
{
	struct heap_dwarf_expression_result result;
	uint64_t cfa = step->frame.cfa;

	if (!evaluate(step, rule, &cfa, &result))
		return;
	if (rule->kind == HEAP_DWARF_FRAME_SAVED_EXPRESSION)
		set_saved(step, number, result.value);
	else
		set_value(step, number, result.value);
}

// Registers that a called function need not keep (System V ABI, AMD64 supplement, 3.2.1;
// Procedure Call Standard for the Arm 64-bit Architecture, 6.1.1).
static bool is_lost_by_calls(unsigned number)
{
#if defined(__aarch64__)
	return number <= 18;
#else
	return number == 0 || number == 1 || number == 2 || number == 4 || number == 5 ||
	       (number >= 8 && number <= 11);
#endif
}

static void apply_rule(struct step *step, unsigned number)
{
	const struct heap_dwarf_frame_rule *rule = &step->row->rules[number];

	switch (rule->kind) {
	case HEAP_DWARF_FRAME_SAVED:
		set_saved(step, number, step->frame.cfa + (uint64_t)rule->offset);
		break;
	case HEAP_DWARF_FRAME_OFFSET:
		set_value(step, number, step->frame.cfa + (uint64_t)rule->offset);
		break;
	case HEAP_DWARF_FRAME_REGISTER:
		copy_register(step, number, rule->reg);
		break;
	case HEAP_DWARF_FRAME_SAVED_EXPRESSION:
	case HEAP_DWARF_FRAME_EXPRESSION:
		apply_expression(step, number, rule);
		break;
	case HEAP_DWARF_FRAME_SAME:
		if (step->row->is_signal || !is_lost_by_calls(number))
			copy_register(step, number, number);
		break;
	}
}

// A return address without its signature (pointer authentication), which lies in the bits that
// addresses of code do not use.
static uint64_t strip_signature(uint64_t address)
{
#if defined(__aarch64__)
	return address & ((UINT64_C(1) << 48) - 1);
#else
	return address;
#endif
}

static enum heap_dwarf_unwind_result find_return_address(struct step *step)
{
	unsigned column = step->row->return_register;
	uint64_t address;

	if (step->row->rules[column].kind == HEAP_DWARF_FRAME_UNDEFINED)
		return HEAP_DWARF_UNWIND_END;
	if (!is_known(&step->after, column))
		return HEAP_DWARF_UNWIND_LOST;
	address = strip_signature(step->after.value[column]);
	if (address == 0)
		return HEAP_DWARF_UNWIND_END;
	set_value(step, HEAP_DWARF_REGISTER_PC, address);
	return HEAP_DWARF_UNWIND_CALLER;
}

enum heap_dwarf_unwind_result heap_dwarf_unwinder_step(struct heap_dwarf_unwinder *unwinder,
						       uint64_t pc, heap_dwarf_memory_reader *read,
						       void *context,
						       struct heap_dwarf_registers *registers,
						       uint64_t *cfa, bool *is_signal)
{
	const struct known_row *known = find_row(unwinder, pc);
	struct step step = {
		.row = known ? &known->row : NULL,
		.unwinder = unwinder,
		.table = known ? known->table : 0,
		.frame = { .registers = registers, .read = read, .context = context },
		.before = registers,
	};

	*cfa = 0;
	*is_signal = false;
	if (!step.row || !find_cfa(&step, &step.frame.cfa))
		return HEAP_DWARF_UNWIND_LOST;
	*cfa = step.frame.cfa;
	*is_signal = step.row->is_signal;
	for (unsigned i = 0; i < HEAP_DWARF_REGISTERS; i++) {
		if (i != HEAP_DWARF_REGISTER_SP)
			apply_rule(&step, i);
	}
	// The stack pointer before the call is the CFA, unless a rule says otherwise.
	if (step.row->rules[HEAP_DWARF_REGISTER_SP].kind != HEAP_DWARF_FRAME_SAME)
		apply_rule(&step, HEAP_DWARF_REGISTER_SP);
	if (!is_known(&step.after, HEAP_DWARF_REGISTER_SP))
		set_value(&step, HEAP_DWARF_REGISTER_SP, step.frame.cfa);

	enum heap_dwarf_unwind_result result = find_return_address(&step);

	if (result == HEAP_DWARF_UNWIND_CALLER)
		*registers = step.after;
	return result;
}

// --- signal frames -------------------------------------------------------------

/*
 * The call of rt_sigreturn(2), and where the kernel saves registers, in words from the stack
 * pointer that the trampoline begins with (Linux, struct rt_sigframe in arch/ARCH/kernel/signal.c
 * and struct sigcontext in its uapi/asm/sigcontext.h).
 */
#if defined(__aarch64__)
enum {
	// siginfo, then ucontext's flags, link, stack and mask; then the fault's address.
	SAVED_AT = 128 + 176 + 8,
};

static const uint8_t trampoline[] = {
	0x68, 0x11, 0x80, 0xd2, // mov x8, #__NR_rt_sigreturn
	0x01, 0x00, 0x00, 0xd4, // svc #0
};
// x0 to x30, sp, pc: as DWARF and HEAP_DWARF_REGISTER_PC number them.
static const uint8_t saved_words[] = {
	0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
};
#else
enum {
	SAVED_AT = 40, // ucontext's flags, link and stack; the return address is popped
};

static const uint8_t trampoline[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, // mov $__NR_rt_sigreturn, %rax
	0x0f, 0x05,                               // syscall
};
// By DWARF number; the kernel's order is r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
static const uint8_t saved_words[] = {
	13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16,
};
#endif

bool heap_dwarf_unwinder_step_signal(heap_dwarf_memory_reader *read, void *context,
				     struct heap_dwarf_registers *registers, uint64_t *cfa)
{
	struct heap_dwarf_registers after = { 0 };
	uint64_t words[sizeof(saved_words)];
	uint8_t code[sizeof(trampoline)];
	uint64_t at = registers->value[HEAP_DWARF_REGISTER_SP] + SAVED_AT;

	if (!is_known(registers, HEAP_DWARF_REGISTER_SP) ||
	    !is_known(registers, HEAP_DWARF_REGISTER_PC) ||
	    !read(context, registers->value[HEAP_DWARF_REGISTER_PC], code, sizeof(code)) ||
	    memcmp(code, trampoline, sizeof(code)) != 0 || !read(context, at, words, sizeof(words)))
		return false;
	for (unsigned i = 0; i < sizeof(saved_words); i++) {
		after.value[i] = words[saved_words[i]];
		after.known |= UINT64_C(1) << i;
		after.saved_at[i] = at + saved_words[i] * sizeof(words[0]);
	}
	*registers = after;
	*cfa = after.value[HEAP_DWARF_REGISTER_SP];
	return true;
}

// --- guessing ----------------------------------------------------------------

// True if the instruction before a return address is a call.
static bool follows_call(uint64_t address, heap_dwarf_memory_reader *read, void *context)
{
#if defined(__aarch64__)
	uint32_t instruction;

	return read(context, address - 4, &instruction, 4) &&
	       ((instruction & 0xfc000000) == 0x94000000 || // bl
		(instruction & 0xfffffc1f) == 0xd63f0000);  // blr
#else
	uint8_t bytes[7];

	if (!read(context, address - 7, bytes, sizeof(bytes)))
		return false;
	if (bytes[2] == 0xe8) // call rel32
		return true;
	// ff /2: call through a register or memory, 2 to 7 bytes long.
	for (int at = 0; at <= 5; at++) {
		if (bytes[at] == 0xff && (bytes[at + 1] >> 3 & 7) == 2)
			return true;
	}
	return false;
#endif
}

// The return address of a call that has just been made. @param sp  gets the caller's stack pointer
static bool read_return_address(const struct heap_dwarf_registers *registers,
				heap_dwarf_memory_reader *read, void *context, uint64_t *address,
				uint64_t *sp)
{
	*sp = registers->value[HEAP_DWARF_REGISTER_SP];
#if defined(__aarch64__)
	(void)read;
	(void)context;
	*address = strip_signature(registers->value[HEAP_DWARF_REGISTER_LINK]);
	return is_known(registers, HEAP_DWARF_REGISTER_LINK);
#else
	if (!read(context, *sp, address, sizeof(*address)))
		return false;
	*sp += sizeof(*address);
	return true;
#endif
}

bool heap_dwarf_unwinder_step_wild(heap_dwarf_memory_reader *read, heap_dwarf_code_test *is_code,
				   void *context, struct heap_dwarf_registers *registers,
				   uint64_t *cfa)
{
	uint64_t address, sp;

	if (!is_known(registers, HEAP_DWARF_REGISTER_SP) ||
	    !is_known(registers, HEAP_DWARF_REGISTER_PC) ||
	    is_code(context, registers->value[HEAP_DWARF_REGISTER_PC]) ||
	    !read_return_address(registers, read, context, &address, &sp) ||
	    !is_code(context, address) || !follows_call(address, read, context))
		return false;
	registers->value[HEAP_DWARF_REGISTER_PC] = address;
	registers->value[HEAP_DWARF_REGISTER_SP] = *cfa = sp;
	return true;
}

bool heap_dwarf_unwinder_guess_frame_pointer(heap_dwarf_memory_reader *read,
					     heap_dwarf_code_test *is_code, void *context,
					     struct heap_dwarf_registers *registers)
{
	uint64_t sp = registers->value[HEAP_DWARF_REGISTER_SP];
	uint64_t words[2];

	if (!is_known(registers, HEAP_DWARF_REGISTER_SP))
		return false;
	for (uint64_t slot = (sp + 7) & ~UINT64_C(7); slot < sp + SEARCH_WORDS * 8; slot += 8) {
		if (!read(context, slot, words, sizeof(words)))
			return false;
		// A saved frame pointer leads up the stack; that of the outermost frame may be
		// anything small.
		bool plausible =
			(words[0] > slot && words[0] - slot < SEARCH_REACH) || words[0] < 4096;

		words[1] = strip_signature(words[1]);
		if (!plausible || !is_code(context, words[1]) ||
		    !follows_call(words[1], read, context))
			continue;
		registers->value[HEAP_DWARF_REGISTER_FRAME] = slot;
		registers->saved_at[HEAP_DWARF_REGISTER_FRAME] = 0;
		registers->known |= UINT64_C(1) << HEAP_DWARF_REGISTER_FRAME;
		return true;
	}
	return false;
}
