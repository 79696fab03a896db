// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_TRACEE_H
#define HEAPSNAP_TRACEE_H

/**
 * A thread of another process that is traced by ptrace(2), and system calls that it is made to do.
 *
 *	seized ──INTERRUPT──▶ stopped ──tracee_call()──▶ stopped ──▶ let go, as if nothing had been
 *
 * Should this process end while a call is being made, the thread runs on from where it is. Frames
 * as the kernel makes them for signals wait for it on its stack, and lead back to where it was:
 * struct tracee_rescue.
 */

#include "dumper/command/process.h"

#include <sys/user.h>

enum tracee_state {
	TRACEE_LEFT_ALONE, /**< asleep in a call that must not be interrupted */
	TRACEE_SEIZED,
	TRACEE_STOPPED,
	TRACEE_STUCK, /**< it cannot be stopped, or has been killed */
	TRACEE_GONE,
};

/** The effect of an interruption on the system call that a thread sleeps in. */
enum tracee_call {
	TRACEE_CALL_NONE,     /**< it runs, or has been stopped by a signal */
	TRACEE_CALL_RESTARTS, /**< nothing: the kernel begins it again */
	TRACEE_CALL_MENDED,   /**< nothing: it fails, and is made to begin again */
	TRACEE_CALL_TIMED,    /**< the same, but its time begins again, too */
	TRACEE_CALL_FRAGILE,  /**< it fails, or may do half of its work */
};

struct tracee {
	pid_t tid;
	enum tracee_state state;
	enum tracee_call call;        /**< as tracee_look() has seen it */
	enum tracee_call interrupted; /**< in which the stop has found it, if that made it fail */
	uint64_t sp, pc;              /**< while it is left alone */
	long number;                  /**< of the call that it has been seen in */
	uint64_t first_argument;      /**< of that call */
	bool is_seen;                 /**< tracee_look() has been called */
	uint64_t switches;            /**< how often it had run by then */
	int signal;                   /**< that it was just about to get; 0: none */
	bool has_rest; /**< it slept until the stop in a call whose time does not show in registers */
	unsigned long options; /**< of ptrace(2), if it is to make the copy */
	struct user_regs_struct registers;
};

/** Looks what a thread that is left alone is doing, without touching it; or that it is gone. */
void tracee_look(const struct process *process, struct tracee *tracee);

/** How often a thread has been given a processor since tracee_look(). */
uint64_t tracee_count_switches(const struct process *process, const struct tracee *tracee);

/** True if a thread that was left alone has run since tracee_look(). */
bool tracee_has_moved(const struct process *process, const struct tracee *tracee);

/** Waits for a stop. @return the status as of waitpid(2); 0: none in time; -1: it is gone */
int tracee_wait(pid_t tid, int timeout_ms);

/** Begins to trace, without stopping anything. @return false and errno */
bool tracee_seize(struct tracee *tracee);

/** Asks for a stop, which tracee_await() waits for. @return false: the thread is not traced */
bool tracee_interrupt(struct tracee *tracee);

/** Waits for a requested stop, and saves the registers. A system call that the stop makes fail restarts. */
void tracee_await(const struct process *process, struct tracee *tracee, int timeout_ms);

/** Lets a stopped thread go on, with the signal that it was about to get; or it is stuck. */
void tracee_detach(struct tracee *tracee);

bool tracee_get_registers(pid_t tid, struct user_regs_struct *registers);
bool tracee_set_registers(pid_t tid, const struct user_regs_struct *registers);

/** Addresses of instructions in the process; 0: there are none. */
struct tracee_code {
	uint64_t call;     /**< "syscall" */
	uint64_t gadget;   /**< "syscall; ret" */
	uint64_t restorer; /**< what signal handlers return to: rt_sigreturn(2) */
};

/** Finds them; no thread needs to be stopped. @return false: not even "syscall" was found */
bool tracee_find_code(struct process *process, struct tracee_code *code);

/** @return false: the instructions are not, or no longer, at these addresses */
bool tracee_check_code(struct process *process, const struct tracee_code *code);

/** The frames that lead a thread back by themselves; see above. */
struct tracee_rescue {
	struct tracee_code code;
	uint64_t sp;        /**< of the thread while calls are made; 0: there is no rescue */
	uint64_t child_sp;  /**< of a child: it ends when it goes on by itself */
	uint64_t child_pid; /**< address where clone(2) is to note the child, to be waited for */
};

/**
 * Writes the frames below the stack of a stopped thread, where that is certain to be a stack and
 * the instructions are known.
 *
 * @param rescue  has its code
 */
void tracee_prepare_rescue(struct process *process, const struct tracee *tracee,
			   struct tracee_rescue *rescue);

/** State of a thread that is lost when it is made to do system calls. */
struct tracee_before {
	uint64_t mask; /**< of its signals */
	void *vectors; /**< malloc'd; NULL if there are none to be lost */
	size_t vectors_size;
};

/**
 * To be called before tracee_call(), and after the rescue has been prepared: blocks all signals.
 *
 * @return false: the thread is gone
 */
bool tracee_begin_calls(const struct tracee *tracee, struct tracee_before *before);

/** Makes the thread what it was: it stays stopped. */
void tracee_end_calls(struct tracee *tracee, struct tracee_before *before);

/**
 * Makes a stopped thread do a system call.
 *
 * @param sp     the stack pointer meanwhile
 * @param child  gets the thread or process that was created; NULL: none is
 * @return what the call returned; -ECHILD if the thread is gone; -ETIMEDOUT if it has not run for
 *         seconds: it has been stopped again, or its rescue leads it back
 */
long tracee_call(pid_t tid, const struct user_regs_struct *base, const struct tracee_rescue *rescue,
		 uint64_t sp, pid_t *child, long number, const uint64_t arguments[5]);

#endif
