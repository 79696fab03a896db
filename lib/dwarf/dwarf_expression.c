// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_expression.h"

#include "lib/dwarf/debug_entries.h"
#include "lib/dwarf/dwarf.h"

enum {
	MAX_STACK = 64,
	MAX_STEPS = 10000,
};

struct machine {
	const struct heap_expression_frame *frame;
	struct heap_debug_cursor cursor;
	const uint8_t *start;
	uint64_t stack[MAX_STACK];
	unsigned depth;
	enum heap_expression_kind kind;
	bool is_fixed;
};

static bool push(struct machine *machine, uint64_t value)
{
	if (machine->depth == MAX_STACK)
		return false;
	machine->stack[machine->depth++] = value;
	return true;
}

static bool push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	const struct heap_registers *registers = machine->frame->registers;

	if (number >= HEAP_REGISTERS || !(registers->known >> number & 1))
		return false;
	return push(machine, registers->value[number] + offset);
}

static bool dereference(struct machine *machine, uint64_t size)
{
	uint64_t value = 0;

	if (machine->depth == 0 || size == 0 || size > 8 ||
	    !machine->frame->read(machine->frame->context, machine->stack[machine->depth - 1],
				  &value, size))
		return false;
	machine->stack[machine->depth - 1] = value;
	return true;
}

static bool compute(struct machine *machine, uint8_t atom)
{
	if (machine->depth < 2)
		return false;

	uint64_t b = machine->stack[--machine->depth];
	uint64_t *a = &machine->stack[machine->depth - 1];
	int64_t left = (int64_t)*a, right = (int64_t)b;

	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_div:
		if (right == 0 || (right == -1 && left == INT64_MIN))
			return false;
		*a = (uint64_t)(left / right);
		return true;
	case DW_OP_mod:
		if (b == 0)
			return false;
		*a %= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_xor:
		*a ^= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_shra:
		// cppcheck-suppress shiftTooManyBitsSigned
		*a = (uint64_t)(left >> (b < 64 ? b : 63));
		return true;
	case DW_OP_eq:
		*a = left == right;
		return true;
	case DW_OP_ne:
		*a = left != right;
		return true;
	case DW_OP_lt:
		*a = left < right;
		return true;
	case DW_OP_le:
		*a = left <= right;
		return true;
	case DW_OP_gt:
		*a = left > right;
		return true;
	case DW_OP_ge:
		*a = left >= right;
		return true;
	default:
		return false;
	}
}

static bool rearrange(struct machine *machine, uint8_t atom, uint64_t operand)
{
	uint64_t *top = machine->stack + machine->depth;
	unsigned needed = atom == DW_OP_rot ? 3 : atom == DW_OP_dup || atom == DW_OP_drop ? 1 : 2;
	uint64_t kept;

	if (atom == DW_OP_pick) {
		if (operand >= machine->depth)
			return false;
		return push(machine, top[-1 - (int64_t)operand]);
	}
	if (machine->depth < needed)
		return false;
	switch (atom) {
	case DW_OP_dup:
		return push(machine, top[-1]);
	case DW_OP_over:
		return push(machine, top[-2]);
	case DW_OP_drop:
		machine->depth--;
		return true;
	case DW_OP_swap:
		kept = top[-1];
		top[-1] = top[-2];
		top[-2] = kept;
		return true;
	default: // DW_OP_rot
		kept = top[-1];
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = kept;
		return true;
	}
}

static bool change_top(struct machine *machine, uint8_t atom)
{
	if (machine->depth == 0)
		return false;

	uint64_t *top = &machine->stack[machine->depth - 1];

	switch (atom) {
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return true;
	case DW_OP_neg:
		*top = -*top;
		return true;
	case DW_OP_not:
		*top = ~*top;
		return true;
	default: // DW_OP_plus_uconst
		*top += heap_debug_unsigned(&machine->cursor);
		return true;
	}
}

static bool name_register(struct machine *machine, uint64_t number)
{
	machine->kind = HEAP_EXPRESSION_REGISTER;
	return push(machine, number);
}

static bool push_constant(struct machine *machine, uint8_t atom)
{
	struct heap_debug_cursor *cursor = &machine->cursor;

	switch (atom) {
	case DW_OP_const1u:
		return push(machine, heap_debug_fixed(cursor, 1));
	case DW_OP_const1s:
		return push(machine, (uint64_t)(int8_t)heap_debug_fixed(cursor, 1));
	case DW_OP_const2u:
		return push(machine, heap_debug_fixed(cursor, 2));
	case DW_OP_const2s:
		return push(machine, (uint64_t)(int16_t)heap_debug_fixed(cursor, 2));
	case DW_OP_const4u:
		return push(machine, heap_debug_fixed(cursor, 4));
	case DW_OP_const4s:
		return push(machine, (uint64_t)(int32_t)heap_debug_fixed(cursor, 4));
	case DW_OP_constu:
		return push(machine, heap_debug_unsigned(cursor));
	case DW_OP_consts:
		return push(machine, (uint64_t)heap_debug_signed(cursor));
	default: // DW_OP_const8u, DW_OP_const8s
		return push(machine, heap_debug_fixed(cursor, 8));
	}
}

// An address that stands in the file.
static bool push_address(struct machine *machine, uint8_t atom)
{
	const struct heap_debug_entries *entries = machine->frame->entries;
	uint64_t address;

	machine->is_fixed = true;
	if (atom == DW_OP_addr)
		address = heap_debug_fixed(&machine->cursor, 8);
	else if (!entries || !heap_debug_entries_address(
				     entries, heap_debug_unsigned(&machine->cursor), &address))
		return false;
	return push(machine, address + machine->frame->bias);
}

static bool push_entry_value(struct machine *machine)
{
	const struct heap_expression_frame *frame = machine->frame;
	uint64_t size = heap_debug_unsigned(&machine->cursor), value;
	const uint8_t *bytes = heap_debug_skip(&machine->cursor, size);

	return bytes && frame->entry_value &&
	       frame->entry_value(frame->entry_context, bytes, size, &value) &&
	       push(machine, value);
}

// To another operation of the expression.
static bool branch(struct machine *machine, uint8_t atom)
{
	struct heap_debug_cursor *cursor = &machine->cursor;
	int16_t distance = (int16_t)heap_debug_fixed(cursor, 2);

	if (atom == DW_OP_bra) {
		if (machine->depth == 0)
			return false;
		if (machine->stack[--machine->depth] == 0)
			return true;
	}
	if (distance < machine->start - cursor->at || distance > cursor->end - cursor->at)
		return false;
	cursor->at += distance;
	return true;
}

static bool step(struct machine *machine)
{
	const struct heap_expression_frame *frame = machine->frame;
	struct heap_debug_cursor *cursor = &machine->cursor;
	uint8_t atom = heap_debug_fixed(cursor, 1);
	uint64_t number;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(machine, atom - DW_OP_lit0);
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		return name_register(machine, atom - DW_OP_reg0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(machine, atom - DW_OP_breg0,
				     (uint64_t)heap_debug_signed(cursor));
	if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		return push_constant(machine, atom);
	switch (atom) {
	case DW_OP_addr:
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_address(machine, atom);
	case DW_OP_regx:
		return name_register(machine, heap_debug_unsigned(cursor));
	case DW_OP_bregx:
		number = heap_debug_unsigned(cursor);
		return push_register(machine, number, (uint64_t)heap_debug_signed(cursor));
	case DW_OP_fbreg:
		number = (uint64_t)heap_debug_signed(cursor);
		return frame->has_frame_base && push(machine, frame->frame_base + number);
	case DW_OP_call_frame_cfa:
		return frame->cfa != 0 && push(machine, frame->cfa);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(machine);
	case DW_OP_deref:
		return dereference(machine, 8);
	case DW_OP_deref_size:
		return dereference(machine, heap_debug_fixed(cursor, 1));
	case DW_OP_pick:
		return rearrange(machine, atom, heap_debug_fixed(cursor, 1));
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
		return rearrange(machine, atom, 0);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return change_top(machine, atom);
	case DW_OP_bra:
	case DW_OP_skip:
		return branch(machine, atom);
	case DW_OP_stack_value:
		machine->kind = HEAP_EXPRESSION_VALUE;
		return machine->depth > 0;
	case DW_OP_nop:
		return true;
	default:
		// Among others a value in pieces: it is more than a pointer, or in several places.
		return compute(machine, atom);
	}
}

bool heap_expression_evaluate(const uint8_t *bytes, uint64_t size,
			      const struct heap_expression_frame *frame, const uint64_t *initial,
			      struct heap_expression_result *result)
{
	struct machine machine = { .frame = frame,
				   .kind = HEAP_EXPRESSION_ADDRESS,
				   .cursor = { bytes, bytes + size, false },
				   .start = bytes };

	if (!size || (initial && !push(&machine, *initial)))
		return false;
	for (int steps = 0; machine.cursor.at < machine.cursor.end; steps++)
		if (steps == MAX_STEPS || !step(&machine) || machine.cursor.bad)
			return false;
	if (machine.depth == 0)
		return false;
	*result = (struct heap_expression_result){
		.kind = machine.kind,
		.is_fixed = machine.is_fixed,
		.value = machine.stack[machine.depth - 1],
	};
	return true;
}
