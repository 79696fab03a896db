// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/code/values.h"

#include <stddef.h>

// --- single values --------------------------------------------------------------------------

struct heapsnap_value heapsnap_value_make(enum heapsnap_value_kind kind, uint8_t of, int64_t number)
{
	bool fits = number > INT16_MIN && number < INT16_MAX;

	if (kind == HEAPSNAP_VALUE_STACK && !fits)
		kind = HEAPSNAP_VALUE_OTHER;
	return (struct heapsnap_value){ (uint8_t)kind, of, fits ? (int16_t)number : INT16_MAX };
}

const struct heapsnap_value heapsnap_value_unknown = { HEAPSNAP_VALUE_OTHER, 0, 0 };

static bool is_same(struct heapsnap_value a, struct heapsnap_value b)
{
	return a.kind == b.kind && a.parameters == b.parameters && a.number == b.number;
}

struct heapsnap_value heapsnap_value_join(struct heapsnap_value a, struct heapsnap_value b)
{
	if (is_same(a, b))
		return a;
	if (a.kind == HEAPSNAP_VALUE_BLOCK || b.kind == HEAPSNAP_VALUE_BLOCK)
		return a.kind == HEAPSNAP_VALUE_BLOCK ? a : b;
	// n ? n : 1
	if ((a.kind == HEAPSNAP_VALUE_PARAMETER || a.kind == HEAPSNAP_VALUE_CONSTANT) &&
	    (b.kind == HEAPSNAP_VALUE_PARAMETER || b.kind == HEAPSNAP_VALUE_CONSTANT))
		return heapsnap_value_make(a.kind == HEAPSNAP_VALUE_PARAMETER ||
							   b.kind == HEAPSNAP_VALUE_PARAMETER
						   ? HEAPSNAP_VALUE_PARAMETER
						   : HEAPSNAP_VALUE_CONSTANT,
					   a.parameters | b.parameters, INT16_MAX);
	return heapsnap_value_unknown;
}

static struct heapsnap_value join_registers(struct heapsnap_value a, struct heapsnap_value b)
{
	if (a.kind == HEAPSNAP_VALUE_LOST || b.kind == HEAPSNAP_VALUE_LOST)
		return a.kind == HEAPSNAP_VALUE_LOST ? b : a;
	return heapsnap_value_join(a, b);
}

// A place in a block, @p by bytes behind another.
static struct heapsnap_value move_in_block(struct heapsnap_value block, struct heapsnap_value by,
					   int sign)
{
	bool is_known = by.kind == HEAPSNAP_VALUE_CONSTANT && by.number != INT16_MAX &&
			block.number != INT16_MAX;

	return heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, block.parameters,
				   is_known ? block.number + sign * by.number : INT16_MAX);
}

struct heapsnap_value heapsnap_value_add(struct heapsnap_value a, struct heapsnap_value b, int sign)
{
	if (a.kind == HEAPSNAP_VALUE_BLOCK)
		return move_in_block(a, b, sign);
	if (b.kind == HEAPSNAP_VALUE_BLOCK && sign > 0)
		return move_in_block(b, a, 1);
	if (b.kind == HEAPSNAP_VALUE_CONSTANT && a.kind == HEAPSNAP_VALUE_STACK &&
	    b.number != INT16_MAX)
		return heapsnap_value_make(HEAPSNAP_VALUE_STACK, 0, a.number + sign * b.number);
	if (b.kind == HEAPSNAP_VALUE_CONSTANT && a.kind == HEAPSNAP_VALUE_CONSTANT)
		return heapsnap_value_make(HEAPSNAP_VALUE_CONSTANT, 0, INT16_MAX);
	if (a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_CONSTANT)
		return a;
	if (b.kind == HEAPSNAP_VALUE_PARAMETER && a.kind == HEAPSNAP_VALUE_CONSTANT && sign > 0)
		return b;
	// Twice the same is a multiple.
	if (a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_PARAMETER && sign > 0 &&
	    a.parameters != b.parameters)
		return heapsnap_value_make(HEAPSNAP_VALUE_PARAMETER, a.parameters | b.parameters,
					   0);
	return heapsnap_value_unknown;
}

struct heapsnap_value heapsnap_value_multiply(struct heapsnap_value a, struct heapsnap_value b)
{
	return a.kind == HEAPSNAP_VALUE_PARAMETER && b.kind == HEAPSNAP_VALUE_PARAMETER &&
			       a.parameters != b.parameters
		       ? heapsnap_value_make(HEAPSNAP_VALUE_PARAMETER, a.parameters | b.parameters,
					     0)
		       : heapsnap_value_unknown;
}

// --- the stack ---------------------------------------------------------------------------

struct heapsnap_value *heapsnap_values_slot(struct heapsnap_values *values,
					    struct heapsnap_value address, int64_t displacement)
{
	int64_t below = -(address.number + displacement) / 4 - 1;

	return address.kind == HEAPSNAP_VALUE_STACK && below >= 0 && below < HEAPSNAP_VALUE_SLOTS
		       ? &values->slots[below]
		       : NULL;
}

// --- all of them ----------------------------------------------------------------------

void heapsnap_values_init(struct heapsnap_values *values)
{
	*values = (struct heapsnap_values){ 0 };
	for (int i = 0; i < HEAPSNAP_VALUE_PARAMETERS; i++)
		values->registers[heapsnap_parameters[i]] =
			heapsnap_value_make(HEAPSNAP_VALUE_PARAMETER, (uint8_t)(1 << i), 0);
	values->registers[HEAPSNAP_VALUE_SP] = heapsnap_value_make(HEAPSNAP_VALUE_STACK, 0, 0);
}

// Where the stack differs, the code before the jump's target does not run on: it calls abort().
void heapsnap_values_join(struct heapsnap_values *values, const struct heapsnap_values *other)
{
	if (!is_same(values->registers[HEAPSNAP_VALUE_SP], other->registers[HEAPSNAP_VALUE_SP])) {
		*values = *other;
		return;
	}
	for (int i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++)
		values->registers[i] = join_registers(values->registers[i], other->registers[i]);
	for (int i = 0; i < HEAPSNAP_VALUE_SLOTS; i++)
		values->slots[i] = heapsnap_value_join(values->slots[i], other->slots[i]);
}

void heapsnap_values_call(struct heapsnap_values *values, uint8_t passed)
{
	struct heapsnap_value *registers = values->registers;
	// memset() and memcpy() return what they get.
	bool is_returned = registers[heapsnap_parameters[0]].kind == HEAPSNAP_VALUE_BLOCK &&
			   registers[heapsnap_parameters[2]].kind == HEAPSNAP_VALUE_PARAMETER;
	struct heapsnap_value result = passed ? heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, passed, 0)
				       : is_returned ? registers[heapsnap_parameters[0]]
						     : heapsnap_value_unknown;

	for (int i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++) {
		if ((uint32_t)HEAPSNAP_VALUE_CLOBBERED >> i & 1)
			registers[i] = heapsnap_value_make(HEAPSNAP_VALUE_LOST, 0, 0);
	}
	registers[HEAPSNAP_VALUE_RESULT] = result;
}
