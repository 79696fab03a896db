// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/deepbind.h"

#include <dlfcn.h>

#if defined(RTLD_DEEPBIND)

// libc's dlopen(), which the code below goes on to.
extern void *heapsnap_next_dlopen;
__attribute__((visibility("hidden"))) void *heapsnap_next_dlopen;

// For the code below.
__attribute__((visibility("hidden"))) void *heapsnap_find_dlopen(void);

void *heapsnap_find_dlopen(void)
{
	if (!heapsnap_next_dlopen)
		heapsnap_next_dlopen = dlsym(RTLD_NEXT, "dlopen");
	return heapsnap_next_dlopen;
}

void heapsnap_deepbind_init(void)
{
	heapsnap_find_dlopen();
}

_Static_assert(RTLD_DEEPBIND == 8, "as the code has it");

/*
 * A jump, not a call: libc looks for the module in the RUNPATH of the one that it returns to, and
 * that must not be ours.
 */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl dlopen\n"
	".type dlopen, @function\n"
	"dlopen:\n\t"
	".cfi_startproc\n\t"
	"endbr64\n\t"
	"and $~8, %esi\n\t"
	"mov heapsnap_next_dlopen(%rip), %rax\n\t"
	"test %rax, %rax\n\t"
	"jz 1f\n\t"
	"jmp *%rax\n"
	"1:\n\t"
	"push %rdi\n\t"
	"push %rsi\n\t"
	"sub $8, %rsp\n\t"
	".cfi_adjust_cfa_offset 24\n\t"
	"call heapsnap_find_dlopen\n\t"
	"add $8, %rsp\n\t"
	"pop %rsi\n\t"
	"pop %rdi\n\t"
	".cfi_adjust_cfa_offset -24\n\t"
	"jmp *%rax\n\t"
	".cfi_endproc\n"
	".size dlopen, . - dlopen\n");
#else
__asm__(".text\n"
	".globl dlopen\n"
	".type dlopen, %function\n"
	"dlopen:\n\t"
	".cfi_startproc\n\t"
	"hint #34\n\t" // bti c
	"and w1, w1, #0xfffffff7\n\t"
	"adrp x16, heapsnap_next_dlopen\n\t"
	"ldr x16, [x16, :lo12:heapsnap_next_dlopen]\n\t"
	"cbz x16, 1f\n\t"
	"br x16\n"
	"1:\n\t"
	"stp x29, x30, [sp, #-32]!\n\t"
	".cfi_adjust_cfa_offset 32\n\t"
	".cfi_rel_offset x29, 0\n\t"
	".cfi_rel_offset x30, 8\n\t"
	"stp x0, x1, [sp, #16]\n\t"
	"bl heapsnap_find_dlopen\n\t"
	"mov x16, x0\n\t"
	"ldp x0, x1, [sp, #16]\n\t"
	"ldp x29, x30, [sp], #32\n\t"
	".cfi_adjust_cfa_offset -32\n\t"
	"br x16\n\t"
	".cfi_endproc\n"
	".size dlopen, . - dlopen\n");
#endif

#else

void heapsnap_deepbind_init(void)
{
}

#endif
