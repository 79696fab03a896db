// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_TRACEE_MACHINE_H
#define HEAPSNAP_TRACEE_MACHINE_H

/**
 * The parts of tracing that differ between machines: registers, instructions, the frames of
 * signals, and how the kernel restarts interrupted system calls. Each machine has a file:
 * tracee_x86_64.c, tracee_aarch64.c.
 */

#include "dumper/command/tracee.h"

/** The code of an instruction or two. */
struct tracee_pattern {
	uint8_t size;
	uint8_t bytes[15];
};

extern const struct tracee_pattern tracee_call_pattern;     /**< tracee_code.call */
extern const struct tracee_pattern tracee_gadget_pattern;   /**< tracee_code.gadget */
extern const struct tracee_pattern tracee_restorer_pattern; /**< tracee_code.restorer */
extern const size_t tracee_code_alignment;                  /**< of instructions, in bytes */

uint64_t tracee_stack_pointer(const struct user_regs_struct *registers);
uint64_t tracee_program_counter(const struct user_regs_struct *registers);

/** The register that thread-local storage is found by. @return 0: it cannot be read */
uint64_t tracee_thread_pointer(pid_t tid, const struct user_regs_struct *registers);

/** Has the thread make a call when it goes on. @param sp  the stack pointer; 0: as it is */
void tracee_set_call(struct user_regs_struct *registers, const struct tracee_rescue *rescue,
		     uint64_t sp, long number, const uint64_t arguments[5]);

/** The result of the call that the thread has just made. */
long tracee_call_result(const struct user_regs_struct *registers);

// --- interrupted calls ---------------------------------------------------------

/**
 * The newer system call that does the same with the same arguments: ppoll(2) for poll(2). Only old
 * architectures have both.
 */
long tracee_modern_call(long number);

/**
 * Finds the call that has returned EINTR, as far as a stopped thread shows.
 *
 * @param tracee  gets what tracee_set_restart() needs
 * @return its number, or -1 if there is none
 */
long tracee_failed_call(const struct process *process, struct tracee *tracee,
			uint64_t arguments[6]);

/** True if that call gave up because of the stop alone, and is made to begin again. */
bool tracee_is_mended(const struct tracee *tracee);

/** Has that call begin again when the thread goes on. */
void tracee_set_restart(const struct tracee *tracee, struct user_regs_struct *registers);

/**
 * Has the call that the kernel was about to restart go on after other calls have been made, with
 * the rest of its time where the kernel keeps that.
 */
void tracee_set_resume(const struct tracee *tracee, struct user_regs_struct *registers);

/**
 * Has that call fail after all if a signal with a handler has come since: just before the thread goes
 * on, and where the kernel does not see to that.
 */
void tracee_settle_restart(struct tracee *tracee);

/**
 * Takes a stopped thread whose signals are blocked into the call that the kernel was about to
 * restart, as far as its entry: from there, a signal ends the call as the program expects. Does nothing
 * where the kernel sees to that.
 */
void tracee_enter_call(const struct tracee *tracee);

// --- calls -----------------------------------------------------------------------

/** The registers that a system call loses besides those of NT_PRSTATUS. @return malloc'd or NULL */
void *tracee_save_vectors(pid_t tid, size_t *size);
void tracee_restore_vectors(pid_t tid, const void *vectors, size_t size);

// --- frames that lead back ---------------------------------------------------------

enum {
	TRACEE_FRAMES_MAX = 20 << 10, /**< bytes */
};

/** Frames to be written to a thread's stack: struct tracee_rescue. */
struct tracee_frames {
	uint64_t
		base; /**< the address that they are to lie at; the thread's sp while it makes calls */
	size_t size;
	size_t child;     /**< offset of that of a child */
	size_t child_pid; /**< offset of the pid that is waited for */
	uint8_t bytes[TRACEE_FRAMES_MAX] __attribute__((aligned(64)));
};

/**
 * Fills in the frames, to lie below the stack of a stopped thread.
 *
 * @param mask  of its signals
 * @return false if that cannot be done for this thread
 */
bool tracee_fill_frames(const struct tracee *tracee, const struct tracee_code *code, uint64_t mask,
			struct tracee_frames *frames);

#endif
