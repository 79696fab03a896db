// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/tracee_machine.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum {
	// errno.h has none of these: they are for the kernel itself (include/linux/errno.h).
	RESTART_SYS = 512,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516,
	SYSCALL_BYTES = 2,
	RED_ZONE = 128, // System V ABI, AMD64 supplement, 3.2.2
	MAX_XSAVE = 1 << 14,
};

// --- registers and code -----------------------------------------------------------

const struct tracee_pattern tracee_call_pattern = { 2, { 0x0f, 0x05 } };         // syscall
const struct tracee_pattern tracee_gadget_pattern = { 3, { 0x0f, 0x05, 0xc3 } }; // syscall; ret
// mov $15, %rax; syscall: what signal handlers return to. 15 is rt_sigreturn.
const struct tracee_pattern tracee_restorer_pattern = {
	9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 }
};
const size_t tracee_code_alignment = 1;

uint64_t tracee_stack_pointer(const struct user_regs_struct *registers)
{
	return registers->rsp;
}

uint64_t tracee_program_counter(const struct user_regs_struct *registers)
{
	return registers->rip;
}

uint64_t tracee_thread_pointer(pid_t tid, const struct user_regs_struct *registers)
{
	(void)tid;
	return registers->fs_base;
}

// --- calls --------------------------------------------------------------------------

void tracee_set_call(struct user_regs_struct *registers, const struct tracee_rescue *rescue,
		     uint64_t sp, long number, const uint64_t arguments[5])
{
	registers->rip = rescue->sp ? rescue->code.gadget : rescue->code.call;
	registers->rax = (uint64_t)number;
	registers->orig_rax = ~UINT64_C(0);
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = 0;
	if (sp != 0)
		registers->rsp = sp;
}

long tracee_call_result(const struct user_regs_struct *registers)
{
	return (long)registers->rax;
}

long tracee_modern_call(long number)
{
	switch (number) {
	case SYS_poll:
		return SYS_ppoll;
	case SYS_select:
		return SYS_pselect6;
	case SYS_open:
		return SYS_openat;
	case SYS_pause:
		return SYS_rt_sigsuspend;
	case SYS_epoll_wait:
		return SYS_epoll_pwait;
	default:
		return number;
	}
}

long tracee_failed_call(const struct process *process, struct tracee *tracee, uint64_t arguments[6])
{
	const struct user_regs_struct *registers = &tracee->registers;
	const uint64_t from[6] = { registers->rdi, registers->rsi, registers->rdx,
				   registers->r10, registers->r8,  registers->r9 };

	(void)process;
	memcpy(arguments, from, sizeof(from));
	return (int64_t)registers->rax == -EINTR ? (long)registers->orig_rax : -1;
}

// The kernel looks at the result once more when the thread goes on.
void tracee_set_restart(const struct tracee *tracee, struct user_regs_struct *registers)
{
	(void)tracee;
	registers->rax = (uint64_t)-RESTART_NO_HANDLER;
}

// A call to be restarted still has the result that tells the kernel to do so.
void tracee_set_resume(const struct tracee *tracee, struct user_regs_struct *registers)
{
	(void)tracee;
	(void)registers;
}

void tracee_settle_restart(struct tracee *tracee)
{
	(void)tracee;
}

void tracee_enter_call(const struct tracee *tracee)
{
	(void)tracee;
}

// System calls keep the vector registers.
void *tracee_save_vectors(pid_t tid, size_t *size)
{
	(void)tid;
	*size = 0;
	return NULL;
}

void tracee_restore_vectors(pid_t tid, const void *vectors, size_t size)
{
	(void)tid;
	(void)vectors;
	(void)size;
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

_Static_assert(sizeof(struct frames) <= TRACEE_FRAMES_MAX, "the frames have room");

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
	    ((result <= -RESTART_SYS && result >= -RESTART_BLOCK) || tracee_is_mended(tracee))) {
		frame->rip -= SYSCALL_BYTES;
		frame->rax = tracee->registers.orig_rax;
	}
}

// Shadow stacks would refuse returns that no call was made for.
static bool has_shadow_stack(pid_t tid)
{
	uint64_t pointer = 0;
	struct iovec vector = { &pointer, sizeof(pointer) };

	return ptrace(PTRACE_GETREGSET, tid, 0x204 /* NT_X86_SHSTK */, &vector) == 0 &&
	       pointer != 0;
}

bool tracee_fill_frames(const struct tracee *tracee, const struct tracee_code *code, uint64_t mask,
			struct tracee_frames *result)
{
	struct frames *frames = (struct frames *)result->bytes;
	size_t vectors = has_shadow_stack(tracee->tid) ? 0 : fill_xsave(tracee->tid, frames);
	uint64_t base;

	if (vectors == 0)
		return false;
	result->size = offsetof(struct frames, xsave) + vectors;
	base = result->base = (tracee->registers.rsp - RED_ZONE - result->size) & ~UINT64_C(63);
	result->child = offsetof(struct frames, end);
	result->child_pid = offsetof(struct frames, wait.rdi);
	fill_call(&frames->wait, &tracee->registers, code, SYS_wait4,
		  base + offsetof(struct frames, back));
	frames->wait.rdi = INT_MAX; // no process has that pid, until there is a child
	fill_back(&frames->back, tracee, code->restorer, mask);
	frames->back.flags |= FRAME_HAS_VECTORS;
	frames->back.vectors = base + offsetof(struct frames, xsave);
	fill_call(&frames->end, &tracee->registers, code, SYS_exit, base);
	return true;
}

#endif
