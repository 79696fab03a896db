// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/victim.h"

#include "dumper/command/permission.h"
#include "dumper/command/tracee_machine.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <unistd.h>

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

enum {
	SEARCH_MS = 2000, // until a thread is found that may be interrupted
	TIMED_MS = 150,   // until one will do whose time begins again
	LOOK_US = 2000,
	FILTERED =
		10, // behind all others: a filter might end the process, and only root may suspend it
};

HEAP_MAKES_ERROR
static struct heap_error *refuse_seize(const struct process *process)
{
	char name[NAME_MAX + 1];

	if (errno == EPERM || errno == EACCES) {
		process_name(process, name, sizeof(name));
		return permission_explain(process, name, "traced");
	}
	return heap_error_create_system("%d cannot be traced", (int)process->pid);
}

// How well a thread is suited: the less, the better. INT_MAX: not at all, or not yet.
static int rate(const struct tracee *tracee, uint64_t waited_ms)
{
	switch (tracee->call) {
	case TRACEE_CALL_RESTARTS:
		return 0;
	case TRACEE_CALL_MENDED:
		return 1;
	case TRACEE_CALL_NONE:
		return 2;
	case TRACEE_CALL_TIMED:
		return waited_ms >= TIMED_MS ? 3 : INT32_MAX;
	default:
		return INT32_MAX;
	}
}

static int rate_with_filter(const struct process *process, const struct tracee *tracee,
			    uint64_t waited_ms, int best)
{
	int result = rate(tracee, waited_ms);

	return result < best && process_filters_thread(process, tracee->tid) ? result + FILTERED
									     : result;
}

static struct tracee *choose(const struct process *process, struct process_threads *threads,
			     uint64_t waited_ms)
{
	struct tracee *best = NULL;
	int best_rate = INT32_MAX;

	for (size_t i = 0; i < threads->count && best_rate > 0; i++) {
		struct tracee *tracee = &threads->list[i];

		if (tracee->state != TRACEE_LEFT_ALONE)
			continue;
		tracee_look(process, tracee);
		if (tracee->state == TRACEE_GONE)
			continue;

		int own_rate = rate_with_filter(process, tracee, waited_ms, best_rate);

		if (own_rate < best_rate) {
			best_rate = own_rate;
			best = tracee;
		}
	}
	return best;
}

// Restartable sequences must not be left in the middle: rseq(2).
static bool is_in_sequence(struct process *process, const struct tracee *tracee)
{
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, unused;
	} configuration = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t current;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tracee->tid, (void *)sizeof(configuration),
		   &configuration) < 0 ||
	    !configuration.pointer ||
	    !process_read(process, configuration.pointer + 8, &current, sizeof(current)) ||
	    current == 0 || !process_read(process, current, &sequence, sizeof(sequence)))
		return false;
	return tracee_program_counter(&tracee->registers) - sequence.start < sequence.length;
}

// The options of ptrace(2) for a thread as the victim, and for its children.
static unsigned long find_options(const struct process *process, pid_t tid)
{
	return PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD |
	       (process_filters_thread(process, tid) ? PTRACE_O_SUSPEND_SECCOMP : 0);
}

// A signal that comes first is delivered: the requested stop follows.
static bool await_victim(const struct process *process, struct tracee *victim)
{
	tracee_await(process, victim, PROCESS_THREADS_PATIENCE_MS);
	while (victim->state == TRACEE_STOPPED && victim->signal != 0) {
		ptrace(PTRACE_CONT, victim->tid, NULL, (void *)(intptr_t)victim->signal);
		tracee_await(process, victim, PROCESS_THREADS_PATIENCE_MS);
	}
	return victim->state == TRACEE_STOPPED;
}

// The thread goes on if it cannot be the victim.
// @param set  false: another thread's exec() has just ended it
HEAP_MUST_CHECK
static struct heap_error *set_options(const struct process *process, struct tracee *victim,
				      bool *set)
{
	struct heap_error *error = NULL;

	victim->options = find_options(process, victim->tid);
	*set = ptrace(PTRACE_SETOPTIONS, victim->tid, NULL, victim->options) == 0;
	if (*set)
		return NULL;
	if (errno == ESRCH)
		victim->state = TRACEE_STUCK; // until it has been waited for
	else if (victim->options & PTRACE_O_SUSPEND_SECCOMP)
		error = heap_error_create(HEAP_ERROR_SYSTEM,
					  "%d filters its system calls, which might "
					  "end it; only root may suspend that",
					  (int)process->pid);
	else
		error = heap_error_create_system("%d cannot be traced", (int)process->pid);
	if (error)
		tracee_detach(victim);
	return error;
}

// Seizes and stops a thread.
// @param stopped  false: it is another one's turn
HEAP_MUST_CHECK
static struct heap_error *stop_victim(struct process *process,
				      const struct process_threads *threads, struct tracee *victim,
				      bool *stopped)
{
	*stopped = false;
	if (!process_threads_seize(threads, victim)) {
		int reason = errno;

		// A thread that is ending may not be traced either.
		tracee_look(process, victim);
		errno = reason;
		return reason == ESRCH || victim->state == TRACEE_GONE ? NULL
								       : refuse_seize(process);
	}
	tracee_interrupt(victim);
	if (!await_victim(process, victim))
		return NULL;
	if (victim->call == TRACEE_CALL_NONE && is_in_sequence(process, victim)) {
		tracee_detach(victim);
		victim->state = TRACEE_LEFT_ALONE;
		return NULL;
	}
	return set_options(process, victim, stopped);
}

static bool are_gone(const struct process_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->list[i].state != TRACEE_GONE)
			return false;
	}
	return true;
}

struct heap_error *victim_find(struct process *process, struct process_threads *threads,
			       struct tracee **result)
{
	uint64_t start = heap_monotonic_ns(), waited = 0;
	const uint64_t program = process_program(process);
	size_t added;

	for (; waited < SEARCH_MS; waited = (heap_monotonic_ns() - start) / 1000000) {
		struct tracee *victim = choose(process, threads, waited);
		bool stopped = false;

		if (victim) {
			HEAP_TRY(stop_victim(process, threads, victim, &stopped));
			*result = victim;
		}
		if (stopped)
			return NULL;
		HEAP_TRY(process_threads_find(process, threads, &added));
		// The first thread of the program before has the same number, and may be traced still.
		if ((added == 0 && are_gone(threads)) || process_program(process) != program)
			return process_threads_lost(process);
		usleep(LOOK_US);
	}
	return heap_error_create(HEAP_ERROR_SYSTEM,
				 "%d has no thread that may be interrupted: each waits for a disk, "
				 "a child of vfork(2), for room in a pipe, in a call that would "
				 "fail, or in a cgroup that is frozen",
				 (int)process->pid);
}

struct heap_error *victim_choose(struct process *process, struct process_threads *threads,
				 struct tracee **result)
{
	*result = NULL;
	for (size_t i = 0; i < threads->count; i++) {
		struct tracee *tracee = &threads->list[i];
		bool is_set;

		if (tracee->state != TRACEE_STOPPED || tracee->signal != 0 ||
		    is_in_sequence(process, tracee))
			continue;
		HEAP_TRY(set_options(process, tracee, &is_set));
		if (!is_set)
			continue;
		*result = tracee;
		return NULL;
	}
	return NULL;
}
