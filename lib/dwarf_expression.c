// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf_expression.h"

enum {
	MAX_STACK = 64,
	MAX_STEPS = 10000,
};

struct machine {
	const struct heap_expression_frame *frame;
	uint64_t stack[MAX_STACK];
	unsigned depth;
	enum heap_expression_kind kind;
	bool is_fixed;
};

struct operation {
	Dwarf_Small atom;
	Dwarf_Unsigned first, second, third, offset;
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

static bool compute(struct machine *machine, Dwarf_Small atom)
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

static bool rearrange(struct machine *machine, Dwarf_Small atom, uint64_t operand)
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

static bool change_top(struct machine *machine, const struct operation *operation)
{
	if (machine->depth == 0)
		return false;

	uint64_t *top = &machine->stack[machine->depth - 1];

	switch (operation->atom) {
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
		*top += operation->first;
		return true;
	}
}

static bool name_register(struct machine *machine, uint64_t number)
{
	machine->kind = HEAP_EXPRESSION_REGISTER;
	return push(machine, number);
}

static bool step(struct machine *machine, const struct operation *operation)
{
	const struct heap_expression_frame *frame = machine->frame;
	Dwarf_Small atom = operation->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(machine, atom - DW_OP_lit0);
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		return name_register(machine, atom - DW_OP_reg0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(machine, atom - DW_OP_breg0, operation->first);
	switch (atom) {
	case DW_OP_addr:
		machine->is_fixed = true;
		return push(machine, operation->first + frame->bias);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(machine, operation->first);
	case DW_OP_regx:
		return name_register(machine, operation->first);
	case DW_OP_bregx:
		return push_register(machine, operation->first, operation->second);
	case DW_OP_fbreg:
		return frame->has_frame_base && push(machine, frame->frame_base + operation->first);
	case DW_OP_call_frame_cfa:
		return frame->cfa != 0 && push(machine, frame->cfa);
	case DW_OP_deref:
		return dereference(machine, 8);
	case DW_OP_deref_size:
		return dereference(machine, operation->first);
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_swap:
	case DW_OP_rot:
		return rearrange(machine, atom, operation->first);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return change_top(machine, operation);
	case DW_OP_stack_value:
		machine->kind = HEAP_EXPRESSION_VALUE;
		return machine->depth > 0;
	case DW_OP_nop:
		return true;
	default:
		return compute(machine, atom);
	}
}

static bool read_operation(Dwarf_Locdesc_c expression, uint64_t index, struct operation *result)
{
	Dwarf_Error error = NULL;

	return dwarf_get_location_op_value_c(expression, index, &result->atom, &result->first,
					     &result->second, &result->third, &result->offset,
					     &error) == DW_DLV_OK;
}

// The operation that begins at an offset in the expression, for branches.
static bool find_operation(Dwarf_Locdesc_c expression, uint64_t operations, uint64_t offset,
			   uint64_t *index)
{
	struct operation operation;

	for (*index = 0; *index < operations; (*index)++) {
		if (!read_operation(expression, *index, &operation))
			return false;
		if (operation.offset == offset)
			return true;
	}
	return false;
}

bool heap_expression_evaluate(Dwarf_Locdesc_c expression, uint64_t operations,
			      const struct heap_expression_frame *frame, const uint64_t *initial,
			      struct heap_expression_result *result)
{
	struct machine machine = { .frame = frame, .kind = HEAP_EXPRESSION_ADDRESS };
	struct operation operation;
	uint64_t index = 0;

	if (initial && !push(&machine, *initial))
		return false;
	for (int steps = 0; index < operations; steps++) {
		if (steps == MAX_STEPS || !read_operation(expression, index, &operation))
			return false;
		index++;
		if (operation.atom == DW_OP_bra || operation.atom == DW_OP_skip) {
			if (operation.atom == DW_OP_bra &&
			    (machine.depth == 0 || machine.stack[--machine.depth] == 0))
				continue;
			// Three bytes are the operation's own.
			if (!find_operation(expression, operations,
					    operation.offset + 3 +
						    (uint64_t)(int16_t)operation.first,
					    &index))
				return false;
			continue;
		}
		// A value in pieces is more than a pointer, or in several places.
		if (!step(&machine, &operation))
			return false;
	}
	if (machine.depth == 0)
		return false;
	*result = (struct heap_expression_result){
		.kind = machine.kind,
		.is_fixed = machine.is_fixed,
		.value = machine.stack[machine.depth - 1],
	};
	return true;
}

bool heap_expression_evaluate_bytes(struct heap_dwarf_file *file, const void *bytes, uint64_t size,
				    const struct heap_expression_frame *frame,
				    const uint64_t *initial, struct heap_expression_result *result)
{
	Dwarf_Loc_Head_c head = NULL;
	Dwarf_Unsigned count = 0;
	Dwarf_Error error = NULL;
	bool done = false;
	Dwarf_Small kind, source;
	Dwarf_Addr low, high;
	Dwarf_Unsigned operations, expression_offset, entry_offset;
	Dwarf_Locdesc_c expression;

	if (dwarf_loclist_from_expr_c(file->debug, (void *)bytes, size, 8, 4, 4, &head, &count,
				      &error) != DW_DLV_OK) {
		dwarf_dealloc_error(file->debug, error);
		return false;
	}
	if (dwarf_get_locdesc_entry_c(head, 0, &kind, &low, &high, &operations, &expression,
				      &source, &expression_offset, &entry_offset,
				      &error) == DW_DLV_OK)
		done = heap_expression_evaluate(expression, operations, frame, initial, result);
	dwarf_loc_head_c_dealloc(head);
	return done;
}
