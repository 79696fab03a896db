// SPDX-License-Identifier: GPL-3.0-or-later
// Steps out of a signal handler, by the frame that the kernel made for it.
#include "t/unit/unit.h"

#include "lib/dwarf/dwarf_unwind.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

static struct heap_dwarf_registers at_return; // from the handler
static ucontext_t interrupted;

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	memcpy(buffer, (const void *)address, size); // NOLINT
	return true;
}

static bool read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context, (void)address, (void)buffer, (void)size;
	return false;
}

static bool stepped;
static uint64_t cfa;

// The frame is there as long as the handler runs.
static void handle(int number, siginfo_t *info, void *context)
{
	struct heap_dwarf_registers registers = { 0 };

	(void)number, (void)info;
	registers.value[HEAP_DWARF_REGISTER_PC] = (uintptr_t)__builtin_return_address(0);
	registers.value[HEAP_DWARF_REGISTER_SP] = (uintptr_t)__builtin_dwarf_cfa();
	registers.known = UINT64_C(1) << HEAP_DWARF_REGISTER_PC | UINT64_C(1)
									  << HEAP_DWARF_REGISTER_SP;
	interrupted = *(const ucontext_t *)context;
	stepped = heap_dwarf_unwinder_step_signal(read_own, NULL, &registers, &cfa);
	at_return = registers;
}

static void test_registers(void **state)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };
	const mcontext_t *saved = &interrupted.uc_mcontext;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_true(stepped);
#if defined(__aarch64__)
	for (int i = 0; i < 31; i++)
		assert_int_equal(at_return.value[i], saved->regs[i]);
	assert_int_equal(at_return.value[HEAP_DWARF_REGISTER_SP], saved->sp);
	assert_int_equal(at_return.value[HEAP_DWARF_REGISTER_PC], saved->pc);
	assert_int_equal(at_return.known, (UINT64_C(1) << 33) - 1);
	assert_int_equal(cfa, saved->sp);
#else
	static const int by_dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (int i = 0; i < 17; i++)
		assert_int_equal(at_return.value[i], saved->gregs[by_dwarf[i]]);
	assert_int_equal(at_return.known, (UINT64_C(1) << 17) - 1);
	assert_int_equal(cfa, saved->gregs[REG_RSP]);
#endif
}

static void test_no_trampoline(void **state)
{
	struct heap_dwarf_registers registers = { 0 };
	uint64_t top;

	(void)state;
	assert_false(heap_dwarf_unwinder_step_signal(read_own, NULL, &registers, &top));
	registers.known = ~UINT64_C(0);
	registers.value[HEAP_DWARF_REGISTER_PC] = (uintptr_t)test_no_trampoline;
	registers.value[HEAP_DWARF_REGISTER_SP] = (uintptr_t)&registers;
	assert_false(heap_dwarf_unwinder_step_signal(read_own, NULL, &registers, &top));
	assert_false(heap_dwarf_unwinder_step_signal(read_nothing, NULL, &registers, &top));
	assert_int_equal(registers.value[HEAP_DWARF_REGISTER_SP], (uintptr_t)&registers);
}

UNIT_TESTS("signal_frames", cmocka_unit_test(test_registers), cmocka_unit_test(test_no_trampoline))