// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_CONTEXT_H
#define HEAPSNAP_CONTEXT_H

/**
 * The context of a thread that requests a snapshot itself, as a signal handler would have received
 * it.
 */

#include <string.h>
#include <ucontext.h>

#if defined(__GLIBC__)

// No function: it would be one that returns twice.
#define heapsnap_context_here getcontext

#else

/** Notes the caller's registers, but for those that a call may change. musl has no getcontext(). */
static inline __attribute__((always_inline)) int heapsnap_context_here(ucontext_t *context)
{
	memset(context, 0, sizeof(*context));
#if defined(__x86_64__)
	greg_t *registers = context->uc_mcontext.gregs;

	__asm__ volatile("mov %%rbx, %0\n\t"
			 "mov %%rbp, %1\n\t"
			 "mov %%r12, %2\n\t"
			 "mov %%r13, %3\n\t"
			 : "=m"(registers[REG_RBX]), "=m"(registers[REG_RBP]),
			   "=m"(registers[REG_R12]), "=m"(registers[REG_R13]));
	__asm__ volatile("mov %%r14, %0\n\t"
			 "mov %%r15, %1\n\t"
			 "mov %%rsp, %2\n\t"
			 "lea 0(%%rip), %%rax\n\t"
			 "mov %%rax, %3\n\t"
			 : "=m"(registers[REG_R14]), "=m"(registers[REG_R15]),
			   "=m"(registers[REG_RSP]), "=m"(registers[REG_RIP])
			 :
			 : "rax");
#else
	context->uc_mcontext.sp = (unsigned long)__builtin_frame_address(0);
	context->uc_mcontext.pc = (unsigned long)__builtin_return_address(0);
#endif
	return 0;
}

#endif

#endif
