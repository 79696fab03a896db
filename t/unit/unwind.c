// SPDX-License-Identifier: GPL-3.0-or-later
// This process unwinds itself, and must agree with libc.
#include "t/unit/unit.h"

#include "lib/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	MAX_FRAMES = 64,
};

static uint64_t found[MAX_FRAMES]; // pcs, innermost first
static size_t found_count;
static void *expected[MAX_FRAMES];
static int expected_count;
static enum heap_unwind_result last;
static unsigned signal_frames;

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size }, remote = { (void *)address, size };

	(void)context;
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void copy_registers(const ucontext_t *context, struct heap_registers *registers)
{
	*registers = (struct heap_registers){ 0 };
#if defined(__x86_64__)
	// By DWARF number.
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		registers->value[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	registers->known = (UINT64_C(1) << (sizeof(order) / sizeof(*order))) - 1;
#else
	for (int i = 0; i < 31; i++)
		registers->value[i] = context->uc_mcontext.regs[i];
	registers->value[HEAP_REGISTER_SP] = context->uc_mcontext.sp;
	registers->value[HEAP_REGISTER_PC] = context->uc_mcontext.pc;
	registers->known = (UINT64_C(1) << (HEAP_REGISTER_PC + 1)) - 1;
#endif
}

static struct heap_unwinder *open_unwinder(uint64_t pc, uint64_t *bias)
{
	struct heap_unwinder *unwinder;
	Dl_info info;
	struct link_map *map;

	if (!dladdr1((void *)pc, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	*bias = map->l_addr;
	assert_null(heap_unwinder_create(*map->l_name ? map->l_name : "/proc/self/exe", NULL,
					 &unwinder));
	return unwinder;
}

static void unwind(const ucontext_t *context)
{
	struct heap_registers registers;
	bool is_exact = true;

	copy_registers(context, &registers);
	found_count = signal_frames = 0;
	last = HEAP_UNWIND_CALLER;
	while (last == HEAP_UNWIND_CALLER && found_count < MAX_FRAMES) {
		uint64_t pc = registers.value[HEAP_REGISTER_PC], bias, cfa;
		struct heap_unwinder *unwinder = open_unwinder(pc - !is_exact, &bias);
		bool is_signal;

		found[found_count++] = pc;
		assert_non_null(unwinder);
		last = heap_unwinder_step(unwinder, pc - !is_exact - bias, read_own, NULL,
					  &registers, &cfa, &is_signal);
		heap_unwinder_destroy(unwinder);
		is_exact = is_signal;
		signal_frames += is_signal;
	}
}

// --- calls -----------------------------------------------------------------------------------

static __attribute__((noinline)) int deepest(int x)
{
	ucontext_t context;

	assert_int_equal(getcontext(&context), 0);
	expected_count = backtrace(expected, MAX_FRAMES);
	unwind(&context);
	return x + 1;
}

static __attribute__((noinline)) int recurse(int depth)
{
	volatile char room[100];

	room[depth] = 1;
	return depth == 0 ? deepest(1) + room[0] : recurse(depth - 1) + room[depth];
}

// The first of each is in the function that asks, at another place.
static void check_frames(void)
{
	assert_int_equal(found_count, expected_count);
	for (int i = 1; i < expected_count; i++)
		if (found[i] != (uint64_t)expected[i])
			fail_msg("frame %d: %#lx rather than %p", i, found[i], expected[i]);
}

static void callers_are_those_that_libc_finds(void **state)
{
	(void)state;
	assert_int_equal(recurse(5), 8);
	assert_true(expected_count > 7);
	check_frames();
	assert_int_equal(last, HEAP_UNWIND_END);
	assert_int_equal(signal_frames, 0);
}

static int compare(const void *left, const void *right)
{
	(void)left;
	(void)right;
	return recurse(3) != 0;
}

static void callers_in_other_modules_too(void **state)
{
	int numbers[2] = { 1, 2 };

	(void)state;
	qsort(numbers, 2, sizeof(*numbers), compare);
	check_frames();
	assert_int_equal(last, HEAP_UNWIND_END);
}

// --- signals ---------------------------------------------------------------------------------

static void handle(int number)
{
	(void)number;
	recurse(2);
}

static void who_a_signal_interrupted_is_found(void **state)
{
	struct sigaction action = { .sa_handler = handle }, before;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	check_frames();
	assert_int_equal(signal_frames, 1);
	assert_int_equal(last, HEAP_UNWIND_END);
}

// --- what is missing -------------------------------------------------------------------------

static bool read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context, (void)address, (void)buffer, (void)size;
	return false;
}

static void without_memory_the_caller_is_lost(void **state)
{
	struct heap_registers registers, before;
	struct heap_unwinder *unwinder;
	ucontext_t context;
	uint64_t bias, cfa;
	bool is_signal;

	(void)state;
	assert_int_equal(getcontext(&context), 0);
	copy_registers(&context, &registers);
	before = registers;
	unwinder = open_unwinder(registers.value[HEAP_REGISTER_PC], &bias);
	assert_non_null(unwinder);
	assert_int_equal(heap_unwinder_step(unwinder, registers.value[HEAP_REGISTER_PC] - bias,
					    read_nothing, NULL, &registers, &cfa, &is_signal),
			 HEAP_UNWIND_LOST);
	assert_memory_equal(&registers, &before, sizeof(registers));
	assert_true(cfa > registers.value[HEAP_REGISTER_SP]);
	// There is no code at 0.
	assert_int_equal(
		heap_unwinder_step(unwinder, 0, read_own, NULL, &registers, &cfa, &is_signal),
		HEAP_UNWIND_LOST);
	assert_int_equal(cfa, 0);
	heap_unwinder_destroy(unwinder);
}

static void a_file_that_is_none_has_no_rules(void **state)
{
	struct heap_registers registers = { 0 };
	struct heap_unwinder *unwinder;
	uint64_t cfa;
	bool is_signal;

	(void)state;
	assert_null(heap_unwinder_create("/nonexistent", "/dev/null", &unwinder));
	assert_int_equal(
		heap_unwinder_step(unwinder, 0x1000, read_own, NULL, &registers, &cfa, &is_signal),
		HEAP_UNWIND_LOST);
	heap_unwinder_destroy(unwinder);
}

UNIT_TESTS("unwind", cmocka_unit_test(callers_are_those_that_libc_finds),
	   cmocka_unit_test(callers_in_other_modules_too),
	   cmocka_unit_test(who_a_signal_interrupted_is_found),
	   cmocka_unit_test(without_memory_the_caller_is_lost),
	   cmocka_unit_test(a_file_that_is_none_has_no_rules))
