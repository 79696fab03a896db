// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/tracee.h"

#include "dumper/command/maps.h"
#include "lib/base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define PF_EXITING 0x00000004 // include/linux/sched.h

enum {
	// errno.h has none of these: they are for the kernel itself (include/linux/errno.h).
	RESTART_SYS = 512,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516,
	SYSCALL_BYTES = 2,
	RED_ZONE = 128, // System V ABI, AMD64 supplement, 3.2.2
	MAX_XSAVE = 1 << 14,
	MAX_STACK = 256 << 20,
	SEARCHED_CODE = 64 << 20, // bytes of each mapping
};

// --- what a thread does ---------------------------------------------------------

static bool read_task(const struct process *process, pid_t tid, const char *file, char *buffer,
		      size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, file);

	CLEANUP_CLOSE int descriptor = openat(process->folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor < 0 ? -1 : read(descriptor, buffer, size - 1);

	buffer[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

// A socket may have a time limit of its own, which does not show.
static bool is_socket(const struct process *process, uint64_t descriptor)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "fd/%d", (int)descriptor);
	length = readlinkat(process->folder, path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	return length < 0 || strncmp(target, "socket:", 7) == 0;
}

static enum tracee_call judge(const struct process *process, long number,
			      const uint64_t arguments[6])
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_futex:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_msgrcv:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
	case SYS_restart_syscall:
		return TRACEE_CALL_RESTARTS;
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return is_socket(process, arguments[0]) ? TRACEE_CALL_TIMED : TRACEE_CALL_RESTARTS;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)arguments[3] < 0 ? TRACEE_CALL_MENDED : TRACEE_CALL_TIMED;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return arguments[3] == 0 ? TRACEE_CALL_MENDED : TRACEE_CALL_TIMED;
	case SYS_rt_sigtimedwait:
		return arguments[2] == 0 ? TRACEE_CALL_MENDED : TRACEE_CALL_TIMED;
	case SYS_io_getevents:
		return arguments[4] == 0 ? TRACEE_CALL_MENDED : TRACEE_CALL_TIMED;
	case SYS_semop:
		return TRACEE_CALL_MENDED;
	default:
		return TRACEE_CALL_FRAGILE;
	}
}

// Calls that wait for the process's memory, as threads do that allocate all the time, end before the
// thread stops: there is nothing to be interrupted. Others may go on to a wait that is.
static enum tracee_call judge_uninterruptible(long number)
{
	switch (number) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_brk:
		return TRACEE_CALL_NONE;
	default:
		return TRACEE_CALL_FRAGILE;
	}
}

// The third number of schedstat: how often the thread was given the processor.
static uint64_t read_switches(const struct process *process, pid_t tid)
{
	char text[128];
	uint64_t result = 0;

	if (read_task(process, tid, "schedstat", text, sizeof(text)))
		sscanf(text, "%*s %*s %" SCNu64, &result);
	return result;
}

// The letter of its state, proc(5); X as soon as it begins to end. @return '\0': there is none
static char read_state(const struct process *process, pid_t tid)
{
	char text[512];
	const char *end =
		read_task(process, tid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	unsigned flags;
	char state;

	if (!end || sscanf(end, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return '\0';
	return flags & PF_EXITING ? 'X' : state;
}

void tracee_look(const struct process *process, struct tracee *tracee)
{
	char text[256];
	uint64_t arguments[6] = { 0 };
	long number;
	char state;

	tracee->switches = read_switches(process, tracee->tid);
	tracee->is_seen = true;
	tracee->call = TRACEE_CALL_NONE;
	tracee->sp = tracee->pc = 0;
	state = read_state(process, tracee->tid);
	if (state == '\0' || state == 'Z' || state == 'X') {
		tracee->state = TRACEE_GONE;
		return;
	}
	if (!read_task(process, tracee->tid, "syscall", text, sizeof(text)) ||
	    strncmp(text, "running", 7) == 0) {
		if (text[0] == '\0' && state == 'D')
			tracee->call = TRACEE_CALL_FRAGILE;
		return;
	}
	if (sscanf(text,
		   "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64 " %" SCNx64,
		   &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3],
		   &arguments[4], &arguments[5], &tracee->sp, &tracee->pc) != 9)
		return;
	// Where a signal has stopped it, its call has been interrupted already.
	if (state != 'T' && state != 't')
		tracee->call = state == 'D' ? judge_uninterruptible(number)
					    : judge(process, number, arguments);
}

bool tracee_has_moved(const struct process *process, const struct tracee *tracee)
{
	return read_switches(process, tracee->tid) != tracee->switches;
}

// --- stopping --------------------------------------------------------------------

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int tracee_wait(pid_t tid, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;

	for (;;) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		if (now_ms() > end)
			return 0;
		sched_yield();
	}
}

static bool has_ended(int status)
{
	return status == -1 || WIFEXITED(status) || WIFSIGNALED(status);
}

bool tracee_interrupt(struct tracee *tracee)
{
	return ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) == 0;
}

bool tracee_seize(struct tracee *tracee)
{
	if (ptrace(PTRACE_SEIZE, tracee->tid, NULL, NULL) != 0) {
		int reason = errno;

		// The thread that began another program, as which the main thread is known
		// now, may have been seized before.
		if (reason != EPERM || !tracee_interrupt(tracee)) {
			errno = reason;
			return false;
		}
	}
	tracee->state = TRACEE_SEIZED;
	return true;
}

bool tracee_get_registers(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec vector = { registers, sizeof(*registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &vector) == 0;
}

bool tracee_set_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec vector = { (void *)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &vector) == 0;
}

// True if the call gave up because of us alone, and can begin again.
static bool wants_mending(const struct tracee *tracee)
{
	const struct user_regs_struct *registers = &tracee->registers;

	return (int64_t)registers->rax == -EINTR && (int64_t)registers->orig_rax >= 0 &&
	       tracee->signal == 0 &&
	       (tracee->interrupted == TRACEE_CALL_MENDED ||
		tracee->interrupted == TRACEE_CALL_TIMED);
}

void tracee_mend(const struct tracee *tracee)
{
	struct user_regs_struct registers = tracee->registers;

	if (!wants_mending(tracee))
		return;
	// The kernel makes it EINTR after all if a signal has a handler to run.
	registers.rax = (uint64_t)-RESTART_NO_HANDLER;
	tracee_set_registers(tracee->tid, &registers);
}

// A thread may be in another call than the one that it was seen in, if any: one that ran can have
// gone to sleep just before it was interrupted.
static void judge_interrupted(const struct process *process, struct tracee *tracee)
{
	const struct user_regs_struct *registers = &tracee->registers;
	const uint64_t arguments[6] = { registers->rdi, registers->rsi, registers->rdx,
					registers->r10, registers->r8,  registers->r9 };

	tracee->interrupted = TRACEE_CALL_NONE;
	if ((int64_t)registers->rax == -EINTR && (int64_t)registers->orig_rax >= 0)
		tracee->interrupted = judge(process, (long)registers->orig_rax, arguments);
}

void tracee_await(const struct process *process, struct tracee *tracee, int timeout_ms)
{
	int status = tracee_wait(tracee->tid, timeout_ms);

	tracee->signal = 0;
	if (status == 0) {
		tracee->state = TRACEE_STUCK;
		return;
	}
	if (has_ended(status) || !tracee_get_registers(tracee->tid, &tracee->registers)) {
		tracee->state = TRACEE_GONE;
		return;
	}
	tracee->state = TRACEE_STOPPED;
	if (status >> 16 == 0)
		tracee->signal = WSTOPSIG(status);
	judge_interrupted(process, tracee);
	tracee_mend(tracee); // at once: this process may end at any time
}

void tracee_detach(struct tracee *tracee)
{
	long result = ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);

	// One that has been killed has to be waited for.
	tracee->state = result == 0 ? TRACEE_GONE : TRACEE_STUCK;
}

// --- instructions to be used -----------------------------------------------------------

static const uint8_t call_code[] = { 0x0f, 0x05 };         // syscall
static const uint8_t gadget_code[] = { 0x0f, 0x05, 0xc3 }; // syscall; ret
// mov $15, %rax; syscall: what signal handlers return to. 15 is rt_sigreturn.
static const uint8_t restorer_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

static void search_code(const uint8_t *bytes, size_t size, uint64_t address,
			struct tracee_code *code)
{
	const uint8_t *at;

	if (!code->call && (at = memmem(bytes, size, call_code, sizeof(call_code))))
		code->call = address + (uint64_t)(at - bytes);
	if (!code->gadget && (at = memmem(bytes, size, gadget_code, sizeof(gadget_code))))
		code->gadget = address + (uint64_t)(at - bytes);
	if (!code->restorer && (at = memmem(bytes, size, restorer_code, sizeof(restorer_code))))
		code->restorer = address + (uint64_t)(at - bytes);
}

static void end_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

typedef void mapping_visitor(void *context, const struct mapping *mapping, bool is_executable);

static void visit_mappings(const struct process *process, mapping_visitor *visit, void *context)
{
	CLEANUP(end_file) FILE *file = process_file(process, "maps");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		const char *permissions = strchr(line, ' ');
		bool is_executable = permissions && strncmp(permissions, " r-x", 4) == 0;
		struct mapping mapping;

		line[strcspn(line, "\n")] = '\0';
		if (mapping_parse(line, &mapping))
			visit(context, &mapping, is_executable);
	}
}

struct code_search {
	struct process *process;
	struct tracee_code *code;
};

static void search_mapping(void *context, const struct mapping *mapping, bool is_executable)
{
	struct code_search *search = context;
	struct tracee_code *code = search->code;
	uint64_t size = mapping->end - mapping->start;

	if (!is_executable || strcmp(mapping->path, "[vsyscall]") == 0 ||
	    (code->call && code->gadget && code->restorer))
		return;
	if (size > SEARCHED_CODE)
		size = SEARCHED_CODE;

	CLEANUP_FREE uint8_t *bytes = malloc(size);

	if (bytes && process_read(search->process, mapping->start, bytes, size))
		search_code(bytes, size, mapping->start, code);
}

static bool is_code(struct process *process, uint64_t address, const uint8_t *code, size_t size)
{
	uint8_t bytes[sizeof(restorer_code)];

	return address == 0 ||
	       (process_read(process, address, bytes, size) && memcmp(bytes, code, size) == 0);
}

bool tracee_check_code(struct process *process, const struct tracee_code *code)
{
	return is_code(process, code->call, call_code, sizeof(call_code)) &&
	       is_code(process, code->gadget, gadget_code, sizeof(gadget_code)) &&
	       is_code(process, code->restorer, restorer_code, sizeof(restorer_code));
}

bool tracee_find_code(struct process *process, struct tracee_code *code)
{
	struct code_search search = { process, code };

	*code = (struct tracee_code){ 0 };
	visit_mappings(process, search_mapping, &search);
	return code->call != 0;
}

// Facts about the mappings that a thread's registers point to.
struct places {
	const struct tracee *tracee;
	uint64_t stack_start;   // that the stack pointer is in
	uint64_t storage_start; // that the thread pointer is in
	bool is_main;           // it is the main thread's stack
};

static void note_place(void *context, const struct mapping *mapping, bool is_executable)
{
	struct places *places = context;
	uint64_t sp = places->tracee->registers.rsp, storage = places->tracee->registers.fs_base;

	(void)is_executable;
	if (sp >= mapping->start && sp < mapping->end) {
		places->stack_start = mapping->start;
		places->is_main = strcmp(mapping->path, "[stack]") == 0;
	}
	if (storage >= mapping->start && storage < mapping->end)
		places->storage_start = mapping->start;
}

// --- frames that lead back ------------------------------------------------------------

// struct rt_sigframe of the kernel, arch/x86/include/asm/sigframe.h, up to the signal mask.
struct frame {
	uint64_t restorer;
	uint64_t flags, link;
	uint64_t stack;
	uint32_t stack_flags, unused;
	uint64_t stack_size;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t vectors; // address of the registers that struct xsave has
	uint64_t reserved[8];
	uint64_t mask;
};

enum {
	FRAME_HAS_VECTORS = 1,
	FRAME_HAS_SS = 2 | 4,
	NO_STACK = 0x7fffffff, // flags that sigaltstack(2) refuses: what is set stays
	XSAVE_SOFTWARE = 464,  // where the kernel describes the area, in 48 bytes
	XSAVE_MAGIC_1 = 0x46505853,
	XSAVE_MAGIC_2 = 0x46505845,
	XSAVE_LEGACY = 576, // bytes that every area has
	XSAVE_LEAF = 13,    // of cpuid
	XSAVE_TILES = 18,   // which processes get only if they ask for them
};

struct xsave_software {
	uint32_t magic, extended_size;
	uint64_t features;
	uint32_t size, unused[7];
};

struct frames {
	struct frame wait, back, end;
	uint8_t xsave[MAX_XSAVE + 4] __attribute__((aligned(64)));
};

// Bytes of the area that the kernel expects with those features.
static uint32_t xsave_size(uint64_t features)
{
	uint32_t result = XSAVE_LEGACY;

	for (unsigned i = 2; i < 63; i++) {
		uint32_t size, offset, c, d;

		if ((features >> i & 1) &&
		    __get_cpuid_count(XSAVE_LEAF, i, &size, &offset, &c, &d) &&
		    size + offset > result)
			result = size + offset;
	}
	return result;
}

// @return bytes of frames->xsave that are filled in; 0: the vector registers cannot be had
static size_t fill_xsave(pid_t tid, struct frames *frames)
{
	struct iovec vector = { frames->xsave, MAX_XSAVE };
	struct xsave_software software = { .magic = XSAVE_MAGIC_1 };
	uint32_t end = XSAVE_MAGIC_2;

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vector) != 0 ||
	    vector.iov_len < XSAVE_LEGACY)
		return 0;
	memcpy(&software.features, frames->xsave + XSAVE_SOFTWARE, sizeof(software.features));
	software.features &= ~(UINT64_C(1) << XSAVE_TILES) & ~(UINT64_C(1) << (XSAVE_TILES - 1));
	software.size = xsave_size(software.features);
	if (software.size > vector.iov_len)
		return 0;
	software.extended_size = software.size + (uint32_t)sizeof(end);
	memcpy(frames->xsave + XSAVE_SOFTWARE, &software, sizeof(software));
	memcpy(frames->xsave + software.size, &end, sizeof(end));
	return software.extended_size;
}

static void fill_frame(struct frame *frame, const struct user_regs_struct *from, uint64_t restorer,
		       uint64_t mask)
{
	*frame = (struct frame){
		.restorer = restorer,
		.flags = FRAME_HAS_SS,
		.stack_flags = NO_STACK,
		.r8 = from->r8,
		.r9 = from->r9,
		.r10 = from->r10,
		.r11 = from->r11,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.rdi = from->rdi,
		.rsi = from->rsi,
		.rbp = from->rbp,
		.rbx = from->rbx,
		.rdx = from->rdx,
		.rax = from->rax,
		.rcx = from->rcx,
		.rsp = from->rsp,
		.rip = from->rip,
		.eflags = from->eflags,
		.cs = (uint16_t)from->cs,
		.ss = (uint16_t)from->ss,
		.mask = mask,
	};
}

// A frame that makes a system call, and goes on by what is at `next`.
static void fill_call(struct frame *frame, const struct user_regs_struct *from,
		      const struct tracee_code *code, long number, uint64_t next)
{
	fill_frame(frame, from, code->restorer, ~UINT64_C(0));
	frame->rip = code->gadget;
	frame->rax = (uint64_t)number;
	frame->rdi = frame->rsi = frame->r10 = 0;
	frame->rdx = __WALL;
	frame->rsp = next;
}

// The thread goes on by itself: an interrupted call begins again, as it would have.
static void fill_back(struct frame *frame, const struct tracee *tracee, uint64_t restorer,
		      uint64_t mask)
{
	int64_t result = (int64_t)tracee->registers.rax;

	fill_frame(frame, &tracee->registers, restorer, mask);
	if ((int64_t)tracee->registers.orig_rax >= 0 &&
	    ((result <= -RESTART_SYS && result >= -RESTART_BLOCK) || wants_mending(tracee))) {
		frame->rip -= SYSCALL_BYTES;
		frame->rax = tracee->registers.orig_rax;
	}
}

// Writing below the stack pointer is safe on what libc or the kernel made as a stack. Others, of
// coroutines and Go's, may be short, and lie beside other things.
static bool is_stack(const struct tracee *tracee, const struct places *places)
{
	uint64_t sp = tracee->registers.rsp, storage = tracee->registers.fs_base;

	if (places->is_main)
		return true;
	return places->stack_start != 0 && places->stack_start == places->storage_start &&
	       sp < storage && storage - sp < MAX_STACK;
}

// Shadow stacks would refuse returns that no call was made for.
static bool has_shadow_stack(pid_t tid)
{
	uint64_t pointer = 0;
	struct iovec vector = { &pointer, sizeof(pointer) };

	return ptrace(PTRACE_GETREGSET, tid, 0x204 /* NT_X86_SHSTK */, &vector) == 0 &&
	       pointer != 0;
}

// Fills in all frames, which are to lie at `base`.
static void fill_frames(const struct tracee *tracee, const struct tracee_code *code, uint64_t mask,
			uint64_t base, struct frames *frames)
{
	fill_call(&frames->wait, &tracee->registers, code, SYS_wait4,
		  base + offsetof(struct frames, back));
	frames->wait.rdi = INT_MAX; // nobody's pid, until there is a child
	fill_back(&frames->back, tracee, code->restorer, mask);
	frames->back.flags |= FRAME_HAS_VECTORS;
	frames->back.vectors = base + offsetof(struct frames, xsave);
	fill_call(&frames->end, &tracee->registers, code, SYS_exit, base);
}

void tracee_prepare_rescue(struct process *process, const struct tracee *tracee,
			   struct tracee_rescue *rescue)
{
	const struct tracee_code *code = &rescue->code;
	struct places places = { .tracee = tracee };
	CLEANUP_FREE struct frames *frames = aligned_alloc(64, sizeof(*frames));
	uint64_t base, size, mask;

	rescue->sp = rescue->child_sp = rescue->child_pid = 0;
	visit_mappings(process, note_place, &places);
	if (!frames || !code->gadget || !code->restorer || !is_stack(tracee, &places) ||
	    has_shadow_stack(tracee->tid) ||
	    ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)sizeof(mask), &mask) != 0)
		return;
	memset(frames, 0, sizeof(*frames));
	size = fill_xsave(tracee->tid, frames);
	if (size == 0)
		return;
	size += offsetof(struct frames, xsave);
	base = (tracee->registers.rsp - RED_ZONE - size) & ~UINT64_C(63);
	fill_frames(tracee, code, mask, base, frames);
	if (base < places.stack_start || !process_write(process, base, frames, size))
		return;
	rescue->sp = base;
	rescue->child_sp = base + offsetof(struct frames, end);
	rescue->child_pid = base + offsetof(struct frames, wait.rdi);
}

// --- calls -----------------------------------------------------------------------------

// Runs until the call returns, or has created a process.
static long run_call(pid_t tid, pid_t *child)
{
	int stops = 0;

	for (;;) {
		struct user_regs_struct registers;
		int status;

		if (ptrace(PTRACE_SYSCALL, tid, NULL, NULL) != 0)
			return -ECHILD;
		do
			status = tracee_wait(tid, 1000);
		while (status == 0);
		if (has_ended(status))
			return -ECHILD;
		if (status >> 16 == PTRACE_EVENT_CLONE || status >> 16 == PTRACE_EVENT_FORK) {
			unsigned long message = 0;

			ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
			if (child)
				*child = (pid_t)message;
		} else if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == 2) {
			return tracee_get_registers(tid, &registers) ? (long)registers.rax
								     : -ECHILD;
		} else if (status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			return -EFAULT; // a signal although all are blocked: a fault
		}
	}
}

long tracee_call(pid_t tid, const struct user_regs_struct *base, const struct tracee_rescue *rescue,
		 uint64_t sp, pid_t *child, long number, const uint64_t arguments[5])
{
	struct user_regs_struct registers = *base;

	registers.rip = rescue->sp ? rescue->code.gadget : rescue->code.call;
	registers.rax = (uint64_t)number;
	registers.orig_rax = ~UINT64_C(0);
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = 0;
	if (sp != 0)
		registers.rsp = sp;
	if (child)
		*child = 0;
	return tracee_set_registers(tid, &registers) ? run_call(tid, child) : -ECHILD;
}
#endif
