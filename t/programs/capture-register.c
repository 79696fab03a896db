// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A thread asleep in a system call, and a block that only one of its registers holds; beside it
 * blocks that nothing holds. Has itself captured. t/capture/registers.t runs it.
 *
 *	capture-register poll|recv [alone]
 *
 * alone: without the blocks that nothing holds.
 */
#include "dumper/heapsnap.h"
#include "t/programs/asleep.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	HELD = 777, // bytes
	LOST = 333,
	LOST_COUNT = 5,
};

static uint64_t hidden; // the complement of the block's address
static long call, arguments[4];

static __attribute__((noinline)) void make_blocks(int lost)
{
	hidden = ~(uint64_t)(uintptr_t)malloc(HELD);
	for (int i = 0; i < lost; i++)
		memset(malloc(LOST), 1, LOST);
}

// Leaves nothing of what functions before have had on the stack.
static __attribute__((noinline)) void scrub(void)
{
	volatile char space[32768];

	for (size_t i = 0; i < sizeof(space); i++)
		space[i] = 0;
}

static void *sleep_with_register(void *unused)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = arguments[3];
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("mov %[hidden], %%rbx\n\t"
			 "not %%rbx\n\t"
			 "syscall\n\t"
			 "xor %%ebx, %%ebx"
			 : "=a"(result)
			 : "a"(call), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]),
			   "r"(r10), "r"(r8), "r"(r9), [hidden] "m"(hidden)
			 : "rbx", "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = call;
	register long x0 __asm__("x0") = arguments[0];
	register long x1 __asm__("x1") = arguments[1];
	register long x2 __asm__("x2") = arguments[2];
	register long x3 __asm__("x3") = arguments[3];
	register long x4 __asm__("x4") = 0;
	register long x5 __asm__("x5") = 0;

	__asm__ volatile("ldr x19, %[hidden]\n\t"
			 "mvn x19, x19\n\t"
			 "svc 0\n\t"
			 "mov x19, xzr"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
			   "r"(x5), [hidden] "m"(hidden)
			 : "x19", "memory");
#endif
	return unused;
}

int main(int argc, char **argv)
{
	static char byte;
	int pair[2];
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 2;
	if (argc > 1 && strcmp(argv[1], "recv") == 0) {
		call = SYS_recvfrom;
		arguments[0] = pair[0];
		arguments[1] = (long)&byte;
		arguments[2] = 1;
	} else {
		call = SYS_ppoll; // of nothing, for ever
	}
	make_blocks(argc > 2 ? 0 : LOST_COUNT);
	scrub();
	pthread_create(&thread, NULL, sleep_with_register, NULL);
	await_asleep(1);
	scrub();
	if (heapsnap_dump && (heapsnap_dump(NULL) != 0 || heapsnap_wait() != 0))
		puts("no snapshot");
	puts("done");
	fflush(stdout);
	_exit(0);
}
