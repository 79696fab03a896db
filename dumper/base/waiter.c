// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/waiter.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	STACK_SIZE = 64 << 10,
	// Stands in for thread-local storage: libc's thread descriptor fits behind the middle.
	STORAGE_SIZE = 8 << 10,
	MAX_DESCRIPTORS = 65536, // to close one by one, on a kernel before 5.9
};

long heapsnap_waiter_init(struct heapsnap_waiter *waiter, volatile uint32_t *tid)
{
	waiter->memory = heapsnap_reserve(STACK_SIZE + STORAGE_SIZE);
	waiter->tid = tid;
	return waiter->memory ? 0 : -ENOMEM;
}

bool heapsnap_waiter_part(int kept)
{
	bool parted = HEAPSNAP_SYSTEM_3(SYS_close_range, kept + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0;

	if (!parted) {
		if (HEAPSNAP_SYSTEM_1(SYS_unshare, CLONE_FILES) != 0)
			return false; // they are still the program's
		for (int i = kept + 1; i < MAX_DESCRIPTORS; i++)
			HEAPSNAP_SYSTEM_1(SYS_close, i);
	}
	// A pipe that the program closes must close.
	for (int i = 0; i < kept; i++)
		HEAPSNAP_SYSTEM_1(SYS_close, i);
	return true;
}

void heapsnap_waiter_detach(void)
{
	static const char name[] = "heapsnap-wait";
	heapsnap_signals before;

	heapsnap_block_signals(&before);
	HEAPSNAP_SYSTEM_2(SYS_prctl, PR_SET_NAME, name);
	heapsnap_waiter_part(STDERR_FILENO);
}

// A kernel before 5.6, and some containers, give files by name alone.
static long open_standard_error(uint32_t pid)
{
	char path[64];
	char *at = heapsnap_format_text(path, path + sizeof(path), "/proc/");

	at = heapsnap_format_number(at, path + sizeof(path), pid, 10);
	heapsnap_format_text(at, path + sizeof(path), "/fd/2");
	return HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, path,
				 O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
}

void heapsnap_waiter_borrow_error(void)
{
	uint32_t pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long process = HEAPSNAP_SYSTEM_2(SYS_pidfd_open, pid, 0);
	long file = process < 0 ? process
				: HEAPSNAP_SYSTEM_3(SYS_pidfd_getfd, process, STDERR_FILENO, 0);

	if (file < 0 && file != -EBADF)
		file = open_standard_error(pid);
	if (file >= 0 && file != STDERR_FILENO) {
		HEAPSNAP_SYSTEM_3(SYS_dup3, file, STDERR_FILENO, 0);
		HEAPSNAP_SYSTEM_1(SYS_close, file);
	}
	if (process >= 0)
		HEAPSNAP_SYSTEM_1(SYS_close, process);
}

void heapsnap_waiter_return_error(void)
{
	HEAPSNAP_SYSTEM_1(SYS_close, STDERR_FILENO);
}

static const long FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

// The futex that the kernel wakes at the end is shared, not private: see set_tid_address(2).
static void wait_for_end(const volatile uint32_t *tid)
{
	uint32_t value;

	while ((value = *tid) != 0)
		HEAPSNAP_SYSTEM_4(SYS_futex, tid, FUTEX_WAIT, value, NULL);
}

// The kernel counts a thread among the process's for a moment after it has woken who waits.
void heapsnap_waiter_join(const struct heapsnap_waiter *waiter)
{
	uint32_t never = 0;

	wait_for_end(waiter->tid);
	while (waiter->latest &&
	       HEAPSNAP_SYSTEM_3(SYS_tgkill, heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0),
				 waiter->latest, 0) == 0)
		heapsnap_futex_wait(&never, 0, 20000);
}

long heapsnap_clone_running(long flags, char *top, void (*function)(void), volatile uint32_t *tid,
			    void *storage)
{
	void **stack = (void **)top;
	long result;

#if defined(__x86_64__)
	stack[-3] = (void *)function; // popped; the call then leaves the stack as the ABI wants it
	stack -= 3;

	register long r10 __asm__("r10") = (long)tid;
	register long r8 __asm__("r8") = (long)storage;

	__asm__ volatile("syscall\n\t"
			 "test %%eax, %%eax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "call *%%rax\n\t"
			 "mov %[exit], %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n\t"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(tid), "r"(r10),
			   "r"(r8), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
#else
	stack[-2] = (void *)function;
	stack -= 2;

	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = flags;
	register long x1 __asm__("x1") = (long)stack;
	register long x2 __asm__("x2") = (long)tid;
	register long x3 __asm__("x3") = (long)storage;
	register long x4 __asm__("x4") = (long)tid;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "ldr x9, [sp], #16\n\t"
			 "blr x9\n\t"
			 "mov x8, %[exit]\n\t"
			 "mov x0, xzr\n\t"
			 "svc 0\n\t"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit)
			 : "x9", "memory");
	result = x0;
#endif
	return result;
}

long heapsnap_waiter_start(struct heapsnap_waiter *waiter, void (*function)(void))
{
	volatile uint32_t *tid = waiter->tid;

	if (!waiter->memory)
		return -ENOMEM;
	wait_for_end(tid);

	char *storage = waiter->memory + STACK_SIZE + STORAGE_SIZE / 2;

	// The thread descriptor begins with its own address; so does its third word.
	((void **)storage)[0] = storage;
	((void **)storage)[2] = storage;

	long result =
		heapsnap_clone_running(FLAGS, waiter->memory + STACK_SIZE, function, tid, storage);

	if (result < 0)
		return result;
	waiter->latest = (uint32_t)result;
	return 0;
}
