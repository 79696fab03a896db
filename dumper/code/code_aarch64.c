// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * aarch64 for values.h and code_flow.h: the effect of its instructions, and where they lead.
 *
 * Source: Arm Architecture Reference Manual for A-profile architecture, C4.1 (the encoding groups that
 * functions here are named after). Vector instructions matter where they write general registers.
 */
#include "dumper/code/code_flow.h"
#include "dumper/code/values.h"

#include <stddef.h>
#include <string.h>

#if defined(__aarch64__)

enum {
	LENGTH = 4,      // of each instruction
	ZERO = 31,       // register number: sp or zero, as the instruction has it
	PAGE = 4096,     // the unit of adrp; code in one is readable, or none of it
	LOOKED_BACK = 8, // instructions before a call through a pointer
};

// Procedure Call Standard for the Arm 64-bit Architecture, 6.8.2.
const uint8_t heapsnap_parameters[HEAPSNAP_VALUE_PARAMETERS] = { 0, 1, 2, 3, 4, 5 };

// --- fields ------------------------------------------------------------------------------

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
	return word >> low & ((1u << bits) - 1);
}

static int64_t signed_field(uint32_t word, unsigned low, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static unsigned rd_of(uint32_t word)
{
	return field(word, 0, 5);
}

static unsigned rn_of(uint32_t word)
{
	return field(word, 5, 5);
}

static unsigned rm_of(uint32_t word)
{
	return field(word, 16, 5);
}

static uint32_t read_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

// --- registers ---------------------------------------------------------------------------

static struct heapsnap_value constant(int64_t number)
{
	return heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, number);
}

// A register where number 31 is zero.
static struct heapsnap_value get(const struct heapsnap_values *values, unsigned number)
{
	return number == ZERO ? constant(0) : values->registers[number];
}

static void set(struct heapsnap_values *values, unsigned number, struct heapsnap_value value)
{
	if (number != ZERO)
		values->registers[number] = value;
}

static void lose(struct heapsnap_values *values, unsigned number)
{
	set(values, number, heapsnap_value_unknown);
}

// and, or: rounding, as in (x + 7) & ~7.
static struct heapsnap_value logical(struct heapsnap_value to, struct heapsnap_value by)
{
	bool is_kept = to.kind == HEAPSNAP_VALUE_PARAMETER || to.kind == HEAPSNAP_VALUE_BLOCK;

	return is_kept && by.kind == HEAPSNAP_VALUE_CONSTANT ? to : heapsnap_value_unknown;
}

// --- data processing: immediate ------------------------------------------------------------

static void step_add_immediate(struct heapsnap_values *values, uint32_t word)
{
	int64_t number = (int64_t)field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0);
	int sign = field(word, 30, 1) ? -1 : 1;
	struct heapsnap_value sum, source = values->registers[rn_of(word)];

	sum = number == 0 ? source : heapsnap_value_add(source, constant(number), sign);
	if (field(word, 29, 1)) // the flags are set; number 31 is zero
		set(values, rd_of(word), sum);
	else
		values->registers[rd_of(word)] = sum;
}

static void step_logical_immediate(struct heapsnap_values *values, uint32_t word)
{
	enum {
		ORR = 1,
		EOR = 2,
		ANDS = 3,
	};
	uint32_t operation = field(word, 29, 2);
	struct heapsnap_value value = logical(get(values, rn_of(word)), constant(INT16_MAX));

	if (operation == ORR && rn_of(word) == ZERO) // a move
		value = constant(INT16_MAX);
	if (operation == EOR)
		value = heapsnap_value_unknown;
	if (operation == ANDS)
		set(values, rd_of(word), value);
	else
		values->registers[rd_of(word)] = value;
}

static void step_move_wide(struct heapsnap_values *values, uint32_t word)
{
	enum {
		MOVZ = 2,
	};
	uint32_t operation = field(word, 29, 2);
	int64_t number =
		operation == MOVZ && field(word, 21, 2) == 0 ? field(word, 5, 16) : INT16_MAX;

	set(values, rd_of(word), constant(number));
}

// Extensions of narrower numbers keep the value; shifts do not.
static void step_bitfield(struct heapsnap_values *values, uint32_t word)
{
	bool is_extension =
		field(word, 29, 2) != 1 && field(word, 16, 6) == 0 && field(word, 10, 6) >= 7;

	set(values, rd_of(word), is_extension ? get(values, rn_of(word)) : heapsnap_value_unknown);
}

static void step_immediate(struct heapsnap_values *values, uint32_t word)
{
	switch (field(word, 23, 3)) {
	case 2:
		step_add_immediate(values, word);
		break;
	case 4:
		step_logical_immediate(values, word);
		break;
	case 5:
		step_move_wide(values, word);
		break;
	case 6:
		step_bitfield(values, word);
		break;
	default: // addresses relative to pc, extraction, memory tags
		lose(values, rd_of(word));
		break;
	}
}

// --- data processing: register ---------------------------------------------------------------

// Logical, and add and subtract with a register that is shifted or extended.
static void step_two_registers(struct heapsnap_values *values, uint32_t word)
{
	enum {
		ORR = 1,
		EOR = 2,
	};
	bool is_add = field(word, 24, 1), is_extended = is_add && field(word, 21, 1);
	bool is_shifted = is_extended ? field(word, 10, 3) != 0 : field(word, 10, 6) != 0;
	bool is_inverted = !is_add && field(word, 21, 1);
	bool sets_flags = is_add ? field(word, 29, 1) : field(word, 29, 2) == 3;
	struct heapsnap_value left =
		is_extended ? values->registers[rn_of(word)] : get(values, rn_of(word));
	struct heapsnap_value right = get(values, rm_of(word)), value = heapsnap_value_unknown;

	if (is_shifted || is_inverted)
		value = heapsnap_value_unknown;
	else if (is_add)
		value = heapsnap_value_add(left, right, field(word, 30, 1) ? -1 : 1);
	else if (field(word, 29, 2) == ORR && rn_of(word) == ZERO) // a move
		value = right;
	else if (field(word, 29, 2) != EOR)
		value = logical(left, right);
	if (is_extended && !sets_flags)
		values->registers[rd_of(word)] = value;
	else
		set(values, rd_of(word), value);
}

// csel and its like: n ? n : 1.
static void step_select(struct heapsnap_values *values, uint32_t word)
{
	bool is_plain = !field(word, 30, 1), is_increment = field(word, 10, 1);
	struct heapsnap_value left = get(values, rn_of(word)), right = get(values, rm_of(word));

	if (is_plain && is_increment)
		right = rm_of(word) == ZERO ? constant(1) : heapsnap_value_unknown;
	if (!is_plain || (rn_of(word) == ZERO && rm_of(word) == ZERO)) // cset, for one
		lose(values, rd_of(word));
	else
		set(values, rd_of(word), heapsnap_value_join(left, right));
}

static void step_multiply(struct heapsnap_values *values, uint32_t word)
{
	enum {
		HIGH = 2, // smulh; umulh is 6
	};
	bool is_product = (field(word, 21, 3) & 3) != HIGH && field(word, 10, 5) == ZERO &&
			  !field(word, 15, 1);

	set(values, rd_of(word),
	    is_product ? heapsnap_value_multiply(get(values, rn_of(word)), get(values, rm_of(word)))
		       : heapsnap_value_unknown);
}

static void step_register(struct heapsnap_values *values, uint32_t word)
{
	if (!field(word, 28, 1)) {
		step_two_registers(values, word);
	} else if (field(word, 24, 1)) {
		step_multiply(values, word);
	} else if (field(word, 21, 3) == 0 && field(word, 10, 6) == 0) { // with carry
		set(values, rd_of(word),
		    heapsnap_value_add(get(values, rn_of(word)), get(values, rm_of(word)),
				       field(word, 30, 1) ? -1 : 1));
	} else if (field(word, 21, 3) == 4) {
		step_select(values, word);
	} else if (field(word, 21, 3) != 2) { // that compares, and changes flags alone
		lose(values, rd_of(word));
	}
}

// --- loads and stores ----------------------------------------------------------------------------

// The memory of one register: loads it, or stores it.
static void transfer(struct heapsnap_values *values, unsigned number, bool is_load,
		     struct heapsnap_value address, int64_t displacement)
{
	struct heapsnap_value *slot = heapsnap_values_slot(values, address, displacement);

	if (is_load)
		set(values, number, slot ? *slot : heapsnap_value_unknown);
	else if (slot)
		*slot = get(values, number);
}

// Adds to the base register, before or after the access. @return the address that is accessed
static struct heapsnap_value index_base(struct heapsnap_values *values, unsigned base,
					bool is_after, int64_t displacement)
{
	struct heapsnap_value before = values->registers[base];

	values->registers[base] = displacement < 0
					  ? heapsnap_value_add(before, constant(-displacement), -1)
					  : heapsnap_value_add(before, constant(displacement), 1);
	return is_after ? before : values->registers[base];
}

static void step_pair(struct heapsnap_values *values, uint32_t word)
{
	enum {
		AFTER = 1,
		BEFORE = 3,
	};
	bool is_vector = field(word, 26, 1), is_load = field(word, 22, 1);
	uint32_t mode = field(word, 23, 2), wide = field(word, 30, 2);
	int64_t size = is_vector ? 4 << wide : wide == 2 ? 8 : 4;
	int64_t displacement = signed_field(word, 15, 7) * size;
	struct heapsnap_value address = values->registers[rn_of(word)];

	if (mode == AFTER || mode == BEFORE) {
		address = index_base(values, rn_of(word), mode == AFTER, displacement);
		displacement = 0;
	}
	if (is_vector)
		return;
	transfer(values, rd_of(word), is_load, address, displacement);
	transfer(values, field(word, 10, 5), is_load, address, displacement + size);
}

// One register, at an address and a displacement.
static void access_single(struct heapsnap_values *values, uint32_t word,
			  struct heapsnap_value address, int64_t displacement)
{
	enum {
		PREFETCH = 3 << 2 | 2, // size and operation
	};
	uint32_t size = field(word, 30, 2), operation = field(word, 22, 2);

	if (field(word, 26, 1) || (size << 2 | operation) == PREFETCH)
		return;
	if (size < 2 && operation != 0) // bytes and halves are no sizes
		lose(values, rd_of(word));
	else
		transfer(values, rd_of(word), operation != 0, address, displacement);
}

// One register, at an address that the instruction has a displacement of.
static void step_single(struct heapsnap_values *values, uint32_t word, bool is_scaled)
{
	enum {
		AFTER = 1,
		BEFORE = 3,
	};
	uint32_t mode = is_scaled ? 0 : field(word, 10, 2);
	int64_t displacement = is_scaled ? (int64_t)field(word, 10, 12) << field(word, 30, 2)
					 : signed_field(word, 12, 9);
	struct heapsnap_value address = values->registers[rn_of(word)];

	if (mode == AFTER || mode == BEFORE) {
		address = index_base(values, rn_of(word), mode == AFTER, displacement);
		displacement = 0;
	}
	access_single(values, word, address, displacement);
}

// Exclusive and ordered loads and stores, compare and swap: a store changes at most its status register.
static void step_ordered(struct heapsnap_values *values, uint32_t word)
{
	bool is_load = field(word, 22, 1), is_pair_swapped = (word & 0x80a00000) == 0x00200000;
	unsigned status = rm_of(word);

	lose(values, status);
	if (is_pair_swapped && status != ZERO)
		lose(values, status + 1);
	if (is_load) {
		lose(values, rd_of(word));
		lose(values, field(word, 10, 5));
	}
}

// @return false if the effect is not known
static bool step_memory(struct heapsnap_values *values, uint32_t word)
{
	bool is_vector = field(word, 26, 1);

	switch (field(word, 28, 2) << 1 | field(word, 24, 1)) {
	case 4: // 10 0: pairs
	case 5:
		step_pair(values, word);
		return true;
	case 7: // 11 1: with a scaled displacement
		step_single(values, word, true);
		return true;
	case 6:
		if (!field(word, 21, 1)) {
			step_single(values, word, false);
			return true;
		}
		if (field(word, 10, 1)) // ldraa, which may write to its base
			return false;
		if (field(word, 11, 1)) // with an index register
			access_single(values, word, heapsnap_value_unknown, 0);
		else if (!is_vector) // atomic
			lose(values, rd_of(word));
		return true;
	case 2: // 01: literals
		if (!is_vector)
			lose(values, rd_of(word));
		return true;
	case 0: // 00: exclusive; several vectors, which may be post-indexed
		if (is_vector) {
			if (field(word, 23, 1))
				values->registers[rn_of(word)] = heapsnap_value_unknown;
			return true;
		}
		step_ordered(values, word);
		return true;
	default:
		if (is_vector && field(word, 23, 1))
			values->registers[rn_of(word)] = heapsnap_value_unknown;
		return is_vector;
	}
}

// --- the others ------------------------------------------------------------------------------------

// Vector and floating-point instructions that may write to a general register.
static void step_vector(struct heapsnap_values *values, uint32_t word)
{
	bool is_conversion =
		field(word, 24, 5) == 0x1e && field(word, 21, 1) && field(word, 10, 6) == 0;
	bool is_fixed_point =
		field(word, 24, 5) == 0x1e && !field(word, 21, 1) && !field(word, 29, 1);
	bool is_element = (word & 0xbfe0dc00) == 0x0e000c00 || (word & 0xbfe0fc00) == 0x0e002c00;

	if (is_conversion || is_fixed_point || is_element)
		lose(values, rd_of(word));
}

static void step_system(struct heapsnap_values *values, uint32_t word)
{
	if ((word & 0xffe00000) == 0xd5200000) // mrs, sysl
		lose(values, rd_of(word));
}

static bool step(struct heapsnap_values *values, uint32_t word)
{
	bool is_known = true;

	switch (field(word, 25, 4)) {
	case 8:
	case 9:
		step_immediate(values, word);
		break;
	case 5:
	case 13:
		step_register(values, word);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		is_known = step_memory(values, word);
		break;
	case 7:
	case 15:
		step_vector(values, word);
		break;
	case 10:
	case 11:
		is_known = field(word, 24, 8) == 0xd5; // svc, for one, is not
		step_system(values, word);
		break;
	default: // scalable vectors
		is_known = false;
		break;
	}
	return is_known && values->registers[HEAPSNAP_VALUE_SP].kind == HEAPSNAP_VALUE_STACK;
}

// --- flow ------------------------------------------------------------------------------

// True if the instruction before computes a register's value: then that is of a switch's table.
static bool is_sum_before(const uint8_t *at, unsigned number)
{
	uint32_t word = (uint64_t)at % PAGE ? read_word(at - LENGTH) : 0;

	return (word & 0x1f000000) == 0x0b000000 && rd_of(word) == number;
}

// The page that an adrp at an address computes.
static uint64_t page_of(const uint8_t *at, uint32_t word)
{
	return ((uint64_t)at & ~(uint64_t)(PAGE - 1)) +
	       (uint64_t)((signed_field(word, 5, 19) * 4 + field(word, 29, 2)) * PAGE);
}

// Where the pointer was loaded from, just before: adrp x1, slot; ldr x2, [x1, slot]. 0: elsewhere
static uint64_t find_slot(const uint8_t *at, unsigned pointer)
{
	uint32_t load = 0, word;

	for (int i = 0; i < LOOKED_BACK && (uint64_t)at % PAGE; i++) {
		at -= LENGTH;
		word = read_word(at);
		if (rd_of(word) != (load ? rn_of(load) : pointer))
			continue;
		if (load)
			return (word & 0x9f000000) == 0x90000000
				       ? page_of(at, word) + field(load, 10, 12) * sizeof(uint64_t)
				       : 0;
		if ((word & 0xffc00000) != 0xf9400000)
			return 0;
		load = word;
	}
	return 0;
}

static void lead_by_register(const uint8_t *at, uint32_t word, struct heapsnap_flow *flow)
{
	switch (field(word, 21, 3)) { // the bit that tells signed pointers is above
	case 0:
		flow->kind =
			is_sum_before(at, rn_of(word)) ? HEAPSNAP_FLOW_STOP : HEAPSNAP_FLOW_JUMP;
		break;
	case 1:
		flow->kind = HEAPSNAP_FLOW_CALL;
		break;
	case 2:
		flow->kind = HEAPSNAP_FLOW_RETURN;
		break;
	default:
		flow->kind = HEAPSNAP_FLOW_STOP;
		break;
	}
	if (flow->kind == HEAPSNAP_FLOW_JUMP || flow->kind == HEAPSNAP_FLOW_CALL)
		flow->slot = find_slot(at, rn_of(word));
}

static void lead(const uint8_t *at, uint32_t word, struct heapsnap_flow *flow)
{
	uint64_t here = (uint64_t)at;

	flow->next = at + LENGTH;
	if ((word & 0x7c000000) == 0x14000000) { // b, bl
		flow->kind = word >> 31 ? HEAPSNAP_FLOW_CALL : HEAPSNAP_FLOW_JUMP;
		flow->target = here + (uint64_t)(signed_field(word, 0, 26) * LENGTH);
	} else if ((word & 0x7e000000) == 0x34000000 || (word & 0xfe000000) == 0x54000000) {
		flow->kind = HEAPSNAP_FLOW_JUMP_IF; // cbz, cbnz, b.cond
		flow->target = here + (uint64_t)(signed_field(word, 5, 19) * LENGTH);
	} else if ((word & 0x7e000000) == 0x36000000) { // tbz, tbnz
		flow->kind = HEAPSNAP_FLOW_JUMP_IF;
		flow->target = here + (uint64_t)(signed_field(word, 5, 14) * LENGTH);
	} else if ((word & 0xfe000000) == 0xd6000000) {
		lead_by_register(at, word, flow);
	} else if ((word & 0xffe00000) == 0xd4200000 || word >> 16 == 0) { // brk, udf
		flow->kind = HEAPSNAP_FLOW_STOP;
	}
}

bool heapsnap_flow_step(const uint8_t *at, const uint8_t *end, struct heapsnap_values *values,
			struct heapsnap_flow *flow)
{
	uint32_t word;

	*flow = (struct heapsnap_flow){ 0 };
	if (end - at < LENGTH)
		return false;
	word = read_word(at);
	lead(at, word, flow);
	return flow->kind != HEAPSNAP_FLOW_ON || !values || step(values, word);
}

// str: C4.1.66, loads and stores with a scaled and an unscaled offset; stp: pairs.
bool heapsnap_flow_store(const uint8_t *at, const uint8_t *end,
			 const struct heapsnap_values *values, struct heapsnap_store *store)
{
	uint32_t word = end - at < LENGTH ? 0 : read_word(at);
	bool is_vector = field(word, 26, 1), is_whole = is_vector && field(word, 23, 1);
	bool is_pair = (word & 0x3a400000) == 0x28000000;
	bool is_scaled = (word & 0x3b400000) == 0x39000000;
	bool is_single = (word & 0x3b600000) == 0x38000000;
	int64_t size = (int64_t)1 << field(word, 30, 2), displacement = 0;

	if ((!is_pair && !is_scaled && !is_single) ||
	    (!is_vector && !is_pair && field(word, 23, 1)))
		return false;
	if (is_pair)
		size = is_vector ? 4 << field(word, 30, 2) : field(word, 31, 1) ? 8 : 4;
	else if (is_whole)
		size = 16;
	if (is_pair)
		displacement = signed_field(word, 15, 7) * size;
	else if (is_scaled)
		displacement = field(word, 10, 12) * size;
	else if (field(word, 10, 2) != 1) // that adds to the base later
		displacement = signed_field(word, 12, 9);
	store->bytes = (uint8_t)(is_pair ? 2 * size : size);
	store->address =
		heapsnap_value_add(values->registers[rn_of(word)],
				   constant(displacement < 0 ? -displacement : displacement),
				   displacement < 0 ? -1 : 1);
	return true;
}

uint64_t heapsnap_linkage_slot(const uint8_t *code)
{
	enum {
		BTI_C = 0xd503245f,
	};
	uint32_t page, load;

	code += read_word(code) == BTI_C ? LENGTH : 0;
	page = read_word(code);
	load = read_word(code + LENGTH);
	// adrp x16, slot; ldr x17, [x16, slot]
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return 0;
	return page_of(code, page) + field(load, 10, 12) * sizeof(uint64_t);
}

uint64_t heapsnap_call_target(const uint8_t *site, uint64_t before)
{
	struct heapsnap_flow flow = { 0 };

	if (before < LENGTH)
		return 0;
	lead(site - LENGTH, read_word(site - LENGTH), &flow);
	return flow.kind == HEAPSNAP_FLOW_CALL ? flow.target : 0;
}

// movz to x0 or w0; but not of 1, as in n ? n : 1.
bool heapsnap_call_has_constant(const uint8_t *site, uint64_t before)
{
	uint32_t word =
		before >= (uint64_t)2 * LENGTH ? read_word(site - (ptrdiff_t)2 * LENGTH) : 0;

	return (word & 0x7f80001f) == 0x52800000 && field(word, 5, 16) > 1;
}

#endif
