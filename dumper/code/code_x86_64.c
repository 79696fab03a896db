// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * x86-64 for values.h and code_flow.h: the effect of its instructions, and where they lead.
 */
#include "dumper/code/code_flow.h"
#include "dumper/code/machine_code.h"
#include "dumper/code/values.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)

const uint8_t heapsnap_parameters[HEAPSNAP_VALUE_PARAMETERS] = {
	HEAPSNAP_RDI, HEAPSNAP_RSI, HEAPSNAP_RDX, HEAPSNAP_RCX, HEAPSNAP_R8, HEAPSNAP_R9,
};

// --- registers and the stack ------------------------------------------------------------

// The slot that an instruction's operand is; NULL if it is other memory.
static struct heapsnap_value *operand_slot(struct heapsnap_values *values,
					   const struct heapsnap_instruction *instruction)
{
	if (instruction->base == HEAPSNAP_NO_REGISTER || instruction->is_based ||
	    instruction->index != HEAPSNAP_NO_REGISTER)
		return NULL;
	return heapsnap_values_slot(values, values->registers[instruction->base],
				    instruction->displacement);
}

static struct heapsnap_value read_operand(struct heapsnap_values *values,
					  const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value *slot;

	if (!instruction->is_memory)
		return values->registers[instruction->rm];
	slot = operand_slot(values, instruction);
	return slot ? *slot : heapsnap_value_unknown;
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
		heapsnap_value_add(values->registers[HEAPSNAP_RSP],
				   heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, 8), -1);
	slot = heapsnap_values_slot(values, values->registers[HEAPSNAP_RSP], 0);
	if (slot)
		*slot = value;
}

static struct heapsnap_value pop(struct heapsnap_values *values)
{
	struct heapsnap_value *slot =
		heapsnap_values_slot(values, values->registers[HEAPSNAP_RSP], 0);

	values->registers[HEAPSNAP_RSP] =
		heapsnap_value_add(values->registers[HEAPSNAP_RSP],
				   heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, 8), 1);
	return slot ? *slot : heapsnap_value_unknown;
}

// The address that lea computes.
static struct heapsnap_value address_of(const struct heapsnap_values *values,
					const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value sum =
		heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->displacement);

	if (instruction->is_relative)
		return heapsnap_value_unknown;
	if (instruction->base != HEAPSNAP_NO_REGISTER)
		sum = heapsnap_value_add(values->registers[instruction->base], sum, 1);
	if (instruction->index != HEAPSNAP_NO_REGISTER)
		sum = instruction->scale
			      ? heapsnap_value_unknown
			      : heapsnap_value_add(sum, values->registers[instruction->index], 1);
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
		return heapsnap_value_add(to, by, 1);
	case 3:
	case 5:
		return heapsnap_value_add(to, by, -1);
	case 1: // (x | 7) + 1, x & ~7: rounding
	case 4:
		return (to.kind == HEAPSNAP_VALUE_PARAMETER || to.kind == HEAPSNAP_VALUE_BLOCK) &&
				       by.kind == HEAPSNAP_VALUE_CONSTANT
			       ? to
			       : heapsnap_value_unknown;
	default:
		return heapsnap_value_unknown;
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
		values->registers[HEAPSNAP_RAX] = arithmetic(
			operation, values->registers[HEAPSNAP_RAX],
			heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
		return;
	}
	operand = read_operand(values, instruction);
	other = values->registers[instruction->reg];
	result = form & 2 ? arithmetic(operation, other, operand)
			  : arithmetic(operation, operand, other);
	if (operation == EXCLUSIVE_OR && !instruction->is_memory &&
	    instruction->reg == instruction->rm)
		result = heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, 0);
	if (!(form & 1))
		result = heapsnap_value_unknown; // of one byte
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
				      ? heapsnap_value_unknown
				      : arithmetic(operation, read_operand(values, instruction),
						   heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0,
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
		write_operand(values, instruction, heapsnap_value_unknown);
		return;
	}
	values->registers[HEAPSNAP_RAX] =
		operation < 6 ? heapsnap_value_multiply(values->registers[HEAPSNAP_RAX],
							read_operand(values, instruction))
			      : heapsnap_value_unknown;
	values->registers[HEAPSNAP_RDX] = heapsnap_value_unknown;
}

static void step_move(struct heapsnap_values *values,
		      const struct heapsnap_instruction *instruction)
{
	struct heapsnap_value value;

	switch (instruction->opcode) {
	case 0x88:
		write_operand(values, instruction, heapsnap_value_unknown);
		break;
	case 0x89:
		write_operand(values, instruction, values->registers[instruction->reg]);
		break;
	case 0x8a:
		values->registers[instruction->reg] = heapsnap_value_unknown;
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

// inc, dec and push, but no calls and jumps through pointers.
static bool step_group(struct heapsnap_values *values,
		       const struct heapsnap_instruction *instruction)
{
	switch (instruction->reg & 7) {
	case 0:
	case 1:
		write_operand(values, instruction,
			      heapsnap_value_add(read_operand(values, instruction),
						 heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, 1),
						 1));
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
		push(values,
		     heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
		break;
	case 0x69:
	case 0x6b:
		values->registers[instruction->reg] = heapsnap_value_unknown;
		break;
	case 0x99:
		values->registers[HEAPSNAP_RDX] = heapsnap_value_unknown;
		break;
	case 0xa4: // string operations
	case 0xa5:
	case 0xaa:
	case 0xab:
		values->registers[HEAPSNAP_RDI] = values->registers[HEAPSNAP_RSI] =
			heapsnap_value_unknown;
		values->registers[HEAPSNAP_RCX] = heapsnap_value_unknown;
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
		values->registers[HEAPSNAP_RAX] = values->registers[instruction->rm] =
			heapsnap_value_unknown;
	else if ((opcode & 0xf8) == 0xb8)
		values->registers[instruction->rm] =
			heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate);
	else if ((opcode & 0xf8) == 0xb0)
		values->registers[instruction->rm] = heapsnap_value_unknown;
	else if (opcode == 0xc0 || opcode == 0xc1 || (opcode >= 0xd0 && opcode < 0xd4))
		write_operand(values, instruction, heapsnap_value_unknown);
	else if (opcode == 0xc6 || opcode == 0xc7)
		write_operand(
			values, instruction,
			heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, instruction->immediate));
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
		values->registers[instruction->reg] = heapsnap_value_join(
			values->registers[instruction->reg], read_operand(values, instruction));
	else if ((opcode & 0xf0) == 0x90 || opcode == 0x7e)
		write_operand(values, instruction, heapsnap_value_unknown);
	else if (opcode == 0xaf)
		values->registers[instruction->reg] = heapsnap_value_multiply(
			values->registers[instruction->reg], read_operand(values, instruction));
	else if (opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf)
		values->registers[instruction->reg] = read_operand(values, instruction);
	else if (opcode == 0xb0 || opcode == 0xb1)
		values->registers[HEAPSNAP_RAX] = heapsnap_value_unknown;
	else if (opcode == 0xc0 || opcode == 0xc1 || changes_register(opcode))
		values->registers[instruction->reg] = heapsnap_value_unknown;
	else if ((opcode & 0xf8) == 0xc8)
		values->registers[instruction->rm] = heapsnap_value_unknown;
	return true;
}

// Vector instructions, and those that came late: they write to few registers that matter here.
static void step_late(struct heapsnap_values *values,
		      const struct heapsnap_instruction *instruction)
{
	if (instruction->map == HEAPSNAP_MAP_0F ? changes_register(instruction->opcode)
						: instruction->opcode >= 0xf0)
		values->registers[instruction->reg] = heapsnap_value_unknown;
}

// --- flow ------------------------------------------------------------------------------

static bool step(struct heapsnap_values *values, const struct heapsnap_instruction *instruction)
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

// A jump or call through a pointer.
static void lead_by_pointer(const struct heapsnap_instruction *instruction,
			    struct heapsnap_flow *flow)
{
	uint8_t operation = instruction->reg & 7;

	if (instruction->is_relative && !instruction->is_based)
		flow->slot =
			(uint64_t)instruction->next + (uint64_t)(int64_t)instruction->displacement;
	if (operation == 2)
		flow->kind = HEAPSNAP_FLOW_CALL;
	else if (operation == 4) // with an index it is a switch
		flow->kind = instruction->index == HEAPSNAP_NO_REGISTER ? HEAPSNAP_FLOW_JUMP
									: HEAPSNAP_FLOW_STOP;
}

static void lead(const struct heapsnap_instruction *instruction, struct heapsnap_flow *flow)
{
	uint8_t opcode = instruction->opcode;

	flow->next = instruction->next;
	if (instruction->map == HEAPSNAP_MAP_0F && !instruction->is_vector) {
		if ((opcode & 0xf0) == 0x80)
			flow->kind = HEAPSNAP_FLOW_JUMP_IF;
		else if (opcode == 0x0b) // ud2
			flow->kind = HEAPSNAP_FLOW_STOP;
	} else if (instruction->map == HEAPSNAP_MAP_ONE) {
		if (opcode == 0xff)
			lead_by_pointer(instruction, flow);
		else if ((opcode & 0xf0) == 0x70)
			flow->kind = HEAPSNAP_FLOW_JUMP_IF;
		else if (opcode == 0xe8)
			flow->kind = HEAPSNAP_FLOW_CALL;
		else if (opcode == 0xe9 || opcode == 0xeb)
			flow->kind = HEAPSNAP_FLOW_JUMP;
		else if (opcode == 0xc3)
			flow->kind = HEAPSNAP_FLOW_RETURN;
		else if (opcode == 0xcc || opcode == 0xf4) // int3, hlt
			flow->kind = HEAPSNAP_FLOW_STOP;
		if (opcode == 0xff)
			return;
	}
	flow->target = (uint64_t)(instruction->next + instruction->immediate);
}

bool heapsnap_flow_step(const uint8_t *at, const uint8_t *end, struct heapsnap_values *values,
			struct heapsnap_flow *flow)
{
	struct heapsnap_instruction instruction;

	*flow = (struct heapsnap_flow){ 0 };
	if (!heapsnap_decode(at, end, &instruction))
		return false;
	lead(&instruction, flow);
	return flow->kind != HEAPSNAP_FLOW_ON || !values || step(values, &instruction);
}

// The bytes that an instruction moves from a register or constant to its operand; 0: it does not.
static uint8_t stored_bytes(const struct heapsnap_instruction *instruction)
{
	bool is_one = instruction->map == HEAPSNAP_MAP_ONE;

	if (!instruction->is_memory || (!is_one && instruction->map != HEAPSNAP_MAP_0F))
		return 0;
	switch (instruction->opcode | (is_one ? 0 : 0x100)) {
	case 0x88:
	case 0xc6:
		return 1;
	case 0x89:
	case 0xc7:
		return instruction->is_wide ? 8 : instruction->is_narrow ? 2 : 4;
	case 0x113: // movlps, movhps, movq
	case 0x117:
	case 0x1d6:
		return 8;
	case 0x111: // movups, movaps, movdqa, movntdq
	case 0x129:
	case 0x17f:
	case 0x1e7:
		return 16;
	default:
		return 0;
	}
}

bool heapsnap_flow_store(const uint8_t *at, const uint8_t *end,
			 const struct heapsnap_values *values, struct heapsnap_store *store)
{
	struct heapsnap_instruction instruction;

	if (!heapsnap_decode(at, end, &instruction) || instruction.is_based ||
	    instruction.index != HEAPSNAP_NO_REGISTER)
		return false;
	store->address = address_of(values, &instruction);
	store->bytes = stored_bytes(&instruction);
	return store->bytes > 0;
}

uint64_t heapsnap_linkage_slot(const uint8_t *code)
{
	const uint8_t *end = code + HEAPSNAP_LINKAGE_BYTES;
	struct heapsnap_instruction instruction;
	struct heapsnap_flow flow = { 0 };

	// endbr64 may come first.
	for (int i = 0; i < 2; i++) {
		if (!heapsnap_decode(code, end, &instruction))
			return 0;
		if (instruction.map == HEAPSNAP_MAP_ONE && instruction.opcode == 0xff &&
		    (instruction.reg & 7) == 4) {
			lead_by_pointer(&instruction, &flow);
			return flow.slot;
		}
		if (instruction.map != HEAPSNAP_MAP_0F || instruction.opcode != 0x1e)
			return 0;
		code = instruction.next;
	}
	return 0;
}

enum {
	CALL_BYTES = 5, // of a call to an address relative to the next instruction
	CALL_OPCODE = 0xe8,
	CONSTANT_BYTES = 5, // of a move of a constant to edi
	CONSTANT_OPCODE = 0xbf,
};

uint64_t heapsnap_call_target(const uint8_t *site, uint64_t before)
{
	int32_t distance;

	if (before < CALL_BYTES || *(site - CALL_BYTES) != CALL_OPCODE)
		return 0;
	// No call through a pointer has such bytes, but for distances that lead out of the module.
	memcpy(&distance, site - CALL_BYTES + 1, sizeof(distance));
	return (uint64_t)site + (uint64_t)(int64_t)distance;
}

bool heapsnap_call_has_constant(const uint8_t *site, uint64_t before)
{
	return before >= CALL_BYTES + CONSTANT_BYTES &&
	       *(site - CALL_BYTES - CONSTANT_BYTES) == CONSTANT_OPCODE;
}
#endif
