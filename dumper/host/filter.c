// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct machine {
	uint32_t accumulator, index;
	uint32_t memory[BPF_MEMWORDS];
};

static uint32_t calculate(uint16_t code, uint32_t left, uint32_t right)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return left + right;
	case BPF_SUB:
		return left - right;
	case BPF_MUL:
		return left * right;
	case BPF_DIV:
		return right ? left / right : 0;
	case BPF_OR:
		return left | right;
	case BPF_AND:
		return left & right;
	case BPF_LSH:
		return right < 32 ? left << right : 0;
	case BPF_RSH:
		return right < 32 ? left >> right : 0;
	case BPF_XOR:
		return left ^ right;
	default:
		return -left; // BPF_NEG
	}
}

static bool is_met(uint16_t code, uint32_t left, uint32_t right)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return left == right;
	case BPF_JGT:
		return left > right;
	case BPF_JGE:
		return left >= right;
	default:
		return left & right; // BPF_JSET
	}
}

// BPF_LD and BPF_LDX. @return false if the kernel would refuse it
static bool load(const struct machine *machine, const struct sock_filter *instruction,
		 const struct seccomp_data *data, uint32_t *result)
{
	switch (BPF_MODE(instruction->code)) {
	case BPF_IMM:
		*result = instruction->k;
		return true;
	case BPF_LEN:
		*result = sizeof(*data);
		return true;
	case BPF_MEM:
		*result = machine->memory[instruction->k % BPF_MEMWORDS];
		return true;
	case BPF_ABS:
		if (instruction->k > sizeof(*data) - sizeof(*result))
			return false;
		memcpy(result, (const char *)data + instruction->k, sizeof(*result));
		return true;
	default:
		return false;
	}
}

uint32_t heapsnap_filter_run(const struct sock_fprog *filter, const struct seccomp_data *data)
{
	struct machine machine = { 0 };

	// There are no jumps backwards.
	for (size_t i = 0; i < filter->len; i++) {
		const struct sock_filter *at = &filter->filter[i];
		uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine.index : at->k;

		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
			if (!load(&machine, at, data, &machine.accumulator))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_LDX:
			if (!load(&machine, at, data, &machine.index))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_ST:
			machine.memory[at->k % BPF_MEMWORDS] = machine.accumulator;
			break;
		case BPF_STX:
			machine.memory[at->k % BPF_MEMWORDS] = machine.index;
			break;
		case BPF_ALU:
			machine.accumulator = calculate(at->code, machine.accumulator, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(at->code) == BPF_JA)
				i += at->k;
			else
				i += is_met(at->code, machine.accumulator, operand) ? at->jt
										    : at->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(at->code) == BPF_A ? machine.accumulator : at->k;
		default: // BPF_MISC
			if (BPF_MISCOP(at->code) == BPF_TAX)
				machine.index = machine.accumulator;
			else
				machine.accumulator = machine.index;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}
