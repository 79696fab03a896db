// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/system_call.h"

#include "dumper/heapsnap.h"
#include "dumper/host/next_function.h"
#include "dumper/host/signals.h"

#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// libc's syscall(), which the code below goes on to.
extern void *heapsnap_next_syscall;
__attribute__((visibility("hidden"))) void *heapsnap_next_syscall;

// For the code below.
__attribute__((visibility("hidden"))) void *heapsnap_find_syscall(void);
__attribute__((visibility("hidden"))) long heapsnap_taken_call(long number, long a, long b, long c,
							       long d, long e, long f);

static int (*next_prctl)(int option, ...);
static heapsnap_taken_call_function *of_threads;
static void (*of_rights)(const long *arguments);

void *heapsnap_find_syscall(void)
{
	if (!heapsnap_next_syscall)
		heapsnap_find_next(&heapsnap_next_syscall, "syscall");
	return heapsnap_next_syscall;
}

void heapsnap_system_call_init(void)
{
	if (next_prctl)
		return;
	heapsnap_find_syscall();
	heapsnap_find_next(&next_prctl, "prctl");
}

void heapsnap_system_call_take(heapsnap_taken_call_function *function)
{
	of_threads = function;
}

void heapsnap_system_call_tell(void (*function)(const long *arguments))
{
	of_rights = function;
}

// True for what a thread gives up for good, and for itself alone.
static bool gives_up_rights(int option)
{
	return option == PR_SET_NO_NEW_PRIVS || option == PR_CAPBSET_DROP ||
	       option == PR_SET_SECUREBITS || option == PR_CAP_AMBIENT;
}

HEAPSNAP_API int prctl(int option, ...)
{
	long arguments[6] = { option };
	va_list list;
	int result;

	va_start(list, option);
	for (int i = 1; i < 5; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	heapsnap_system_call_init();
	if (option == PR_SET_SECCOMP || option == PR_SET_SYSCALL_USER_DISPATCH)
		return (int)heapsnap_sandbox_call((heapsnap_system_call *)heapsnap_next_syscall,
						  SYS_prctl, arguments);
	result = next_prctl(option, arguments[1], arguments[2], arguments[3], arguments[4]);
	if (result == 0 && gives_up_rights(option) && of_rights)
		of_rights(arguments);
	return result;
}

// A call by syscall() that concerns us.
long heapsnap_taken_call(long number, long a, long b, long c, long d, long e, long f)
{
	heapsnap_system_call *next = (heapsnap_system_call *)heapsnap_find_syscall();
	const long arguments[6] = { a, b, c, d, e, f };
	long result;

	if ((number == SYS_unshare || number == SYS_setns) && of_threads)
		return of_threads(next, number, a, b);
	if (number == SYS_prctl || number == SYS_seccomp)
		return heapsnap_sandbox_call(next, number, arguments);
	result = next(number, a, b, c, d, e, f);
	if (number == SYS_rt_sigaction && result == 0 && b != 0)
		heapsnap_signals_changed((int)a);
	return result;
}

/*
 * syscall() must leave the stack and all registers as it found them: the call may be one that
 * returns twice. So it is a jump to libc's, or, for some calls that return once, to the function above.
 */
#if defined(__x86_64__)
_Static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && SYS_unshare == 272 && SYS_setns == 308 &&
		       SYS_rt_sigaction == 13,
	       "as the code has it");

__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n\t"
	".cfi_startproc\n\t"
	"endbr64\n\t"
	"cmp $317, %rdi\n\t"
	"je heapsnap_taken_call\n\t"
	"cmp $157, %rdi\n\t"
	"je heapsnap_taken_call\n\t"
	"cmp $272, %rdi\n\t"
	"je heapsnap_taken_call\n\t"
	"cmp $308, %rdi\n\t"
	"je heapsnap_taken_call\n\t"
	"cmp $13, %rdi\n\t"
	"je heapsnap_taken_call\n\t"
	"mov heapsnap_next_syscall(%rip), %rax\n\t"
	"test %rax, %rax\n\t"
	"jz 1f\n\t"
	"jmp *%rax\n"
	"1:\n\t"
	"push %rdi\n\t"
	"push %rsi\n\t"
	"push %rdx\n\t"
	"push %rcx\n\t"
	"push %r8\n\t"
	"push %r9\n\t"
	".cfi_adjust_cfa_offset 48\n\t"
	"sub $8, %rsp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"call heapsnap_find_syscall\n\t"
	"add $8, %rsp\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	"pop %r9\n\t"
	"pop %r8\n\t"
	"pop %rcx\n\t"
	"pop %rdx\n\t"
	"pop %rsi\n\t"
	"pop %rdi\n\t"
	".cfi_adjust_cfa_offset -48\n\t"
	"jmp *%rax\n\t"
	".cfi_endproc\n"
	".size syscall, . - syscall\n");
#else
_Static_assert(SYS_seccomp == 277 && SYS_prctl == 167 && SYS_unshare == 97 && SYS_setns == 268 &&
		       SYS_rt_sigaction == 134,
	       "as the code has it");

__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n\t"
	".cfi_startproc\n\t"
	"hint #34\n\t" // bti c
	"cmp x0, #277\n\t"
	"b.eq 2f\n\t"
	"cmp x0, #167\n\t"
	"b.eq 2f\n\t"
	"cmp x0, #97\n\t"
	"b.eq 2f\n\t"
	"cmp x0, #268\n\t"
	"b.eq 2f\n\t"
	"cmp x0, #134\n\t"
	"b.eq 2f\n\t"
	"adrp x16, heapsnap_next_syscall\n\t"
	"ldr x16, [x16, :lo12:heapsnap_next_syscall]\n\t"
	"cbz x16, 1f\n\t"
	"br x16\n"
	"1:\n\t"
	"stp x29, x30, [sp, #-80]!\n\t"
	".cfi_adjust_cfa_offset 80\n\t"
	".cfi_rel_offset x29, 0\n\t"
	".cfi_rel_offset x30, 8\n\t"
	"stp x0, x1, [sp, #16]\n\t"
	"stp x2, x3, [sp, #32]\n\t"
	"stp x4, x5, [sp, #48]\n\t"
	"stp x6, x7, [sp, #64]\n\t"
	"bl heapsnap_find_syscall\n\t"
	"mov x16, x0\n\t"
	"ldp x0, x1, [sp, #16]\n\t"
	"ldp x2, x3, [sp, #32]\n\t"
	"ldp x4, x5, [sp, #48]\n\t"
	"ldp x6, x7, [sp, #64]\n\t"
	"ldp x29, x30, [sp], #80\n\t"
	".cfi_adjust_cfa_offset -80\n\t"
	"br x16\n"
	"2:\n\t"
	"b heapsnap_taken_call\n\t"
	".cfi_endproc\n"
	".size syscall, . - syscall\n");
#endif
