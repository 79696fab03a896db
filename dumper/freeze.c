// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/freeze.h"

#include "dumper/frozen.h"
#include "dumper/process.h"
#include "dumper/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

enum {
	MAX_THREADS = 32768,
	MAX_PASSES = 64,
	HIGHEST_SIGNAL = 63, // one below the last: that one is popular
	LOWEST_SIGNAL = 40,
};

static const uint64_t LOOK_AFTER_NS = 2000000;      // a thread that has not answered by then...
static const uint64_t GIVE_UP_AFTER_NS = 100000000; // ...and at last

// What the handler of the stopping signal shares with the thread that stops the others.
static struct {
	uint32_t generation; // of the stop that is under way; a late signal of another is void
	uint32_t gate;       // futex: threads wait while it is the generation
	uint32_t answered;   // futex: threads that wait
	uint32_t asked;
	int signal;
} stop;

static struct heapsnap_thread *threads(void)
{
	return (struct heapsnap_thread *)heapsnap_process.threads;
}

static uint64_t thread_pointer(void)
{
#if defined(__x86_64__)
	uint64_t pointer;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
#else
	return (uint64_t)__builtin_thread_pointer();
#endif
}

// By DWARF number: System V ABI, AMD64 supplement, figure 3.36; DWARF for the Arm 64-bit
// Architecture, 4.1.
static void note_registers(struct heapsnap_thread *thread, const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		thread->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#else
	for (unsigned i = 0; i < 31; i++)
		thread->registers[i] = context->uc_mcontext.regs[i];
	thread->registers[31] = context->uc_mcontext.sp;
	thread->registers[32] = context->uc_mcontext.pc;
#endif
}

static void wait_at_gate(int number, siginfo_t *info, void *context)
{
	uint64_t value = (uint64_t)info->si_value.sival_ptr;
	uint32_t generation = (uint32_t)(value >> 32);
	struct heapsnap_thread *thread = &threads()[(uint32_t)value % MAX_THREADS];

	(void)number;
	if (info->si_code != SI_QUEUE ||
	    generation != __atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) || generation == 0)
		return;
	note_registers(thread, context);
	thread->thread_pointer = thread_pointer();
	__atomic_store_n(&thread->state, HEAPSNAP_THREAD_STOPPED, __ATOMIC_RELEASE);
	if (__atomic_add_fetch(&stop.answered, 1, __ATOMIC_ACQ_REL) ==
	    __atomic_load_n(&stop.asked, __ATOMIC_ACQUIRE))
		heapsnap_futex_wake(&stop.answered);
	while (__atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) == generation)
		heapsnap_futex_wait(&stop.gate, generation, 0);
}

// Installed at each stop: programs reset handlers. Left there: a thread that had blocked
// the signal gets it later, and must not die of it.
static int install_handler(void)
{
	struct sigaction action = { .sa_sigaction = wait_at_gate,
				    .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	for (int number = HIGHEST_SIGNAL; number >= LOWEST_SIGNAL; number--) {
		struct sigaction present;

		if (sigaction(number, NULL, &present) != 0)
			continue;
		if (present.sa_handler != SIG_DFL && present.sa_sigaction != wait_at_gate)
			continue;
		if (sigaction(number, &action, NULL) == 0)
			return number;
	}
	return 0;
}

// --- asking ------------------------------------------------------------------

static char *task_path(char *path, const char *end, uint32_t tid, const char *file)
{
	char *at = heapsnap_format_text(path, end, "/proc/self/task/");

	at = heapsnap_format_number(at, end, tid, 10);
	heapsnap_format_text(at, end, file);
	return path;
}

// Calls that a signal ends with EINTR in spite of SA_RESTART (signal(7)).
static bool ends_with_eintr(long call)
{
	switch (call) {
#if defined(__x86_64__)
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
	case SYS_pause:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
	case SYS_futex:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
		return true;
	default:
		return false;
	}
}

static const char *parse_hex(const char *at, uint64_t *result)
{
	uint64_t value = 0;

	while (*at == ' ')
		at++;
	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	for (;; at++) {
		char c = *at;

		if (c >= '0' && c <= '9')
			value = value * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	*result = value;
	return at;
}

// Where a thread sleeps: "NUMBER ARGUMENT×6 SP PC", "-1 SP PC", or "running" (proc(5)).
static bool find_sleeper(uint32_t tid, long *call, uint64_t *sp, uint64_t *pc)
{
	char path[64], text[256];
	uint64_t ignored;

	if (heapsnap_read_file(task_path(path, path + sizeof(path), tid, "/syscall"), text,
			       sizeof(text)) <= 0)
		return false;

	const char *at = text;

	*call = -1;
	if (at[0] == '-') {
		at += 2;
	} else if (*at >= '0' && *at <= '9') {
		for (*call = 0; *at >= '0' && *at <= '9'; at++)
			*call = *call * 10 + (*at - '0');
		for (int i = 0; i < 6; i++)
			at = parse_hex(at, &ignored);
	} else {
		return false;
	}
	at = parse_hex(at, sp);
	parse_hex(at, pc);
	return *sp != 0;
}

static void note_sleeper(struct heapsnap_thread *thread, uint64_t sp, uint64_t pc)
{
#if defined(__x86_64__)
	thread->registers[7] = sp;
	thread->registers[16] = pc;
#else
	thread->registers[31] = sp;
	thread->registers[32] = pc;
#endif
	thread->state = HEAPSNAP_THREAD_SLEEPING;
}

static void ask(uint32_t slot, uint32_t tid)
{
	struct heapsnap_thread *thread = &threads()[slot];
	siginfo_t info;
	uint64_t sp, pc;
	long call;

	memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	if (find_sleeper(tid, &call, &sp, &pc) && ends_with_eintr(call)) {
		note_sleeper(thread, sp, pc);
		return;
	}
	thread->state = HEAPSNAP_THREAD_ASKED;
	memset(&info, 0, sizeof(info));
	info.si_signo = stop.signal;
	info.si_code = SI_QUEUE;
	info.si_pid = (int)heapsnap_process.pid;
	info.si_value.sival_ptr = (void *)((uint64_t)stop.generation << 32 | slot);
	__atomic_add_fetch(&stop.asked, 1, __ATOMIC_ACQ_REL);
	if (HEAPSNAP_SYSTEM_4(SYS_rt_tgsigqueueinfo, heapsnap_process.pid, tid, stop.signal,
			      &info) < 0) {
		// It has ended meanwhile.
		__atomic_sub_fetch(&stop.asked, 1, __ATOMIC_ACQ_REL);
		thread->state = HEAPSNAP_THREAD_EMPTY;
	}
}

static bool is_known(uint32_t tid, uint32_t hint)
{
	uint32_t count = heapsnap_process.thread_count;

	// The kernel lists threads in the order that the slots have.
	for (uint32_t i = 0; i < count; i++) {
		if (threads()[(hint + i) % count].tid == tid)
			return true;
	}
	return false;
}

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static uint32_t parse_tid(const char *name)
{
	uint32_t tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (uint32_t)(*name - '0');
	return tid;
}

// Asks every thread that has not been asked. @return how many were new, or -errno
static long ask_new_threads(long directory, uint32_t self)
{
	char buffer[4096] __attribute__((aligned(8)));
	long found = 0, got;
	uint32_t hint = 0;

	HEAPSNAP_SYSTEM_3(SYS_lseek, directory, 0, 0);
	while ((got = HEAPSNAP_SYSTEM_3(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got;) {
			struct directory_entry *entry = (struct directory_entry *)(buffer + at);
			uint32_t tid = parse_tid(entry->name);

			at += entry->length;
			if (tid == 0 || tid == self || tid == heapsnap_waiter_tid() ||
			    is_known(tid, hint++))
				continue;
			found++;
			if (heapsnap_process.thread_count == MAX_THREADS)
				heapsnap_process.missed_threads++;
			else
				ask(heapsnap_process.thread_count++, tid);
		}
	}
	return got < 0 ? got : found;
}

// --- waiting -----------------------------------------------------------------

static bool blocks_signal(uint32_t tid)
{
	char path[64], text[4096];
	uint64_t mask;

	if (heapsnap_read_file(task_path(path, path + sizeof(path), tid, "/status"), text,
			       sizeof(text)) <= 0)
		return true; // gone
	for (const char *at = text; *at; at++) {
		if (memcmp(at, "SigBlk:\t", 8) == 0) {
			parse_hex(at + 8, &mask);
			return mask >> (stop.signal - 1) & 1;
		}
	}
	return false;
}

// Does without the threads that cannot answer. @return whether others may still
static bool look_at_silent(void)
{
	bool waiting = false;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		struct heapsnap_thread *thread = &threads()[i];
		uint64_t sp, pc;
		long call;

		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) != HEAPSNAP_THREAD_ASKED)
			continue;
		if (!blocks_signal(thread->tid) &&
		    !(find_sleeper(thread->tid, &call, &sp, &pc) && call == SYS_vfork)) {
			waiting = true;
			continue;
		}
		// What it says of itself is taken once, below.
	}
	return waiting;
}

static void wait_for_answers(void)
{
	uint64_t start = heapsnap_monotonic_ns();

	for (;;) {
		uint32_t answered = __atomic_load_n(&stop.answered, __ATOMIC_ACQUIRE);
		uint64_t waited = heapsnap_monotonic_ns() - start;

		if (answered >= stop.asked || waited > GIVE_UP_AFTER_NS)
			return;
		if (waited > LOOK_AFTER_NS && !look_at_silent())
			return;
		heapsnap_futex_wait(&stop.answered, answered, LOOK_AFTER_NS / 2);
	}
}

// A thread that did not answer, but sleeps: where it sleeps is as good as an answer.
static void take_silent(void)
{
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		struct heapsnap_thread *thread = &threads()[i];
		uint64_t sp, pc;
		long call;

		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == HEAPSNAP_THREAD_ASKED &&
		    find_sleeper(thread->tid, &call, &sp, &pc))
			note_sleeper(thread, sp, pc);
	}
}

// --- freezing ----------------------------------------------------------------

static void note_self(const heapsnap_context *context, uint32_t self)
{
	struct heapsnap_thread *thread = &threads()[0];

	memset(thread, 0, sizeof(*thread));
	thread->tid = self;
	thread->state = HEAPSNAP_THREAD_STOPPED;
	thread->thread_pointer = thread_pointer();
	note_registers(thread, context);
	heapsnap_process.thread_count = 1;
}

static void stop_others(uint32_t self)
{
	long directory = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/task",
					   O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	stop.signal = install_handler();
	if (directory < 0 || !stop.signal) {
		heapsnap_process.missed_threads = 1;
		return;
	}
	stop.answered = 0;
	stop.asked = 0;
	if (++stop.generation == 0)
		stop.generation = 1;
	__atomic_store_n(&stop.gate, stop.generation, __ATOMIC_RELEASE);
	// A thread that runs may start another one; when a pass finds no new one, all stand.
	for (int pass = 0; pass < MAX_PASSES && ask_new_threads(directory, self) > 0; pass++)
		wait_for_answers();
	take_silent();
	HEAPSNAP_SYSTEM_1(SYS_close, directory);
}

static void release_others(void)
{
	__atomic_store_n(&stop.gate, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&stop.gate);
}

long heapsnap_freeze(const heapsnap_context *context)
{
	struct heapsnap_shared *shared = (struct heapsnap_shared *)heapsnap_process.shared;
	uint32_t self = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	uint64_t start = heapsnap_monotonic_ns();

	if (!threads() || !shared)
		return -ENOMEM;
	heapsnap_process.thread_count = 0;
	heapsnap_process.missed_threads = 0;
	if (context)
		note_self(context, self);
	stop_others(self);
	heapsnap_process.time_ns = heapsnap_realtime_ns();
	heapsnap_begin_epoch(heapsnap_process.time_ns);

	// No exit signal: the program must not see a child end. Not libc's fork(): it takes
	// locks that a stopped thread may hold.
	uint64_t before = heapsnap_monotonic_ns();
	long pid = HEAPSNAP_SYSTEM_5(SYS_clone, 0, 0, 0, 0, 0);

	if (pid == 0)
		heapsnap_frozen();

	uint64_t now = heapsnap_monotonic_ns();

	release_others();
	shared->clone_ns = now - before;
	shared->stop_ns = now - start;
	return pid;
}
