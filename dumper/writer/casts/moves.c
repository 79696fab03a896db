// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/moves.h"

#include "dumper/code/code_flow.h"
#include "dumper/code/machine_code.h"
#include "dumper/writer/base/machine.h"

#include <string.h>

#if defined(__x86_64__)

// rdi, rsi, rdx, rcx, r8, r9.
static const uint8_t registers[MOVE_PARAMETERS] = { 5, 4, 1, 2, 8, 9 };

uint8_t move_parameter(size_t number)
{
	return registers[number];
}

bool move_is_lost(uint8_t reg)
{
	return reg == MOVE_RESULT || reg == 10 || reg == 11 || reg >= MOVE_VECTORS ||
	       move_is_parameter(reg);
}

bool move_is_parameter(uint8_t reg)
{
	return memchr(registers, reg, MOVE_PARAMETERS) != NULL;
}

// True for those that change no register: they compare, or are there for the sake of alignment or the cache.
static bool changes_nothing(const struct heapsnap_instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (instruction->map == HEAPSNAP_MAP_0F)
		return (opcode & 0xf8) == 0x18 && !instruction->is_vector;
	return instruction->map == HEAPSNAP_MAP_ONE &&
	       ((opcode >= 0x38 && opcode <= 0x3d) || opcode == 0x84 || opcode == 0x85 ||
		((opcode & 0xfc) == 0x80 && instruction->reg % 8 == 7) ||
		((opcode & 0xfe) == 0xf6 && instruction->reg % 8 == 0));
}

static uint64_t bit_of(unsigned reg)
{
	return UINT64_C(1) << machine_dwarf_register(reg % 16);
}

// Which registers an instruction without operands may change: the one in its opcode, or those that it always does.
static uint64_t changed_without_operand(const struct heapsnap_instruction *instruction)
{
	enum {
		RAX = 0,
		RCX = 1,
		RDX = 2,
		RSI = 6,
		RDI = 7
	};
	uint8_t opcode = instruction->opcode;

	if (instruction->map == HEAPSNAP_MAP_0F) // bswap, and others
		return (opcode & 0xf8) == 0xc8 ? bit_of(instruction->rm)
					       : bit_of(RAX) | bit_of(RCX) | bit_of(RDX);
	if ((opcode & 0xf8) == 0x58 || (opcode & 0xf0) == 0xb0) // pop, mov
		return bit_of(instruction->rm);
	if (opcode == 0x90 && instruction->rm == 0)
		return 0;            // nop
	if ((opcode & 0xf8) == 0x90) // xchg
		return bit_of(instruction->rm) | bit_of(RAX);
	if (opcode == 0x98 || opcode == 0x99) // cltq, cqto
		return bit_of(RAX) | bit_of(RDX);
	if (opcode >= 0xa4 && opcode <= 0xaf) // strings
		return bit_of(RAX) | bit_of(RCX) | bit_of(RSI) | bit_of(RDI);
	return opcode < 0x40 ? bit_of(RAX) : 0; // add and so on, of a constant
}

// True for instructions with the prefix 0f that write vector registers, or memory, alone. (Volume 2, appendix A, table A-3.)
static bool is_vector_only(uint8_t opcode)
{
	enum {
		MASK_TO_GENERAL = 0xd7, // pmovmskb
	};

	return (opcode & 0xf8) == 0x10 || (opcode >= 0x28 && opcode <= 0x2a) ||
	       (opcode >= 0x51 && opcode <= 0x76) || opcode == 0x7c || opcode == 0x7d ||
	       opcode == 0x7f || opcode == 0xc2 || opcode == 0xc6 ||
	       (opcode >= 0xd0 && opcode != MASK_TO_GENERAL);
}

// Which registers an instruction may change: of those with its numbers, the vector registers, too.
static uint64_t changed_by(const struct heapsnap_instruction *instruction)
{
	enum {
		LOAD_HIGHER = 0x16
	}; // movhps
	const uint64_t halves = UINT64_C(1) << MOVE_VECTORS | UINT64_C(1) << MOVE_HIGHER;
	unsigned first = instruction->reg % 16, other = instruction->rm % 16;
	uint64_t result;

	if (!instruction->has_operand)
		return changed_without_operand(instruction);
	if (changes_nothing(instruction))
		return 0;
	result = UINT64_C(1) << machine_dwarf_register(first);
	if (!instruction->is_memory)
		result |= UINT64_C(1) << machine_dwarf_register(other);
	if (instruction->map == HEAPSNAP_MAP_0F && is_vector_only(instruction->opcode))
		result = 0;
	if (instruction->map == HEAPSNAP_MAP_ONE && (instruction->opcode & 0xfe) == 0xf6)
		result |= bit_of(0) | bit_of(2); // mul, div
	if (instruction->map == HEAPSNAP_MAP_0F && instruction->opcode == LOAD_HIGHER)
		return UINT64_C(1) << (MOVE_HIGHER + first);
	if (instruction->map != HEAPSNAP_MAP_ONE)
		result |= halves << first | (instruction->is_memory ? 0 : halves << other);
	return result;
}

// True for memory at an offset from a register, and maybe an index.
static bool is_at_register(const struct heapsnap_instruction *found)
{
	return found->is_memory && !found->is_based && !found->is_relative &&
	       found->base != HEAPSNAP_NO_REGISTER;
}

// True for memory at an address, and maybe an index, as code has variables that is never elsewhere.
static bool is_absolute(const struct heapsnap_instruction *found)
{
	return found->is_memory && !found->is_based && !found->is_relative &&
	       found->base == HEAPSNAP_NO_REGISTER && found->displacement > 0;
}

static bool is_plain_memory(const struct heapsnap_instruction *found)
{
	return is_at_register(found) && found->index == HEAPSNAP_NO_REGISTER;
}

// True for an element of an array of pointers, or of structs whose index is multiplied before.
static bool is_element(const struct heapsnap_instruction *found)
{
	enum {
		SCALE = 3 // of 8 bytes
	};

	return is_at_register(found) && found->index != HEAPSNAP_NO_REGISTER &&
	       (found->scale == SCALE || found->scale == 0);
}

// Two pointers that are stored at once go through a vector register.
static void decode_vector(const struct heapsnap_instruction *found, struct code_move *result)
{
	enum {
		FROM_GENERAL = 0x6e,  // movq
		JOIN = 0x6c,          // punpcklqdq: the lower half becomes the other's higher half
		STORE = 0x11,         // movups
		STORE_ALIGNED = 0x29, // movaps
	};
	uint8_t value = (uint8_t)(MOVE_VECTORS + found->reg % 16);

	if (found->opcode == FROM_GENERAL && found->is_wide && !found->is_memory) {
		result->kind = MOVE_COPY;
		result->value = value;
		result->base = (uint8_t)machine_dwarf_register(found->rm);
	} else if (found->opcode == JOIN && !found->is_memory) {
		result->kind = MOVE_COPY;
		result->value = (uint8_t)(MOVE_HIGHER + found->reg % 16);
		result->base = (uint8_t)(MOVE_VECTORS + found->rm % 16);
	} else if ((found->opcode == STORE || found->opcode == STORE_ALIGNED) &&
		   is_plain_memory(found)) {
		result->kind = MOVE_STORE;
		result->value = value;
		result->second = (uint8_t)(MOVE_HIGHER + found->reg % 16);
		result->base = (uint8_t)machine_dwarf_register(found->base);
		result->offset = found->displacement;
	}
}

static void set_memory(const struct heapsnap_instruction *found, enum move_kind kind,
		       struct code_move *result)
{
	result->kind = (uint8_t)kind;
	result->base = (uint8_t)machine_dwarf_register(found->base);
	result->is_indexed = is_element(found);
	if (result->is_indexed && found->scale == 0)
		result->index = (uint8_t)machine_dwarf_register(found->index);
}

// Sums of two registers, or of one and a constant, from which it does not matter if it becomes less.
static void decode_sum(const struct heapsnap_instruction *found, struct code_move *result)
{
	enum {
		ADD = 0x01,
		ADD_TO_REGISTER = 0x03,
		ADD_CONSTANT = 0x81,
		ADD_BYTE = 0x83,
	};
	uint8_t reg = (uint8_t)machine_dwarf_register(found->reg);
	uint8_t other = (uint8_t)machine_dwarf_register(found->rm);

	if (found->is_memory && found->opcode == ADD_TO_REGISTER && is_plain_memory(found)) {
		set_memory(found, MOVE_LOAD, result);
		result->value = reg;
		result->offset = found->displacement;
		result->is_sum = true;
	}
	if (found->is_memory)
		return;
	if (found->opcode == ADD || found->opcode == ADD_TO_REGISTER) {
		result->kind = MOVE_ADD;
		result->value = found->opcode == ADD ? other : reg;
		result->base = found->opcode == ADD ? reg : other;
	} else if ((found->opcode == ADD_CONSTANT || found->opcode == ADD_BYTE) &&
		   found->reg % 8 == 0) {
		result->kind = MOVE_ADDRESS;
		result->value = result->base = other;
		result->offset = (int32_t)found->immediate;
	}
}

// A constant of 32 bits, which may be an address where programs are not moved.
static void set_constant(const struct heapsnap_instruction *found, struct code_move *result)
{
	if (found->is_wide || found->immediate <= 0 || found->immediate > INT32_MAX)
		return;
	result->kind = MOVE_VARIABLE;
	result->value = (uint8_t)machine_dwarf_register(found->rm);
	result->offset = (int32_t)found->immediate;
	result->is_absolute = true;
}

static void decode_data(const uint8_t *code, size_t size, uint64_t address,
			struct code_move *result)
{
	enum {
		STORE = 0x89,
		LOAD = 0x8b,
		ADDRESS = 0x8d,
		CONSTANT = 0xb8,
	};
	struct heapsnap_instruction found;
	uint8_t value;

	(void)address;
	if (!heapsnap_decode(code, code + size, &found))
		return;
	result->changed = changed_by(&found);
	if (found.map == HEAPSNAP_MAP_0F && !found.is_vector)
		decode_vector(&found, result);
	if (found.map == HEAPSNAP_MAP_ONE && !found.is_vector && (found.opcode & 0xf8) == CONSTANT)
		set_constant(&found, result);
	if (found.map != HEAPSNAP_MAP_ONE || found.is_vector || !found.is_wide || found.is_based)
		return;
	if (found.opcode != STORE && found.opcode != LOAD && found.opcode != ADDRESS) {
		decode_sum(&found, result);
		return;
	}
	value = (uint8_t)machine_dwarf_register(found.reg);
	result->value = value;
	result->offset = found.displacement;
	if (!found.is_memory) {
		uint8_t other = (uint8_t)machine_dwarf_register(found.rm);

		result->kind = MOVE_COPY;
		result->value = found.opcode == LOAD ? value : other;
		result->base = found.opcode == LOAD ? other : value;
	} else if (found.is_relative || (is_absolute(&found) && found.opcode != ADDRESS)) {
		result->kind = found.opcode == LOAD      ? MOVE_LOAD_VARIABLE
			       : found.opcode == ADDRESS ? MOVE_VARIABLE
							 : MOVE_STORE_VARIABLE;
		result->is_absolute = !found.is_relative;
	} else if (is_plain_memory(&found) || is_element(&found)) {
		set_memory(&found,
			   found.opcode == LOAD      ? MOVE_LOAD
			   : found.opcode == ADDRESS ? MOVE_ADDRESS
						     : MOVE_STORE,
			   result);
	}
}

#else

uint8_t move_parameter(size_t number)
{
	return (uint8_t)number;
}

bool move_is_lost(uint8_t reg)
{
	return reg < 19 || reg > 30; // x19 to x29 are kept
}

bool move_is_parameter(uint8_t reg)
{
	return reg < MOVE_PARAMETERS;
}

// The address of a page of static memory: what is in it is at a constant from there.
static void decode_page(uint32_t word, uint64_t address, struct code_move *result)
{
	enum {
		PAGE = 4096
	};
	int64_t pages = (int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43;
	int64_t offset = (int64_t)(address - address % PAGE - address) +
			 (pages + (word >> 29 & 3)) * PAGE - MOVE_ALIGNMENT;

	if (offset < INT32_MIN || offset > INT32_MAX)
		return;
	result->kind = MOVE_VARIABLE;
	result->offset = (int32_t)offset;
}

static void decode_data(const uint8_t *code, size_t size, uint64_t address,
			struct code_move *result)
{
	enum {
		ZERO = 31
	};
	uint32_t word;

	if (size < sizeof(word))
		return;
	memcpy(&word, code, sizeof(word));
	result->value = word & 31;
	result->base = word >> 5 & 31;
	if (result->value == ZERO)
		return;
	result->changed = UINT64_C(1) << result->value;
	if ((word & 0xff800000) == 0xf9000000) {
		result->kind = word >> 22 & 1 ? MOVE_LOAD : MOVE_STORE;
		result->offset = (int32_t)(word >> 10 & 0xfff) * 8;
	} else if ((word & 0xffa05c00) ==
		   0xf8205800) { // ldr, str with a register as index, in steps of 8 bytes
		result->kind = word >> 22 & 1 ? MOVE_LOAD : MOVE_STORE;
		result->offset = 0;
		result->is_indexed = true;
	} else if ((word & 0xff800000) == 0xa9000000) { // ldp, stp
		result->kind = word >> 22 & 1 ? MOVE_LOAD : MOVE_STORE;
		result->second = (word >> 10 & 31) == ZERO ? MOVE_NO_REGISTER : word >> 10 & 31;
		result->offset = ((int32_t)(word << 10) >> 25) * 8;
	} else if ((word & 0xffe0ffe0) == 0xaa0003e0) {
		result->kind = MOVE_COPY;
		result->base = word >> 16 & 31;
	} else if ((word & 0xff800000) == 0x91000000) { // add of a constant
		result->kind = MOVE_ADDRESS;
		result->offset = (int32_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
	} else if ((word & 0xff200000) == 0x8b000000) { // add of a register, which may be shifted
		result->kind = MOVE_ADDRESS;
		result->offset = 0;
		result->is_indexed = true;
		result->index = (word >> 10 & 63) == 0 ? word >> 16 & 31 : MOVE_NO_REGISTER;
	} else if ((word & 0x9f000000) == 0x90000000) { // adrp
		decode_page(word, address, result);
	}
}

#endif

struct code_move move_decode(const uint8_t *code, size_t size, uint64_t address)
{
	struct code_move result = { .kind = MOVE_OTHER,
				    .length = MOVE_ALIGNMENT,
				    .second = MOVE_NO_REGISTER,
				    .index = MOVE_NO_REGISTER };
	struct heapsnap_flow flow = { 0 };

	heapsnap_flow_step(code, code + size, NULL, &flow);
	if (!flow.next)
		return result;
	result.length = (uint8_t)(flow.next - code);
	if (flow.kind == HEAPSNAP_FLOW_ON)
		decode_data(code, size, address, &result);
	else if (flow.kind == HEAPSNAP_FLOW_CALL)
		result.kind = MOVE_CALL;
	else if (flow.kind == HEAPSNAP_FLOW_JUMP && flow.target)
		result.kind = MOVE_JUMP;
	else if (flow.kind == HEAPSNAP_FLOW_JUMP_IF)
		result.kind = MOVE_BRANCH;
	else if (flow.kind == HEAPSNAP_FLOW_RETURN)
		result.kind = MOVE_RETURN;
	result.is_end = flow.kind == HEAPSNAP_FLOW_JUMP || flow.kind == HEAPSNAP_FLOW_RETURN ||
			flow.kind == HEAPSNAP_FLOW_STOP;
	if (result.kind >= MOVE_VARIABLE && result.kind <= MOVE_STORE_VARIABLE)
		result.target = result.is_absolute ? (uint64_t)result.offset
						   : address + result.length +
							     (uint64_t)(int64_t)result.offset;
	else if (flow.target) // it counts from where the code is here
		result.target = flow.target - (uintptr_t)code + address;
	return result;
}
