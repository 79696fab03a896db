// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/sandbox.h"

#include "dumper/host/announce.h"
#include "dumper/host/filter.h"
#include "dumper/heapsnap.h"
#include "dumper/base/owner.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_sandboxed, forbids_snapshots;

static int (*next_prctl)(int option, ...);

// libc's syscall(), which the code below goes on to.
extern void *heapsnap_next_syscall;
__attribute__((visibility("hidden"))) void *heapsnap_next_syscall;

bool heapsnap_is_sandboxed(void)
{
	return __atomic_load_n(&is_sandboxed, __ATOMIC_RELAXED);
}

void heapsnap_sandbox_init(void)
{
	if (next_prctl)
		return;
	heapsnap_next_syscall = dlsym(RTLD_NEXT, "syscall");
	*(void **)&next_prctl = dlsym(RTLD_NEXT, "prctl");
}

bool heapsnap_sandbox_forbids_snapshots(void)
{
	return __atomic_load_n(&forbids_snapshots, __ATOMIC_ACQUIRE);
}

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

// System calls that the threads of the program and our own make while a snapshot is taken.
static const struct seccomp_data calls[] = {
	{ .nr = SYS_getpid },
	{ .nr = SYS_getppid },
	{ .nr = SYS_gettid },
	{ .nr = SYS_kcmp },
	{ .nr = SYS_mmap, .args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS } },
	{ .nr = SYS_clone },
	{ .nr = SYS_futex },
	{ .nr = SYS_prctl, .args = { PR_SET_NAME } },
	{ .nr = SYS_close_range, .args = { 3 } },
	{ .nr = SYS_close },
	{ .nr = SYS_rt_sigaction, .args = { SIGQUIT } },
	{ .nr = SYS_rt_sigprocmask },
	{ .nr = SYS_rt_sigreturn },
	{ .nr = SYS_rt_tgsigqueueinfo },
	{ .nr = SYS_tgkill },
	{ .nr = SYS_openat, .args = { (uint32_t)AT_FDCWD } },
	{ .nr = SYS_getdents64 },
	{ .nr = SYS_lseek },
	{ .nr = SYS_read },
	{ .nr = SYS_fstat },
	{ .nr = SYS_newfstatat, .args = { (uint32_t)AT_FDCWD } },
	{ .nr = SYS_mprotect },
	{ .nr = SYS_fcntl },
	{ .nr = SYS_write, .args = { STDERR_FILENO } },
	{ .nr = SYS_wait4 },
	{ .nr = SYS_exit },
#if defined(__x86_64__)
	{ .nr = SYS_arch_prctl },
#endif
};

// An error is fine: then there is no snapshot, and a line says why.
static bool lets_snapshots_be_taken(const struct sock_fprog *filter)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct seccomp_data call = calls[i];
		uint32_t action;

		call.arch = MACHINE;
		action = heapsnap_filter_run(filter, &call) & SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_ERRNO &&
		    action != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}

// Before it is installed. @param filter  NULL: only read(), write() and exit() are left
static void note(const struct sock_fprog *filter)
{
	__atomic_store_n(&is_sandboxed, true, __ATOMIC_RELAXED);
	if (heapsnap_sandbox_forbids_snapshots() || (filter && lets_snapshots_be_taken(filter)))
		return;
	__atomic_store_n(&forbids_snapshots, true, __ATOMIC_RELEASE);
	if (heapsnap_is_owner())
		heapsnap_announce_sandbox();
}

static void note_seccomp(long mode, const struct sock_fprog *filter)
{
	if (mode == SECCOMP_MODE_STRICT)
		note(NULL);
	else if (mode == SECCOMP_MODE_FILTER && filter) // NULL: libseccomp asks if there are such
		note(filter);
}

HEAPSNAP_API int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	heapsnap_sandbox_init();
	if (option == PR_SET_SECCOMP)
		note_seccomp((long)arguments[0], (const struct sock_fprog *)arguments[1]);
	return next_prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

// A call by syscall() that concerns us. @return where to go on
__attribute__((visibility("hidden"))) void *heapsnap_note_syscall(long number, long first,
								  long second, long third);

void *heapsnap_note_syscall(long number, long first, long second, long third)
{
	heapsnap_sandbox_init();
	if (number == SYS_prctl && first == PR_SET_SECCOMP)
		note_seccomp(second, (const struct sock_fprog *)third);
	else if (number == SYS_seccomp && first == SECCOMP_SET_MODE_STRICT)
		note(NULL);
	else if (number == SYS_seccomp && first == SECCOMP_SET_MODE_FILTER && third)
		note((const struct sock_fprog *)third);
	return heapsnap_next_syscall;
}

/*
 * syscall() must leave the stack and all registers as it found them: the call may be one that
 * returns twice. So it is a jump to libc's, by way of the function above for some calls.
 */
#if defined(__x86_64__)
_Static_assert(SYS_seccomp == 317 && SYS_prctl == 157, "as the code has it");

__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n\t"
	".cfi_startproc\n\t"
	"endbr64\n\t"
	"cmp $317, %rdi\n\t"
	"je 1f\n\t"
	"cmp $157, %rdi\n\t"
	"je 1f\n\t"
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
	"call heapsnap_note_syscall\n\t"
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
_Static_assert(SYS_seccomp == 277 && SYS_prctl == 167, "as the code has it");

__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n\t"
	".cfi_startproc\n\t"
	"hint #34\n\t" // bti c
	"cmp x0, #277\n\t"
	"b.eq 1f\n\t"
	"cmp x0, #167\n\t"
	"b.eq 1f\n\t"
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
	"bl heapsnap_note_syscall\n\t"
	"mov x16, x0\n\t"
	"ldp x0, x1, [sp, #16]\n\t"
	"ldp x2, x3, [sp, #32]\n\t"
	"ldp x4, x5, [sp, #48]\n\t"
	"ldp x6, x7, [sp, #64]\n\t"
	"ldp x29, x30, [sp], #80\n\t"
	".cfi_adjust_cfa_offset -80\n\t"
	"br x16\n\t"
	".cfi_endproc\n"
	".size syscall, . - syscall\n");
#endif
