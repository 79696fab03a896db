// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of a seccomp filter on a call, as the library finds it out.
#include "t/unit/unit.h"

#include "dumper/host/filter.h"

#include <stddef.h>
#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))

static uint32_t run(struct sock_filter *rules, size_t count, int number, uint64_t first)
{
	struct sock_fprog program = { (unsigned short)count, rules };
	struct seccomp_data data = { .nr = number, .arch = 7, .args = { first } };

	return heapsnap_filter_run(&program, &data);
}

static void jumps(void **state)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 50, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
	};

	(void)state;
	assert_int_equal(run(rules, LENGTH(rules), 50, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(rules, LENGTH(rules), 51, 0), SECCOMP_RET_ERRNO | 1);
	assert_int_equal(run(rules, LENGTH(rules), 99, 0), SECCOMP_RET_ERRNO | 1);
	assert_int_equal(run(rules, LENGTH(rules), 100, 0), SECCOMP_RET_TRAP);
}

// Looks at an argument in both halves, by way of memory and the index.
static void calculates(void **state)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(args)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(args) + 4),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 8),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_IMM, 1),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 4),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	(void)state;
	// 0x12 from above, 0x34 from below: ((0x1234 + 1) * 2 - 4 >> 1) ^ 1.
	assert_int_equal(run(rules, LENGTH(rules), 0, UINT64_C(0x1200000034)), 0x1233 ^ 1);
	rules[9] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0);
	rules[10] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	assert_int_equal(run(rules, LENGTH(rules), 0, 0), 0);
}

// Filters that the kernel would not take.
static void refuses(void **state)
{
	struct sock_filter beyond[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter endless[] = {
		BPF_JUMP(BPF_JMP | BPF_JA, 0xffffff00, 0, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_int_equal(run(beyond, LENGTH(beyond), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(endless, LENGTH(endless), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(NULL, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps),
		cmocka_unit_test(calculates),
		cmocka_unit_test(refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
