// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/tracee_machine.h"

#if defined(__aarch64__)

#include <asm/sigcontext.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * How the kernel restarts calls: do_signal() of arch/arm64/kernel/signal.c. When a thread stops, a
 * call that will begin again has been undone already: pc is at the svc instruction, and x0 is the
 * first argument again. Where a call has failed instead, x0 is lost. It is known of a thread that
 * was seen asleep in the call, and has not run since.
 */

#ifndef NT_ARM_SSVE
#define NT_ARM_SSVE 0x40b
#endif
#ifndef NT_ARM_GCS
#define NT_ARM_GCS 0x410
#endif

enum {
	SVC_BYTES = 4,
	SVC = 0xd4000001,      // svc #0
	BRANCH_TYPE = 3 << 10, // PSTATE.BTYPE: the last instruction was an indirect branch
	SVE_REGISTERS = 1,     // flag in struct sve_header: they are in use
	ENTER_MS = 1000,

	FRAME_RECORDS = 4096 - 528, // of a signal's frame: bytes after struct fpsimd_context
	NO_STACK = 0x7fffffff,      // flags that sigaltstack(2) refuses: what is set stays
};

// --- registers and code -----------------------------------------------------------

const struct tracee_pattern tracee_call_pattern = { 4, { 0x01, 0x00, 0x00, 0xd4 } }; // svc #0
const struct tracee_pattern tracee_gadget_pattern = {
	8, { 0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6 } // svc #0; ret
};
// mov x8, #139; svc #0: what signal handlers return to. 139 is rt_sigreturn.
const struct tracee_pattern tracee_restorer_pattern = {
	8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 }
};
const size_t tracee_code_alignment = 4;

uint64_t tracee_stack_pointer(const struct user_regs_struct *registers)
{
	return registers->sp;
}

uint64_t tracee_program_counter(const struct user_regs_struct *registers)
{
	return registers->pc;
}

static bool get_set(pid_t tid, uint64_t set, void *buffer, size_t size)
{
	struct iovec vector = { buffer, size };

	return ptrace(PTRACE_GETREGSET, tid, set, &vector) == 0 && vector.iov_len == size;
}

static bool set_set(pid_t tid, uint64_t set, const void *buffer, size_t size)
{
	struct iovec vector = { (void *)buffer, size };

	return ptrace(PTRACE_SETREGSET, tid, set, &vector) == 0;
}

uint64_t tracee_thread_pointer(pid_t tid, const struct user_regs_struct *registers)
{
	uint64_t pointer = 0;

	(void)registers;
	return get_set(tid, NT_ARM_TLS, &pointer, sizeof(pointer)) ? pointer : 0;
}

static bool is_call(pid_t tid, uint64_t pc)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, pc, NULL);
	return errno == 0 && (uint32_t)word == SVC;
}

// --- calls --------------------------------------------------------------------------

void tracee_set_call(struct user_regs_struct *registers, const struct tracee_rescue *rescue,
		     uint64_t sp, long number, const uint64_t arguments[5])
{
	registers->pc = rescue->code.call;
	registers->pstate &= ~(uint64_t)BRANCH_TYPE;
	registers->regs[8] = (uint64_t)number;
	memcpy(registers->regs, arguments, 5 * sizeof(arguments[0]));
	registers->regs[5] = 0;
	if (sp != 0)
		registers->sp = sp;
	if (rescue->sp == 0)
		return;
	registers->pc = rescue->code.gadget;
	registers->regs[30] = rescue->code.restorer;
}

long tracee_call_result(const struct user_regs_struct *registers)
{
	return (long)registers->regs[0];
}

long tracee_modern_call(long number)
{
	return number;
}

// Calls with a time limit that does not show in their arguments: restart_syscall(2) knows the rest.
static bool has_rest(const struct user_regs_struct *registers)
{
	switch (registers->regs[8]) {
	case SYS_nanosleep:
		return true;
	case SYS_clock_nanosleep:
		return !(registers->regs[1] & TIMER_ABSTIME);
	case SYS_futex:
		return registers->regs[3] != 0 &&
		       (registers->regs[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	default:
		return false;
	}
}

// True if the thread was asleep in a call from when it was seen until the stop has woken it.
static bool was_asleep(const struct process *process, const struct tracee *tracee)
{
	const struct user_regs_struct *registers = &tracee->registers;

	return tracee->is_seen && tracee->call != TRACEE_CALL_NONE &&
	       tracee->number == (long)registers->regs[8] && tracee->sp == registers->sp &&
	       tracee_count_switches(process, tracee) <= 1;
}

long tracee_failed_call(const struct process *process, struct tracee *tracee, uint64_t arguments[6])
{
	const struct user_regs_struct *registers = &tracee->registers;

	tracee->has_rest = has_rest(registers) && tracee->pc == registers->pc + SVC_BYTES &&
			   is_call(tracee->tid, registers->pc) && was_asleep(process, tracee);
	if (tracee->signal != 0 || (int64_t)registers->regs[0] != -EINTR ||
	    tracee->pc != registers->pc || !is_call(tracee->tid, registers->pc - SVC_BYTES) ||
	    !was_asleep(process, tracee))
		return -1;
	memcpy(arguments, registers->regs, 6 * sizeof(arguments[0]));
	arguments[0] = tracee->first_argument;
	return tracee->number;
}

void tracee_set_restart(const struct tracee *tracee, struct user_regs_struct *registers)
{
	registers->regs[0] = tracee->first_argument;
	registers->pc = tracee->registers.pc - SVC_BYTES;
}

// The kernel has forgotten that it interrupted the call. Where that is not certain, the call begins
// anew.
void tracee_set_resume(const struct tracee *tracee, struct user_regs_struct *registers)
{
	if (tracee->has_rest)
		registers->regs[8] = SYS_restart_syscall;
}

// The kernel would run a handler, and restart the call after it. One that comes between this and the
// end of the stop has that done.
void tracee_settle_restart(struct tracee *tracee)
{
	static const char *const names[] = { "SigPnd", "ShdPnd", "SigBlk", "SigCgt" };
	uint64_t sets[4] = { 0 };
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tracee->tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		for (int i = 0; i < 4; i++) {
			if (strncmp(line, names[i], 6) == 0)
				sscanf(line + 6, ": %" SCNx64, &sets[i]);
		}
	}
	if (file)
		fclose(file);
	if ((sets[0] | sets[1]) & ~sets[2] & sets[3])
		tracee_set_registers(tracee->tid, &tracee->registers);
}

void tracee_enter_call(const struct tracee *tracee)
{
	struct user_regs_struct now;
	int signal = 0;

	if (tracee->call != TRACEE_CALL_RESTARTS ||
	    tracee->pc != tracee->registers.pc + SVC_BYTES || tracee->sp != tracee->registers.sp ||
	    !tracee_get_registers(tracee->tid, &now) || !is_call(tracee->tid, now.pc) ||
	    ptrace(PTRACE_SETOPTIONS, tracee->tid, NULL, PTRACE_O_TRACESYSGOOD) != 0)
		return;
	while (ptrace(PTRACE_SYSCALL, tracee->tid, NULL, (void *)(intptr_t)signal) == 0) {
		int status = tracee_wait(tracee->tid, ENTER_MS);

		if (status <= 0 || WIFEXITED(status) || WIFSIGNALED(status) ||
		    status >> 16 == PTRACE_EVENT_STOP || WSTOPSIG(status) == (SIGTRAP | 0x80))
			return;
		signal = WSTOPSIG(status);
	}
}

// --- vector registers ---------------------------------------------------------------

// The head of NT_ARM_SVE and NT_ARM_SSVE: struct user_sve_header of asm/ptrace.h. The registers
// follow: Z0 to Z31 of `length` bytes each, P0 to P15 and FFR of an eighth of that, FPSR, FPCR.
struct sve_header {
	uint32_t size, max_size;
	uint16_t length, max_length, flags, reserved;
};

struct vectors {
	uint64_t set;
	struct sve_header header; // the whole set begins here
};

static void *read_vectors(pid_t tid, uint64_t set, size_t *size)
{
	struct sve_header header = { 0 };
	struct vectors *result;

	if (!get_set(tid, set, &header, sizeof(header)) || !(header.flags & SVE_REGISTERS))
		return NULL;
	*size = offsetof(struct vectors, header) + header.size;
	result = malloc(*size);
	if (!result)
		return NULL;
	result->set = set;
	if (!get_set(tid, set, &result->header, header.size)) {
		free(result);
		return NULL;
	}
	return result;
}

// System calls keep the lower 128 bits only, and end streaming mode.
void *tracee_save_vectors(pid_t tid, size_t *size)
{
	void *result = read_vectors(tid, NT_ARM_SSVE, size);

	if (!result)
		result = read_vectors(tid, NT_ARM_SVE, size);
	if (!result)
		*size = 0;
	return result;
}

void tracee_restore_vectors(pid_t tid, const void *vectors, size_t size)
{
	const struct vectors *from = vectors;

	if (from)
		set_set(tid, from->set, &from->header, size - offsetof(struct vectors, header));
}

// --- frames that lead back ------------------------------------------------------------

// struct rt_sigframe of the kernel, arch/arm64/kernel/signal.c and asm/sigcontext.h.
struct frame {
	uint8_t info[128];
	uint64_t flags, link;
	uint64_t stack;
	uint32_t stack_flags, unused;
	uint64_t stack_size;
	uint64_t mask;
	uint8_t reserved[120 + 8];
	uint64_t fault;
	struct user_regs_struct registers;
	uint64_t padding;
	struct fpsimd_context simd;
};

// The last frame has the vector registers, if they are in use.
struct frames {
	struct frame wait;
	struct _aarch64_ctx wait_end[2];
	struct frame end;
	struct _aarch64_ctx end_end[2];
	struct frame back;
	uint8_t records[FRAME_RECORDS];
};

_Static_assert(offsetof(struct frame, registers) == 312, "as the kernel has it");
_Static_assert(offsetof(struct frame, simd) == 592, "as the kernel has it");
_Static_assert(sizeof(struct frames) <= TRACEE_FRAMES_MAX, "the frames have room");

static void fill_frame(struct frame *frame, const struct user_regs_struct *from,
		       const struct user_fpsimd_struct *simd, uint64_t mask)
{
	*frame = (struct frame){
		.stack_flags = NO_STACK,
		.mask = mask,
		.registers = *from,
		.simd = { { FPSIMD_MAGIC, sizeof(struct fpsimd_context) },
			  simd->fpsr,
			  simd->fpcr,
			  { 0 } },
	};
	memcpy(frame->simd.vregs, simd->vregs, sizeof(frame->simd.vregs));
}

// A frame that makes a system call, and goes on by what is at `next`.
static void fill_call(struct frame *frame, const struct user_regs_struct *from,
		      const struct user_fpsimd_struct *simd, const struct tracee_code *code,
		      long number, uint64_t next)
{
	const struct tracee_rescue rescue = { .code = *code, .sp = next };
	const uint64_t arguments[5] = { 0, 0, __WALL, 0, 0 };

	fill_frame(frame, from, simd, ~UINT64_C(0));
	tracee_set_call(&frame->registers, &rescue, next, number, arguments);
}

// Adds the record of struct sve_context, whose registers lie as in the register set.
// @return false: there is no room
static bool fill_vectors(pid_t tid, uint8_t records[FRAME_RECORDS])
{
	size_t size, bytes;
	struct vectors *vectors = tracee_save_vectors(tid, &size);
	bool fits = true;

	if (!vectors)
		return true;
	bytes = vectors->header.length * 32 + vectors->header.length / 8 * 17;

	const struct {
		struct _aarch64_ctx head;
		uint16_t length, flags, reserved[2];
	} head = { { SVE_MAGIC, (uint32_t)((16 + bytes + 15) & ~(size_t)15) },
		   vectors->header.length,
		   vectors->set == NT_ARM_SSVE,
		   { 0 } };

	fits = head.head.size + sizeof(struct _aarch64_ctx) * 2 <= FRAME_RECORDS &&
	       bytes + sizeof(struct sve_header) <= vectors->header.size;
	if (fits) {
		memcpy(records, &head, sizeof(head));
		memcpy(records + sizeof(head), &vectors->header + 1, bytes);
	}
	free(vectors);
	return fits;
}

// A guarded control stack would refuse returns that no call was made for.
static bool has_guarded_stack(pid_t tid)
{
	uint64_t state[3] = { 0 };

	return get_set(tid, NT_ARM_GCS, state, sizeof(state)) && (state[0] & 1);
}

bool tracee_fill_frames(const struct tracee *tracee, const struct tracee_code *code, uint64_t mask,
			struct tracee_frames *result)
{
	struct frames *frames = (struct frames *)result->bytes;
	const struct user_regs_struct *registers = &tracee->registers;
	struct user_fpsimd_struct simd;
	uint64_t base;

	if (has_guarded_stack(tracee->tid) ||
	    !get_set(tracee->tid, NT_FPREGSET, &simd, sizeof(simd)) ||
	    !fill_vectors(tracee->tid, frames->records))
		return false;
	result->size = sizeof(*frames);
	base = result->base = (registers->sp - result->size) & ~UINT64_C(15);
	result->child = offsetof(struct frames, end);
	result->child_pid = offsetof(struct frames, wait.registers.regs[0]);
	fill_call(&frames->wait, registers, &simd, code, SYS_wait4,
		  base + offsetof(struct frames, back));
	frames->wait.registers.regs[0] = INT_MAX; // no process has that pid, until there is a child
	fill_call(&frames->end, registers, &simd, code, SYS_exit, base);
	fill_frame(&frames->back, registers, &simd, mask);
	if (tracee_is_mended(tracee))
		tracee_set_restart(tracee, &frames->back.registers);
	return true;
}

#endif
