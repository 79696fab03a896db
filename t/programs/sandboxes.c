// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Restricts its own system calls by seccomp(2), or tries to, goes on allocating, and says how it went. It must
 * behave the same with the library and without. Arguments: a way, and for some how long, in ms.
 */
// CFLAGS: -D_GNU_SOURCE -pthread
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ALLOW(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define OF_MALLOC \
	ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_mremap), \
		ALLOW(SYS_mprotect), ALLOW(SYS_madvise), ALLOW(SYS_write), ALLOW(SYS_exit_group)

static struct sock_filter of_malloc[] = { LOAD, OF_MALLOC, KILL };

static struct sock_filter of_thread[] = {
	LOAD,
	OF_MALLOC,
	ALLOW(SYS_exit),
	ALLOW(SYS_futex),
	ALLOW(SYS_set_robust_list),
	ALLOW(SYS_rt_sigprocmask),
	KILL,
};

// What the dynamic linker and libc need to start a program.
static struct sock_filter of_start[] = {
	LOAD,
	OF_MALLOC,
	ALLOW(SYS_execve),
	ALLOW(SYS_openat),
	ALLOW(SYS_newfstatat),
	ALLOW(SYS_fstat),
	ALLOW(SYS_read),
	ALLOW(SYS_pread64),
	ALLOW(SYS_close),
	ALLOW(SYS_faccessat),
#if defined(__x86_64__)
	ALLOW(SYS_access),
	ALLOW(SYS_arch_prctl),
#endif
	ALLOW(SYS_set_tid_address),
	ALLOW(SYS_set_robust_list),
	ALLOW(SYS_rseq),
	ALLOW(SYS_prlimit64),
	ALLOW(SYS_getrandom),
	KILL,
};

static struct sock_filter of_child[] = { LOAD, ALLOW(SYS_exit_group), ALLOW(SYS_exit), KILL };

static struct sock_filter of_nothing[] = { KILL };

#define PROGRAM(filter) ((struct sock_fprog){ sizeof(filter) / sizeof((filter)[0]), filter })

static double now(void)
{
	struct timespec clock;

	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (double)clock.tv_sec * 1000 + (double)clock.tv_nsec / 1e6;
}

// Reads the clock without a system call.
static void allocate(double ms)
{
	static __thread void *blocks[1000];
	double end = now() + ms;

	do {
		for (int i = 0; i < 1000; i++) {
			free(blocks[i]);
			blocks[i] = malloc(16 + (size_t)i * 37 % 2900);
		}
		free(malloc(1 << 20));
	} while (now() < end);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

// Without a function of libc's.
static long raw(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#endif
}

static long filter(struct sock_fprog program, unsigned flags)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void *sandboxed_thread(void *context)
{
	if (filter(PROGRAM(of_thread), 0) != 0)
		say("no filter\n");
	allocate(*(double *)context);
	return NULL;
}

static pthread_barrier_t begun;

// libc gives a thread its own heap, and asks for the number of processors, at its first block.
static void *allocating_thread(void *context)
{
	allocate(1);
	pthread_barrier_wait(&begun);
	allocate(*(double *)context);
	return NULL;
}

static void try_bad(void)
{
	struct sock_fprog null = { 10, NULL }, wild = { 4, (void *)16 };

	printf("%d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8));
	printf(" %d\n", errno);
	printf("%d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &null));
	printf(" %d\n", errno);
	printf("%ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &wild));
	printf(" %d\n", errno);
	printf("%ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 8L));
	printf(" %d\n", errno);
	printf("%ld", syscall(SYS_seccomp, 77, 0, 0));
	printf(" %d\n", errno);
}

// In the memory of its parent.
static void sandbox_child(void)
{
	int status = 0;
	pid_t child = vfork();

	if (child == 0) {
		filter(PROGRAM(of_child), 0);
		_exit(5);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

// Without PR_SET_NO_NEW_PRIVS only root may install one.
static void be_refused(void)
{
	if (setgid(65534) != 0 || setuid(65534) != 0)
		exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	printf("%ld", filter(PROGRAM(of_nothing), 0));
	printf(" %d\n", errno);
}

static volatile int works = 1;

static void *work(void *context)
{
	(void)context;
	while (works)
		free(malloc(20));
	return NULL;
}

// Each system call of this thread raises SIGSYS for now, as those of foreign code do under wine: this calls none.
//
// @param after_ms  when it begins
// @param threads   that are at work then, each of which takes time to be stopped
static void dispatch_calls(double after_ms, int threads)
{
	static volatile char selector;
	pthread_t thread;

	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, work, NULL);
	allocate(after_ms);
	if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector) != 0)
		exit(77);
	say("dispatches\n");
	selector = 1;
	works = 0;
	for (int i = 0; i < 30000000; i++)
		free(malloc(20));
	selector = 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	double ms = argc > 2 ? atof(argv[2]) : 1500;
	pthread_t thread;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(way, "refused") != 0 && strcmp(way, "helper") != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	free(malloc(10));
	if (strcmp(way, "prctl") == 0) {
		struct sock_fprog program = PROGRAM(of_malloc);

		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			return 1;
	} else if (strcmp(way, "strict") == 0) {
		for (int i = 0; i < 1000; i++)
			free(malloc(20000)); // all that it takes is there
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (int i = 0; i < 200000; i++)
			free(malloc((size_t)i % 20000));
		say("went on\n");
		syscall(SYS_exit, 9); // exit_group() is not allowed
	} else if (strcmp(way, "raw") == 0) {
		struct sock_fprog program = PROGRAM(of_malloc);

		if (raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program) != 0)
			return 1;
	} else if (strcmp(way, "thread") == 0) {
		pthread_create(&thread, NULL, sandboxed_thread, &ms);
		pthread_join(thread, NULL);
	} else if (strcmp(way, "all-threads") == 0) {
		pthread_barrier_init(&begun, NULL, 2);
		pthread_create(&thread, NULL, allocating_thread, &ms);
		pthread_barrier_wait(&begun);
		if (filter(PROGRAM(of_thread), SECCOMP_FILTER_FLAG_TSYNC) != 0)
			return 1;
	} else if (strcmp(way, "inherited") == 0) {
		if (filter(PROGRAM(of_start), 0) == 0)
			execv(argv[0], (char *[]){ argv[0], (char *)"helper", argv[2], NULL });
		return 1;
	} else if (strcmp(way, "bad") == 0) {
		try_bad();
		return 0;
	} else if (strcmp(way, "dispatch") == 0) {
		dispatch_calls(ms, argc > 3 ? atoi(argv[3]) : 0);
		ms = 0;
	} else if (strcmp(way, "vfork") == 0) {
		sandbox_child();
	} else if (strcmp(way, "refused") == 0) {
		be_refused();
	}
	say("ready\n");
	allocate(ms);
	say("went on\n");
	return 7;
}
