// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_USER_REGISTERS_H
#define HEAPSNAP_USER_REGISTERS_H

/** A thread's registers as ptrace(2) and core files have them, in the order of DWARF's numbers. */

#include "dumper/base/protocol.h"

#include <stdint.h>
#include <string.h>
#include <sys/user.h>

/** The DWARF numbers of the stack pointer and of the program counter. */
enum {
#if defined(__x86_64__)
	HEAPSNAP_USER_SP = 7,
	HEAPSNAP_USER_PC = 16,
#else
	HEAPSNAP_USER_SP = 31,
	HEAPSNAP_USER_PC = 32,
#endif
};

/**
 * Fills in a thread's registers, and which of them are known. The thread pointer is one of them on
 * x86-64, but not on aarch64 (NT_ARM_TLS).
 */
static inline void heapsnap_fill_registers(struct heapsnap_thread *thread,
					   const struct user_regs_struct *from)
{
#if defined(__x86_64__)
	// System V ABI, AMD64 supplement, figure 3.36.
	const uint64_t registers[] = { from->rax, from->rdx, from->rcx, from->rbx, from->rsi,
				       from->rdi, from->rbp, from->rsp, from->r8,  from->r9,
				       from->r10, from->r11, from->r12, from->r13, from->r14,
				       from->r15, from->rip };

	thread->thread_pointer = from->fs_base;
#else
	uint64_t registers[33]; // x0 to x30, sp, pc

	memcpy(registers, from, sizeof(registers));
#endif
	memcpy(thread->registers, registers, sizeof(registers));
	thread->known = (UINT64_C(1) << sizeof(registers) / sizeof(registers[0])) - 1;
}

#endif
