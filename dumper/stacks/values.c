// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/values.h"

#include <stddef.h>

const uint8_t heapsnap_parameters[HEAPSNAP_VALUE_PARAMETERS] = {
	HEAPSNAP_RDI, HEAPSNAP_RSI, HEAPSNAP_RDX, HEAPSNAP_RCX, HEAPSNAP_R8, HEAPSNAP_R9,
};

// --- single values --------------------------------------------------------------------------

static struct heapsnap_value make(enum heapsnap_value_kind kind, uint8_t of, int64_t number)
{
	bool fits = number > INT16_MIN && number < INT16_MAX;

	if (kind == HEAPSNAP_VALUE_STACK && !fits)
		kind = HEAPSNAP_VALUE_OTHER;
	return (struct heapsnap_value){ (uint8_t)kind, of, fits ? (int16_t)number : INT16_MAX };
}

static const struct heapsnap_value unknown = { HEAPSNAP_VALUE_OTHER, 0, 0 };

static bool is_same(struct heapsnap_value a, struct heapsnap_value b)
{
	return a.kind == b.kind && a.parameters == b.parameters && a.number == b.number;
}

// Joins the values that two paths lead to.
static struct heapsnap_value join(struct heapsnap_value a, struct heapsnap_value b)
{
	if (is_same(a, b))
		return a;
	if (a.kind == HEAPSNAP_VALUE_BLOCK || b.kind == HEAPSNAP_VALUE_BLOCK)
		return a.kind == HEAPSNAP_VALUE_BLOCK ? a : b;
	// n ? n : 1
	if ((a.kind == HEAPSNAP_VALUE_PARAMETER || a.kind == HEAPSNAP_VALUE_CONSTANT) &&
	    (b.kind == HEAPSNAP_VALUE_PARAMETER || b.kind == HEAPSNAP_VALUE_CONSTANT))
		return make(a.kind == HEAPSNAP_VALUE_PARAMETER || b.kind == HEAPSNAP_VALUE_PARAMETER
				    ? HEAPSNAP_VALUE_PARAMETER
				    : HEAPSNAP_VALUE_CONSTANT,
			    a.parameters | b.parameters, INT16_MAX);
	return unknown;
}

// @param sign  -1: subtracted
static struct heapsnap_value add(struct heapsnap_value a, struct heapsnap_value b, int sign)
{
	if (a.kind == HEAPSNAP_VALUE_BLOCK)
		return a;
	if (b.kind == HEAPSNAP_VALUE_BLOCK && sign > 0)
		return b;
	if (b.kind == HEAPSNAP_VALUE_CONSTANT && a.kind == HEAPSNAP_VALUE_STACK &&
	    b.number != INT16_MAX)
		return make(HEAPSNAP_VALUE_STACK, 0, a.number + sign * b.number);
	if (b.kind == HEAPSNAP_VALUE_CONSTANT && a.kind == HEAPSNAP_VALUE_CONSTANT)
		return make(HEAPSNAP_VALUE_CONSTANT, 0, INT16_MAX);
	if (a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_CONSTANT)
		return a;
	if (b.kind == HEAPSNAP_VALUE_PARAMETER && a.kind == HEAPSNAP_VALUE_CONSTANT && sign > 0)
		return b;
	// Twice the same is a multiple.
	if (a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_PARAMETER && sign > 0 &&
	    a.parameters != b.parameters)
		return make(HEAPSNAP_VALUE_PARAMETER, a.parameters | b.parameters, 0);
	return unknown;
}

static struct heapsnap_value multiply(struct heapsnap_value a, struct heapsnap_value b)
{
	return a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_PARAMETER &&
			       a.parameters != b.parameters
		       ? make(HEAPSNAP_VALUE_PARAMETER, a.parameters | b.parameters, 0)
		       : unknown;
}

// --- registers and the stack ------------------------------------------------------------

// The slot of an address on the stack; NULL if none is kept.
static struct heapsnap_value *slot_at(struct heapsnap_values *values, struct heapsnap_value address,
				      int64_t displacement)
{
	int64_t below = -(address.number + displacement) / 4 - 1;

	return address.kind == HEAPSNAP_VALUE_STACK && below >= 0 && below < HEAPSNAP_VALUE_SLOTS
		       ? &values->slots[below]
		       : NULL;
}

// The slot that an instruction's operand is; NULL if it is other memory.
static struct heapsnap_value *operand_slot(struct heapsnap_values *values,
					   const struct heapsnap_instruction *instruction)
{
	if (instruction->base == HEAPSNAP_NO_REGISTER || instruction->is_based ||
	    instruction->index != HEAPSNAP_NO_REGISTER)
		return NULL;
	return slot_at(values, values->registers[instruction->base], instruction->displacement);
}

static struct heapsnap_value read_operand(struct heapsnap_values *values,
					  const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value *slot;

	if (!instruction->is_memory)
		return values->registers[instruction->rm];
	slot = operand_slot(values, instruction);
	return slot ? *slot : unknown;
}

static void write_operand(struct heapsnap_values *values,
			  const struct heapsnap_instruction *instruction,
			  struct heapsnap_value value)
{
	struct heapsnap_value *slot;

	if (!instruction->is_memory) {
		values->registers[instruction->rm] = value;
		return;
	}
	slot = operand_slot(values, instruction);
	if (slot)
		*slot = value;
}

static void push(struct heapsnap_values *values, struct heapsnap_value value)
{
	struct heapsnap_value *slot;

	values->registers[HEAPSNAP_RSP] =
		add(values->registers[HEAPSNAP_RSP], make(HEAPSNAP_VALUE_CONSTANT, 0, 8), -1);
	slot = slot_at(values, values->registers[HEAPSNAP_RSP], 0);
	if (slot)
		*slot = value;
}

static struct heapsnap_value pop(struct heapsnap_values *values)
{
	struct heapsnap_value *slot = slot_at(values, values->registers[HEAPSNAP_RSP], 0);

	values->registers[HEAPSNAP_RSP] =
		add(values->registers[HEAPSNAP_RSP], make(HEAPSNAP_VALUE_CONSTANT, 0, 8), 1);
	return slot ? *slot : unknown;
}

// The address that lea computes.
static struct heapsnap_value address_of(const struct heapsnap_values *values,
					const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value sum = make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->displacement);

	if (instruction->is_relative)
		return unknown;
	if (instruction->base != HEAPSNAP_NO_REGISTER)
		sum = add(values->registers[instruction->base], sum, 1);
	if (instruction->index != HEAPSNAP_NO_REGISTER)
		sum = instruction->scale ? unknown
					 : add(sum, values->registers[instruction->index], 1);
	return sum;
}

// --- instructions ---------------------------------------------------------------------------

// add, or, adc, sbb, and, sub, xor, cmp, by their numbers.
static struct heapsnap_value arithmetic(uint8_t operation, struct heapsnap_value to,
					struct heapsnap_value by)
{
	switch (operation) {
	case 0:
	case 2:
		return add(to, by, 1);
	case 3:
	case 5:
		return add(to, by, -1);
	case 1: // (x | 7) + 1, x & ~7: rounding
	case 4:
		return (to.kind == HEAPSNAP_VALUE_PARAMETER || to.kind == HEAPSNAP_VALUE_BLOCK) &&
				       by.kind == HEAPSNAP_VALUE_CONSTANT
			       ? to
			       : unknown;
	default:
		return unknown;
	}
}

enum {
	COMPARE = 7,
	EXCLUSIVE_OR = 6,
};

// The instructions below 0x40, whose two operands are both given.
static void step_arithmetic(struct heapsnap_values *values,
			    const struct heapsnap_instruction *instruction)
{
	uint8_t operation = instruction->opcode >> 3, form = instruction->opcode & 7;
	struct heapsnap_value operand, other, result;

	if (operation == COMPARE)
		return;
	if (form >= 4) { // eax and a constant
		values->registers[HEAPSNAP_RAX] =
			arithmetic(operation, values->registers[HEAPSNAP_RAX],
				   make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
		return;
	}
	operand = read_operand(values, instruction);
	other = values->registers[instruction->reg];
	result = form & 2 ? arithmetic(operation, other, operand)
			  : arithmetic(operation, operand, other);
	if (operation == EXCLUSIVE_OR && !instruction->is_memory &&
	    instruction->reg == instruction->rm)
		result = make(HEAPSNAP_VALUE_CONSTANT, 0, 0);
	if (!(form & 1))
		result = unknown; // of one byte
	if (form & 2)
		values->registers[instruction->reg] = result;
	else
		write_operand(values, instruction, result);
}

static void step_with_constant(struct heapsnap_values *values,
			       const struct heapsnap_instruction *instruction)
{
	uint8_t operation = instruction->reg & 7;

	if (operation != COMPARE)
		write_operand(values, instruction,
			      instruction->opcode == 0x80
				      ? unknown
				      : arithmetic(operation, read_operand(values, instruction),
						   make(HEAPSNAP_VALUE_CONSTANT, 0,
							instruction->immediate)));
}

// not, neg, mul, div, and test.
static void step_multiply(struct heapsnap_values *values,
			  const struct heapsnap_instruction *instruction)
{
	uint8_t operation = instruction->reg & 7;

	if (operation < 2)
		return;
	if (operation < 4) {
		write_operand(values, instruction, unknown);
		return;
	}
	values->registers[HEAPSNAP_RAX] = operation < 6
						  ? multiply(values->registers[HEAPSNAP_RAX],
							     read_operand(values, instruction))
						  : unknown;
	values->registers[HEAPSNAP_RDX] = unknown;
}

static void step_move(struct heapsnap_values *values,
		      const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value value;

	switch (instruction->opcode) {
	case 0x88:
		write_operand(values, instruction, unknown);
		break;
	case 0x89:
		write_operand(values, instruction, values->registers[instruction->reg]);
		break;
	case 0x8a:
		values->registers[instruction->reg] = unknown;
		break;
	case 0x8b:
	case 0x63: // with the sign of an int
		values->registers[instruction->reg] = read_operand(values, instruction);
		break;
	case 0x8d:
		values->registers[instruction->reg] = address_of(values, instruction);
		break;
	case 0x8f:
		value = pop(values);
		write_operand(values, instruction, value);
		break;
	case 0x86:
	case 0x87:
		value = read_operand(values, instruction);
		write_operand(values, instruction, values->registers[instruction->reg]);
		values->registers[instruction->reg] = value;
		break;
	default: // test, moves of segment registers
		break;
	}
}

// inc, dec, push; calls and jumps through pointers are none of these.
static bool step_group(struct heapsnap_values *values,
		       const struct heapsnap_instruction *instruction)
{
	switch (instruction->reg & 7) {
	case 0:
	case 1:
		write_operand(values, instruction,
			      add(read_operand(values, instruction),
				  make(HEAPSNAP_VALUE_CONSTANT, 0, 1), 1));
		return true;
	case 6:
		push(values, read_operand(values, instruction));
		return true;
	default:
		return false;
	}
}

// Single opcodes.
static bool step_other(struct heapsnap_values *values,
		       const struct heapsnap_instruction *instruction)
{
	switch (instruction->opcode) {
	case 0x68:
	case 0x6a:
		push(values, make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
		break;
	case 0x69:
	case 0x6b:
		values->registers[instruction->reg] = unknown;
		break;
	case 0x99:
		values->registers[HEAPSNAP_RDX] = unknown;
		break;
	case 0xa4: // string operations
	case 0xa5:
	case 0xaa:
	case 0xab:
		values->registers[HEAPSNAP_RDI] = values->registers[HEAPSNAP_RSI] = unknown;
		values->registers[HEAPSNAP_RCX] = unknown;
		break;
	case 0xc9:
		values->registers[HEAPSNAP_RSP] = values->registers[HEAPSNAP_RBP];
		values->registers[HEAPSNAP_RBP] = pop(values);
		break;
	case 0xff:
		return step_group(values, instruction);
	case 0x90:
	case 0x98:
	case 0xa8:
	case 0xa9:
	case 0xfc:
	case 0xfd:
		break;
	default:
		return false;
	}
	return true;
}

static bool step_one(struct heapsnap_values *values, const struct heapsnap_instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (opcode < 0x40)
		step_arithmetic(values, instruction);
	else if (opcode < 0x58)
		push(values, values->registers[instruction->rm]);
	else if (opcode < 0x60)
		values->registers[instruction->rm] = pop(values);
	else if (opcode >= 0x80 && opcode < 0x84)
		step_with_constant(values, instruction);
	else if (opcode == 0x63 || (opcode >= 0x84 && opcode < 0x90))
		step_move(values, instruction);
	else if (opcode > 0x90 && opcode < 0x98)
		values->registers[HEAPSNAP_RAX] = values->registers[instruction->rm] = unknown;
	else if ((opcode & 0xf8) == 0xb8)
		values->registers[instruction->rm] =
			make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate);
	else if ((opcode & 0xf8) == 0xb0)
		values->registers[instruction->rm] = unknown;
	else if (opcode == 0xc0 || opcode == 0xc1 || (opcode >= 0xd0 && opcode < 0xd4))
		write_operand(values, instruction, unknown);
	else if (opcode == 0xc6 || opcode == 0xc7)
		write_operand(values, instruction,
			      make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
	else if (opcode == 0xf6 || opcode == 0xf7)
		step_multiply(values, instruction);
	else if (opcode < 0xd8 || opcode >= 0xe0) // those are the floating-point unit's
		return step_other(values, instruction);
	return true;
}

// Vector instructions change registers that matter here in a few cases only.
static bool changes_register(uint8_t opcode)
{
	return opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xc5 ||
	       opcode == 0xd7 || (opcode >= 0xb8 && opcode <= 0xbd);
}

static bool step_two(struct heapsnap_values *values, const struct heapsnap_instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (opcode == 0x05 || opcode == 0x31 || opcode == 0xa2)
		return false;
	if ((opcode & 0xf0) == 0x40)
		values->registers[instruction->reg] = join(values->registers[instruction->reg],
							   read_operand(values, instruction));
	else if ((opcode & 0xf0) == 0x90 || opcode == 0x7e)
		write_operand(values, instruction, unknown);
	else if (opcode == 0xaf)
		values->registers[instruction->reg] = multiply(values->registers[instruction->reg],
							       read_operand(values, instruction));
	else if (opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf)
		values->registers[instruction->reg] = read_operand(values, instruction);
	else if (opcode == 0xb0 || opcode == 0xb1)
		values->registers[HEAPSNAP_RAX] = unknown;
	else if (opcode == 0xc0 || opcode == 0xc1 || changes_register(opcode))
		values->registers[instruction->reg] = unknown;
	else if ((opcode & 0xf8) == 0xc8)
		values->registers[instruction->rm] = unknown;
	return true;
}

// Vector instructions, and those that came late: they write to few registers that matter here.
static void step_late(struct heapsnap_values *values,
		      const struct heapsnap_instruction *instruction)
{
	if (instruction->map == HEAPSNAP_MAP_0F ? changes_register(instruction->opcode)
						: instruction->opcode >= 0xf0)
		values->registers[instruction->reg] = unknown;
}

bool heapsnap_values_step(struct heapsnap_values *values,
			  const struct heapsnap_instruction *instruction)
{
	bool is_known = true;

	if (instruction->map == HEAPSNAP_MAP_ONE)
		is_known = step_one(values, instruction);
	else if (instruction->map == HEAPSNAP_MAP_0F && !instruction->is_vector)
		is_known = step_two(values, instruction);
	else
		step_late(values, instruction);
	return is_known && values->registers[HEAPSNAP_RSP].kind == HEAPSNAP_VALUE_STACK;
}

// --- all of them ----------------------------------------------------------------------

void heapsnap_values_init(struct heapsnap_values *values)
{
	*values = (struct heapsnap_values){ 0 };
	for (int i = 0; i < HEAPSNAP_VALUE_PARAMETERS; i++)
		values->registers[heapsnap_parameters[i]] =
			make(HEAPSNAP_VALUE_PARAMETER, (uint8_t)(1 << i), 0);
	values->registers[HEAPSNAP_RSP] = make(HEAPSNAP_VALUE_STACK, 0, 0);
}

// Where the stack differs, the code before the jump's target does not run on: it calls abort().
void heapsnap_values_join(struct heapsnap_values *values, const struct heapsnap_values *other)
{
	if (!is_same(values->registers[HEAPSNAP_RSP], other->registers[HEAPSNAP_RSP])) {
		*values = *other;
		return;
	}
	for (int i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++)
		values->registers[i] = join(values->registers[i], other->registers[i]);
	for (int i = 0; i < HEAPSNAP_VALUE_SLOTS; i++)
		values->slots[i] = join(values->slots[i], other->slots[i]);
}

void heapsnap_values_call(struct heapsnap_values *values, uint8_t passed)
{
	struct heapsnap_value *registers = values->registers;
	// memset() and memcpy() return what they get.
	bool is_returned = registers[HEAPSNAP_RDI].kind == HEAPSNAP_VALUE_BLOCK &&
			   registers[HEAPSNAP_RDX].kind == HEAPSNAP_VALUE_PARAMETER;
	struct heapsnap_value result = passed        ? make(HEAPSNAP_VALUE_BLOCK, passed, 0)
				       : is_returned ? registers[HEAPSNAP_RDI]
						     : unknown;

	for (int i = 0; i <= HEAPSNAP_R11; i++) {
		if (i != HEAPSNAP_RBX && i != HEAPSNAP_RSP && i != HEAPSNAP_RBP)
			registers[i] = unknown;
	}
	registers[HEAPSNAP_RAX] = result;
}
