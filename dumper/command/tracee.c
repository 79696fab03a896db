// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/tracee.h"

#include "dumper/command/maps.h"
#include "dumper/command/tracee_machine.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/io_uring.h>
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

#define PF_EXITING 0x00000004 // include/linux/sched.h

enum {
	STOP_MS = 2000,
	WAIT_LOOK_MS = 1, // the signal of a stop may be ignored, or be another thread's
	CALL_LOOK_MS = 1000,
	CALL_TRIES = 20,
	RESTART_NO_INTERRUPT = 513, // ERESTARTNOINTR of the kernel's include/linux/errno.h
	CALL_LOOKS = 5,             // at a call in which the thread does not run
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

// True if a descriptor is of a kind that has no name: "socket" or "pipe".
// @param unknown  the result if its kind cannot be known
static bool is_of_kind(const struct process *process, uint64_t descriptor, const char *kind,
		       bool unknown)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "fd/%d", (int)descriptor);
	length = readlinkat(process->folder, path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	return length < 0 ? unknown
			  : strncmp(target, kind, strlen(kind)) == 0 && target[strlen(kind)] == ':';
}

// A socket may have a time limit of its own, which does not show.
static bool is_socket(const struct process *process, uint64_t descriptor)
{
	return is_of_kind(process, descriptor, "socket", true);
}

// A pipe takes up to PIPE_BUF bytes as a whole or not at all: pipe(7).
static bool is_whole_write(const struct process *process, const uint64_t arguments[6])
{
	return arguments[2] <= PIPE_BUF && is_of_kind(process, arguments[0], "pipe", false);
}

// io_uring_enter(2) may begin again unless it has submitted something. A time limit is an extended argument.
static enum tracee_call judge_ring(const uint64_t arguments[6])
{
	if ((uint32_t)arguments[1] > 0)
		return TRACEE_CALL_FRAGILE;
	return arguments[3] & IORING_ENTER_EXT_ARG ? TRACEE_CALL_TIMED : TRACEE_CALL_MENDED;
}

static enum tracee_call judge(const struct process *process, long number,
			      const uint64_t arguments[6])
{
	switch (tracee_modern_call(number)) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_futex:
	case SYS_rt_sigsuspend:
	case SYS_msgrcv:
	case SYS_msgsnd:
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
	case SYS_openat: // of a FIFO whose other end is not open
		return TRACEE_CALL_MENDED;
	case SYS_fcntl:
		return arguments[1] == F_SETLKW || arguments[1] == F_OFD_SETLKW
			       ? TRACEE_CALL_MENDED
			       : TRACEE_CALL_FRAGILE;
	case SYS_write:
		return is_whole_write(process, arguments) ? TRACEE_CALL_RESTARTS
							  : TRACEE_CALL_FRAGILE;
	case SYS_io_uring_enter:
		return judge_ring(arguments);
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
	tracee->number = number;
	tracee->first_argument = arguments[0];
	// Where a signal has stopped it, its call has been interrupted already.
	if (state != 'T' && state != 't')
		tracee->call = state == 'D' ? judge_uninterruptible(number)
					    : judge(process, number, arguments);
}

uint64_t tracee_count_switches(const struct process *process, const struct tracee *tracee)
{
	return read_switches(process, tracee->tid) - tracee->switches;
}

bool tracee_has_moved(const struct process *process, const struct tracee *tracee)
{
	return tracee_count_switches(process, tracee) != 0;
}

// --- stopping --------------------------------------------------------------------

// Sleeps until a tracee may have stopped. Yielding the processor instead would put this process
// behind each thread that never rests, of which the target may have hundreds.
static void await_stop(void)
{
	const struct timespec look = { .tv_nsec = WAIT_LOOK_MS * 1000000L };
	sigset_t children, before;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	sigtimedwait(&children, NULL, &look);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int tracee_wait(pid_t tid, int timeout_ms)
{
	int64_t end = heap_monotonic_ms() + timeout_ms;

	for (;;) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		if (heap_monotonic_ms() > end)
			return 0;
		await_stop();
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

bool tracee_is_mended(const struct tracee *tracee)
{
	return tracee->signal == 0 && (tracee->interrupted == TRACEE_CALL_MENDED ||
				       tracee->interrupted == TRACEE_CALL_TIMED);
}

// The kernel makes it EINTR after all if a signal has a handler to run.
static void mend(const struct tracee *tracee)
{
	struct user_regs_struct registers = tracee->registers;

	if (!tracee_is_mended(tracee))
		return;
	tracee_set_restart(tracee, &registers);
	tracee_set_registers(tracee->tid, &registers);
}

// A thread may be in another call than the one that it was seen in, if any: one that ran can have
// gone to sleep just before it was interrupted.
static void judge_interrupted(const struct process *process, struct tracee *tracee)
{
	uint64_t arguments[6];
	long number = tracee_failed_call(process, tracee, arguments);

	tracee->interrupted = number < 0 ? TRACEE_CALL_NONE : judge(process, number, arguments);
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
	mend(tracee); // at once: this process may end at any time
}

void tracee_detach(struct tracee *tracee)
{
	long result;

	if (tracee_is_mended(tracee))
		tracee_settle_restart(tracee);
	result = ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
	// One that has been killed has to be waited for.
	tracee->state = result == 0 ? TRACEE_GONE : TRACEE_STUCK;
}

// --- instructions to be used -----------------------------------------------------------

static uint64_t find_pattern(const uint8_t *bytes, size_t size, uint64_t address,
			     const struct tracee_pattern *pattern)
{
	const uint8_t *at = bytes, *end = bytes + size;

	while ((at = memmem(at, (size_t)(end - at), pattern->bytes, pattern->size))) {
		if ((size_t)(at - bytes) % tracee_code_alignment == 0)
			return address + (uint64_t)(at - bytes);
		at++;
	}
	return 0;
}

static void search_code(const uint8_t *bytes, size_t size, uint64_t address,
			struct tracee_code *code)
{
	if (!code->call)
		code->call = find_pattern(bytes, size, address, &tracee_call_pattern);
	if (!code->gadget)
		code->gadget = find_pattern(bytes, size, address, &tracee_gadget_pattern);
	if (!code->restorer)
		code->restorer = find_pattern(bytes, size, address, &tracee_restorer_pattern);
}

typedef void mapping_visitor(void *context, const struct mapping *mapping, bool is_executable);

static void visit_mappings(const struct process *process, mapping_visitor *visit, void *context)
{
	CLEANUP_FILE FILE *file = process_file(process, "maps");
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

static bool is_code(struct process *process, uint64_t address, const struct tracee_pattern *pattern)
{
	uint8_t bytes[sizeof(pattern->bytes)];

	return address == 0 || (process_read(process, address, bytes, pattern->size) &&
				memcmp(bytes, pattern->bytes, pattern->size) == 0);
}

bool tracee_check_code(struct process *process, const struct tracee_code *code)
{
	return is_code(process, code->call, &tracee_call_pattern) &&
	       is_code(process, code->gadget, &tracee_gadget_pattern) &&
	       is_code(process, code->restorer, &tracee_restorer_pattern);
}

bool tracee_find_code(struct process *process, struct tracee_code *code)
{
	struct code_search search = { process, code };

	*code = (struct tracee_code){ 0 };
	visit_mappings(process, search_mapping, &search);
	return code->call != 0;
}

// --- frames that lead back ------------------------------------------------------------

// Facts about the mappings that a thread's registers point to.
struct places {
	uint64_t sp, storage;   // the stack pointer and the thread pointer
	uint64_t stack_start;   // that the stack pointer is in
	uint64_t storage_start; // that the thread pointer is in
	bool is_main;           // it is the main thread's stack
};

static void note_place(void *context, const struct mapping *mapping, bool is_executable)
{
	struct places *places = context;

	(void)is_executable;
	if (places->sp >= mapping->start && places->sp < mapping->end) {
		places->stack_start = mapping->start;
		places->is_main = strcmp(mapping->path, "[stack]") == 0;
	}
	if (places->storage >= mapping->start && places->storage < mapping->end)
		places->storage_start = mapping->start;
}

// Writing below the stack pointer is safe on what libc or the kernel made as a stack. Others, of
// coroutines and Go's, may be short, and lie beside other things.
static bool is_stack(const struct places *places)
{
	if (places->is_main)
		return true;
	return places->stack_start != 0 && places->stack_start == places->storage_start &&
	       places->sp < places->storage && places->storage - places->sp < MAX_STACK;
}

void tracee_prepare_rescue(struct process *process, const struct tracee *tracee,
			   struct tracee_rescue *rescue)
{
	const struct tracee_code *code = &rescue->code;
	struct places places = { .sp = tracee_stack_pointer(&tracee->registers),
				 .storage =
					 tracee_thread_pointer(tracee->tid, &tracee->registers) };
	CLEANUP_FREE struct tracee_frames *frames = aligned_alloc(64, sizeof(*frames));
	uint64_t mask;

	rescue->sp = rescue->child_sp = rescue->child_pid = 0;
	visit_mappings(process, note_place, &places);
	if (!frames || !code->gadget || !code->restorer || !is_stack(&places) ||
	    ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)sizeof(mask), &mask) != 0)
		return;
	memset(frames, 0, sizeof(*frames));
	if (!tracee_fill_frames(tracee, code, mask, frames) || frames->base < places.stack_start ||
	    !process_write(process, frames->base, frames->bytes, frames->size))
		return;
	rescue->sp = frames->base;
	rescue->child_sp = frames->base + frames->child;
	rescue->child_pid = frames->base + frames->child_pid;
}

// --- calls -----------------------------------------------------------------------------

bool tracee_begin_calls(const struct tracee *tracee, struct tracee_before *before)
{
	const uint64_t all = ~UINT64_C(0);

	*before = (struct tracee_before){ 0 };
	if (ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)sizeof(before->mask), &before->mask) !=
		    0 ||
	    ptrace(PTRACE_SETSIGMASK, tracee->tid, (void *)sizeof(all), &all) != 0)
		return false;
	before->vectors = tracee_save_vectors(tracee->tid, &before->vectors_size);
	return true;
}

// Takes the thread from the end of a system call to a stop where it can be let go: the kernel
// then begins interrupted calls again.
static void leave_call(const struct tracee *tracee)
{
	ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
	for (int i = 0; i < 4; i++) {
		int status;

		if (ptrace(PTRACE_CONT, tracee->tid, NULL, NULL) != 0)
			return;
		status = tracee_wait(tracee->tid, STOP_MS);
		if (status <= 0 || has_ended(status) || status >> 16 == PTRACE_EVENT_STOP)
			return;
	}
}

void tracee_end_calls(struct tracee *tracee, struct tracee_before *before)
{
	struct user_regs_struct registers = tracee->registers;

	leave_call(tracee);
	if (tracee_is_mended(tracee))
		tracee_set_restart(tracee, &registers);
	else
		tracee_set_resume(tracee, &registers);
	tracee_set_registers(tracee->tid, &registers);
	tracee_restore_vectors(tracee->tid, before->vectors, before->vectors_size);
	if (!tracee_is_mended(tracee))
		tracee_enter_call(tracee);
	ptrace(PTRACE_SETSIGMASK, tracee->tid, (void *)sizeof(before->mask), &before->mask);
	free(before->vectors);
	*before = (struct tracee_before){ 0 };
}

// True if the thread has run since the last look, or waits for a processor.
// @param run_ns  for how long it has run: as of the last look, and gets that of this one
static bool is_at_work(pid_t tid, uint64_t *run_ns)
{
	uint64_t before = *run_ns;
	char path[32], text[128];

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);

	CLEANUP_CLOSE int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct process thread = { .pid = tid, .folder = folder };

	if (read_task(&thread, tid, "schedstat", text, sizeof(text)))
		sscanf(text, "%" SCNu64, run_ns);
	return *run_ns != before || read_state(&thread, tid) == 'R';
}

// Copying much memory may take long. But a thread that does not run at all, as in a frozen cgroup, may
// never return from its call: it is stopped. If that fails, too, it is given up only if it has a rescue.
// @return as of tracee_wait()
static int await_call(pid_t tid, bool has_rescue)
{
	uint64_t run_ns = 0;

	for (int looks = 0; looks < CALL_LOOKS;) {
		int status = tracee_wait(tid, CALL_LOOK_MS);

		if (status != 0)
			return status;
		looks = is_at_work(tid, &run_ns) ? 0 : looks + 1;
		if (looks == CALL_LOOKS) {
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
			if (tracee_wait(tid, STOP_MS) == 0 && !has_rescue)
				looks = 0;
		}
	}
	return 0;
}

// Runs until the call returns, or has created a process.
static long run_call(pid_t tid, bool has_rescue, pid_t *child)
{
	int stops = 0, signal = 0;

	for (;;) {
		struct user_regs_struct registers;
		int status;

		if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)signal) != 0)
			return -ECHILD;
		status = await_call(tid, has_rescue);
		if (status == 0)
			return -ETIMEDOUT;
		if (has_ended(status))
			return -ECHILD;
		signal = 0;
		if (status >> 16 == PTRACE_EVENT_CLONE || status >> 16 == PTRACE_EVENT_FORK) {
			unsigned long message = 0;

			ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
			if (child)
				*child = (pid_t)message;
		} else if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == 2) {
			return tracee_get_registers(tid, &registers)
				       ? tracee_call_result(&registers)
				       : -ECHILD;
		} else if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP) {
			signal = SIGSTOP; // cannot be blocked: the process stops when it is let go
		} else if (status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			return -EFAULT; // a signal although all are blocked: a fault
		}
	}
}

long tracee_call(pid_t tid, const struct user_regs_struct *base, const struct tracee_rescue *rescue,
		 uint64_t sp, pid_t *child, long number, const uint64_t arguments[5])
{
	long result = -RESTART_NO_INTERRUPT;

	// clone(2) does nothing while a signal is pending, as a SIGSTOP, which cannot be blocked. It comes
	// before the next try.
	for (int tries = 0; tries < CALL_TRIES && result == -RESTART_NO_INTERRUPT; tries++) {
		struct user_regs_struct registers = *base;

		tracee_set_call(&registers, rescue, sp, number, arguments);
		if (child)
			*child = 0;
		result = tracee_set_registers(tid, &registers) ? run_call(tid, sp != 0, child)
							       : -ECHILD;
	}
	return result;
}
