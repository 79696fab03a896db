// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_expression.h"

#include "lib/base/search.h"
#include "lib/dwarf/dwarf_dies.h"
#include "lib/dwarf/dwarf_library.h"

enum {
	MAX_STACK = 64,
	MAX_STEPS = 10000,
	MAX_SIZE = 1 << 16, // bytes of an expression, for each of which libdwarf may allocate
};

// --- decoding --------------------------------------------------------------------------------

static bool read_operation(const struct heap_dwarf_object *object, Dwarf_Locdesc_c entry,
			   Dwarf_Unsigned index, struct heap_dwarf_operation *result)
{
	Dwarf_Unsigned first, second, third, offset;
	Dwarf_Small code;
	Dwarf_Error error = NULL;

	if (!heap_dwarf_object_succeeded(object,
					 dwarf_get_location_op_value_c(entry, index, &code, &first,
								       &second, &third, &offset,
								       &error),
					 error))
		return false;
	*result = (struct heap_dwarf_operation){ { first, second }, (uint32_t)offset, code };
	return true;
}

// Replaces the index of an address by the address. @return false if there is none
static bool resolve_address(const struct heap_dwarf_dies *dies,
			    struct heap_dwarf_operation *operation)
{
	if (operation->code != DW_OP_addrx && operation->code != DW_OP_GNU_addr_index)
		return true;
	operation->code = DW_OP_addr;
	return dies &&
	       heap_dwarf_dies_address(dies, operation->operands[0], &operation->operands[0]);
}

struct heap_error *heap_dwarf_expression_append(const struct heap_dwarf_object *object,
						struct Dwarf_Locdesc_c_s *entry, uint64_t count,
						const struct heap_dwarf_dies *dies,
						struct heap_dwarf_operations *result)
{
	size_t start = result->count;

	if (count > MAX_SIZE)
		return NULL;
	HEAP_TRY(heap_array_reserve(result, count));
	for (uint64_t i = 0; i < count; i++) {
		struct heap_dwarf_operation operation;

		if (!read_operation(object, entry, i, &operation) ||
		    !resolve_address(dies, &operation)) {
			result->count = start;
			break;
		}
		result->items[result->count++] = operation;
	}
	return NULL;
}

struct heap_error *heap_dwarf_expression_decode(const struct heap_dwarf_object *object,
						const uint8_t *bytes, uint64_t size,
						const struct heap_dwarf_dies *dies,
						struct heap_dwarf_operations *result)
{
	Dwarf_Loc_Head_c head;
	Dwarf_Locdesc_c entry;
	Dwarf_Unsigned count, low, high, operations, offset, list_offset;
	Dwarf_Addr begin, end;
	Dwarf_Bool unavailable;
	Dwarf_Small kind, source;
	Dwarf_Error error = NULL;
	const struct heap_dwarf_unit *unit = dies ? dies->unit : NULL;
	struct heap_error *failure = NULL;

	if (!object || !bytes || !size || size > MAX_SIZE ||
	    !heap_dwarf_object_succeeded(
		    object,
		    dwarf_loclist_from_expr_c(object->debug, (Dwarf_Ptr)bytes, size,
					      unit ? unit->address_size : 8,
					      unit ? unit->offset_size : 4,
					      unit ? unit->version : 5, &head, &count, &error),
		    error))
		return NULL;
	if (count == 1 &&
	    heap_dwarf_object_succeeded(object,
					dwarf_get_locdesc_entry_d(head, 0, &kind, &low, &high,
								  &unavailable, &begin, &end,
								  &operations, &entry, &source,
								  &offset, &list_offset, &error),
					error))
		failure = heap_dwarf_expression_append(object, entry, operations, dies, result);
	heap_dwarf_dealloc_location_list(head);
	return failure;
}

// --- evaluation ------------------------------------------------------------------------------

struct machine {
	const struct heap_dwarf_expression_frame *frame;
	struct heap_dwarf_expression expression;
	size_t next; // operation
	uint64_t stack[MAX_STACK];
	unsigned depth;
	enum heap_dwarf_expression_kind kind;
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
	const struct heap_dwarf_registers *registers = machine->frame->registers;

	if (number >= HEAP_DWARF_REGISTERS || !(registers->known >> number & 1))
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

static bool compute(struct machine *machine, uint8_t code)
{
	if (machine->depth < 2)
		return false;

	uint64_t b = machine->stack[--machine->depth];
	uint64_t *a = &machine->stack[machine->depth - 1];
	int64_t left = (int64_t)*a, right = (int64_t)b;

	switch (code) {
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

static bool rearrange(struct machine *machine, uint8_t code, uint64_t operand)
{
	uint64_t *top = machine->stack + machine->depth;
	unsigned needed = code == DW_OP_rot ? 3 : code == DW_OP_dup || code == DW_OP_drop ? 1 : 2;
	uint64_t kept;

	if (code == DW_OP_pick) {
		if (operand >= machine->depth)
			return false;
		return push(machine, top[-1 - (int64_t)operand]);
	}
	if (machine->depth < needed)
		return false;
	switch (code) {
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

static bool change_top(struct machine *machine, const struct heap_dwarf_operation *operation)
{
	if (machine->depth == 0)
		return false;

	uint64_t *top = &machine->stack[machine->depth - 1];

	switch (operation->code) {
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
		*top += operation->operands[0];
		return true;
	}
}

static bool name_register(struct machine *machine, uint64_t number)
{
	machine->kind = HEAP_DWARF_EXPRESSION_REGISTER;
	return push(machine, number);
}

// An address that stands in the file.
static bool push_address(struct machine *machine, uint64_t address)
{
	machine->is_fixed = true;
	return push(machine, address + machine->frame->bias);
}

static bool push_entry_value(struct machine *machine, const struct heap_dwarf_operation *operation)
{
	const struct heap_dwarf_expression_frame *frame = machine->frame;
	uint64_t value;

	return frame->entry_value && frame->entry_value(frame->entry_context, operation, &value) &&
	       push(machine, value);
}

// To another operation of the expression, or behind the last one. The distance counts from the
// end of this operation, which has three bytes.
static bool branch(struct machine *machine, const struct heap_dwarf_operation *operation)
{
	struct heap_dwarf_expression expression = machine->expression;
	int64_t target = (int64_t)operation->offset + 3 + (int16_t)operation->operands[0];

	if (operation->code == DW_OP_bra) {
		if (machine->depth == 0)
			return false;
		if (machine->stack[--machine->depth] == 0)
			return true;
	}
	machine->next = heap_partition_point(i, 0, expression.count,
					     (int64_t)expression.operations[i].offset < target);
	return machine->next == expression.count ||
	       (int64_t)expression.operations[machine->next].offset == target;
}

static bool step(struct machine *machine)
{
	const struct heap_dwarf_expression_frame *frame = machine->frame;
	const struct heap_dwarf_operation *operation =
		&machine->expression.operations[machine->next++];
	const uint64_t *operands = operation->operands;
	uint8_t code = operation->code;

	if (code >= DW_OP_lit0 && code <= DW_OP_lit31)
		return push(machine, code - DW_OP_lit0);
	if (code >= DW_OP_reg0 && code <= DW_OP_reg31)
		return name_register(machine, code - DW_OP_reg0);
	if (code >= DW_OP_breg0 && code <= DW_OP_breg31)
		return push_register(machine, code - DW_OP_breg0, operands[0]);
	if (code >= DW_OP_const1u && code <= DW_OP_consts)
		return push(machine, operands[0]);
	switch (code) {
	case DW_OP_addr:
		return push_address(machine, operands[0]);
	case DW_OP_regx:
		return name_register(machine, operands[0]);
	case DW_OP_bregx:
		return push_register(machine, operands[0], operands[1]);
	case DW_OP_fbreg:
		return frame->has_frame_base && push(machine, frame->frame_base + operands[0]);
	case DW_OP_call_frame_cfa:
		return frame->cfa != 0 && push(machine, frame->cfa);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(machine, operation);
	case DW_OP_deref:
		return dereference(machine, 8);
	case DW_OP_deref_size:
		return dereference(machine, operands[0]);
	case DW_OP_pick:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
		return rearrange(machine, code, operands[0]);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return change_top(machine, operation);
	case DW_OP_bra:
	case DW_OP_skip:
		return branch(machine, operation);
	case DW_OP_stack_value:
		machine->kind = HEAP_DWARF_EXPRESSION_VALUE;
		return machine->depth > 0;
	case DW_OP_nop:
		return true;
	default:
		// Among others a value in pieces: it is more than a pointer, or in several places.
		return compute(machine, code);
	}
}

bool heap_dwarf_expression_evaluate(struct heap_dwarf_expression expression,
				    const struct heap_dwarf_expression_frame *frame,
				    const uint64_t *initial,
				    struct heap_dwarf_expression_result *result)
{
	struct machine machine = { .frame = frame,
				   .kind = HEAP_DWARF_EXPRESSION_ADDRESS,
				   .expression = expression };

	if (!expression.count || (initial && !push(&machine, *initial)))
		return false;
	for (int steps = 0; machine.next < expression.count; steps++)
		if (steps == MAX_STEPS || !step(&machine))
			return false;
	if (machine.depth == 0)
		return false;
	*result = (struct heap_dwarf_expression_result){
		.kind = machine.kind,
		.is_fixed = machine.is_fixed,
		.value = machine.stack[machine.depth - 1],
	};
	return true;
}
