// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/frozen_copy.h"

#include "dumper/base/user_registers.h"
#include "dumper/base/vast.h"
#include "dumper/command/permission.h"
#include "dumper/command/tracee_machine.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

enum {
	STOP_MS = 50,          // for all threads; what runs stops within microseconds
	HELD_STOP_MS = 2000,   // for all threads of a process that is held anyway
	SLOW_MS = 100,         // until the other threads are stopped before the holder is made
	VICTIM_MS = 2000,      // until a thread is found that may be interrupted
	ENDING_LOOKS = 10,     // at a victim that may be ending
	TIMED_VICTIM_MS = 150, // until one will do whose time begins again
	LOOK_US = 2000,
	MANY_THREADS = 256, // of more, those asleep are left alone
	MAX_ROUNDS = 100,   // of looking for new threads
};

HEAP_MAKES_ERROR
static struct heap_error *lost(const struct process *process, struct frozen_copy *copy)
{
	copy->is_lost = true;
	return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended, or begun another program",
				 (int)process->pid);
}

// --- threads ----------------------------------------------------------------------

// @param guess  where it probably is: the kernel lists threads by age
static bool is_known(const struct frozen_copy *copy, pid_t tid, size_t guess)
{
	if (guess < copy->tracee_count && copy->tracees[guess].tid == tid)
		return true;
	for (size_t i = 0; i < copy->tracee_count; i++) {
		if (copy->tracees[i].tid == tid)
			return true;
	}
	return false;
}

// Adds the threads that are not known yet. @param added  gets how many
HEAP_MUST_CHECK
static struct heap_error *list_threads(const struct process *process, struct frozen_copy *copy,
				       size_t *added)
{
	int descriptor = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct heap_error *error = NULL;
	const size_t before = copy->tracee_count;
	size_t listed = 0;
	struct dirent *entry;

	*added = 0;
	if (!tasks) {
		cleanup_close(&descriptor);
		return lost(process, copy);
	}
	while (!error && (entry = readdir(tasks))) {
		pid_t tid = process_parse_pid(entry->d_name);

		if (tid == 0 || (before > 0 && is_known(copy, tid, listed++)))
			continue;
		error = heap_reserve(copy->tracees, copy->tracee_capacity, copy->tracee_count + 1);
		if (!error)
			copy->tracees[copy->tracee_count++] = (struct tracee){ .tid = tid };
	}
	closedir(tasks);
	*added = copy->tracee_count - before;
	return error;
}

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

// --- seizing ------------------------------------------------------------------------

// PTRACE_SEIZE waits for an exec() of another thread, which waits until all threads that it has
// ended are waited for, those that are traced by the tracer: ptrace(2), BUGS. So a handler does that
// while threads are seized.
static const struct frozen_copy *seizing;

static void reap_dead(int signal)
{
	int before = errno;

	(void)signal;
	for (size_t i = 0; i < seizing->tracee_count; i++) {
		pid_t tid = seizing->tracees[i].tid;
		siginfo_t end = { 0 };

		// Stops are for tracee_await().
		if (waitid(P_PID, (id_t)tid, &end, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		    end.si_pid == tid && end.si_code != CLD_TRAPPED)
			waitid(P_PID, (id_t)tid, &end, WEXITED | WNOHANG | __WALL);
	}
	errno = before;
}

struct seizing {
	struct sigaction action;
	sigset_t mask;
};

static void begin_seizing(const struct frozen_copy *copy, struct seizing *before)
{
	// Stops send no signal.
	const struct sigaction action = { .sa_handler = reap_dead, .sa_flags = SA_NOCLDSTOP };
	sigset_t children;

	seizing = copy;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigaction(SIGCHLD, &action, &before->action);
	sigprocmask(SIG_UNBLOCK, &children, &before->mask);
	reap_dead(SIGCHLD); // those that died before: their signal has been ignored
}

static void end_seizing(const struct seizing *before)
{
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	sigaction(SIGCHLD, &before->action, NULL);
}

// --- the thread that makes the copy ---------------------------------------------------

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
		return waited_ms >= TIMED_VICTIM_MS ? 3 : INT32_MAX;
	default:
		return INT32_MAX;
	}
}

static struct tracee *choose_victim(const struct process *process, struct frozen_copy *copy,
				    uint64_t waited_ms)
{
	struct tracee *best = NULL;
	int best_rate = INT32_MAX;

	for (size_t i = 0; i < copy->tracee_count && best_rate > 0; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (tracee->state != TRACEE_LEFT_ALONE)
			continue;
		tracee_look(process, tracee);
		if (tracee->state != TRACEE_GONE && rate(tracee, waited_ms) < best_rate) {
			best_rate = rate(tracee, waited_ms);
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

static unsigned long options_for(const struct process_status *status)
{
	return PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD |
	       (status->is_filtered ? PTRACE_O_SUSPEND_SECCOMP : 0);
}

// A signal that comes first is delivered: the requested stop follows.
static bool await_victim(const struct process *process, struct tracee *victim)
{
	tracee_await(process, victim, VICTIM_MS);
	while (victim->state == TRACEE_STOPPED && victim->signal != 0) {
		ptrace(PTRACE_CONT, victim->tid, NULL, (void *)(intptr_t)victim->signal);
		tracee_await(process, victim, VICTIM_MS);
	}
	return victim->state == TRACEE_STOPPED;
}

// The thread goes on if it cannot be the victim.
HEAP_MUST_CHECK
static struct heap_error *set_options(const struct process *process, struct tracee *victim,
				      const struct process_status *status)
{
	struct heap_error *error;

	if (ptrace(PTRACE_SETOPTIONS, victim->tid, NULL, options_for(status)) == 0)
		return NULL;
	error = status->is_filtered ? heap_error_create(HEAP_ERROR_SYSTEM,
							"%d filters its system calls, which might "
							"end it; only root may suspend that",
							(int)process->pid)
				    : heap_error_create_system("%d", (int)process->pid);
	tracee_detach(victim);
	return error;
}

// Seizes and stops a thread.
// @param stopped  false: it is another one's turn
HEAP_MUST_CHECK
static struct heap_error *stop_victim(struct process *process, const struct frozen_copy *copy,
				      struct tracee *victim, const struct process_status *status,
				      bool *stopped)
{
	struct seizing before;
	bool is_seized;

	*stopped = false;
	begin_seizing(copy, &before);
	is_seized = tracee_seize(victim);
	end_seizing(&before);
	if (!is_seized) {
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
	HEAP_TRY(set_options(process, victim, status));
	*stopped = true;
	return NULL;
}

static bool are_gone(const struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		if (copy->tracees[i].state != TRACEE_GONE)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *find_victim(struct process *process, struct frozen_copy *copy,
				      const struct process_status *status, struct tracee **result)
{
	uint64_t start = heap_monotonic_ns(), waited = 0;
	size_t added;

	for (; waited < VICTIM_MS; waited = (heap_monotonic_ns() - start) / 1000000) {
		struct tracee *victim = choose_victim(process, copy, waited);
		bool stopped = false;

		if (victim) {
			HEAP_TRY(stop_victim(process, copy, victim, status, &stopped));
			*result = victim;
		}
		if (stopped)
			return NULL;
		HEAP_TRY(list_threads(process, copy, &added));
		if (added == 0 && are_gone(copy))
			return lost(process, copy);
		usleep(LOOK_US);
	}
	return heap_error_create(HEAP_ERROR_SYSTEM,
				 "%d has no thread that may be interrupted: each waits for a disk, "
				 "a child of vfork(2), in a call that would fail, or in a cgroup "
				 "that is frozen",
				 (int)process->pid);
}

// --- the stop ----------------------------------------------------------------------------

static bool is_stopped_by_us(const struct frozen_copy *copy, const struct tracee *tracee)
{
	switch (tracee->call) {
	case TRACEE_CALL_NONE:
		return true;
	case TRACEE_CALL_RESTARTS:
	case TRACEE_CALL_MENDED:
		return copy->held_until_ns != 0 || copy->tracee_count <= MANY_THREADS;
	default:
		return false;
	}
}

static void ask(const struct process *process, struct frozen_copy *copy, struct tracee *tracee)
{
	if (tracee->state != TRACEE_LEFT_ALONE)
		return;
	// Most sleep as they did before the stop, which is to be short.
	if (!tracee->is_seen || tracee_has_moved(process, tracee))
		tracee_look(process, tracee);
	if (tracee->state == TRACEE_GONE)
		return;
	if (is_stopped_by_us(copy, tracee) && tracee_seize(tracee))
		tracee_interrupt(tracee);
	else
		tracee->state = TRACEE_LEFT_ALONE;
}

static void ask_from(const struct process *process, struct frozen_copy *copy, size_t first)
{
	struct seizing before;

	begin_seizing(copy, &before);
	for (size_t i = first; i < copy->tracee_count; i++)
		ask(process, copy, &copy->tracees[i]);
	end_seizing(&before);
}

static void await_from(const struct process *process, struct frozen_copy *copy, size_t first,
		       uint64_t until_ns)
{
	for (size_t i = first; i < copy->tracee_count; i++) {
		uint64_t now = heap_monotonic_ns();

		if (copy->tracees[i].state == TRACEE_SEIZED)
			tracee_await(process, &copy->tracees[i],
				     now < until_ns ? (int)((until_ns - now) / 1000000) : 0);
	}
}

// Threads that are being created are found when their creators have stopped.
HEAP_MUST_CHECK
static struct heap_error *stop_threads(const struct process *process, struct frozen_copy *copy)
{
	const int limit_ms = copy->held_until_ns != 0 ? HELD_STOP_MS : STOP_MS;
	uint64_t until = 0;
	size_t first = 0, added = copy->tracee_count;

	for (int round = 0; added > 0 && round < MAX_ROUNDS; round++) {
		ask_from(process, copy, first);
		// Where many threads run, this process has to wait for a processor until they are asked.
		if (round == 0)
			until = heap_monotonic_ns() + (uint64_t)limit_ms * 1000000;
		await_from(process, copy, first, until);
		first = copy->tracee_count;
		HEAP_TRY(list_threads(process, copy, &added));
	}
	return NULL;
}

// --- the holder --------------------------------------------------------------------------

struct making {
	struct process *process;
	struct frozen_copy *copy;
	struct tracee *victim;
	struct tracee_rescue rescue;
	unsigned long options;
	uint64_t program;     // process_program() when the code was found
	uint64_t start_ns;    // when the victim was stopped
	bool may_stop_others; // before the holder is made
};

// A victim that has to wait for a processor, since the other threads never rest, waits for it several
// times in each call. If that takes long, the others are stopped before the copy is made.
static void stop_others_if_slow(struct making *making)
{
	if (!making->may_stop_others ||
	    heap_monotonic_ns() - making->start_ns < SLOW_MS * UINT64_C(1000000))
		return;
	making->may_stop_others = false;
	// An error comes again when all are stopped for the copy.
	heap_error_destroy(stop_threads(making->process, making->copy));
}

static long call(struct making *making, pid_t tid, bool is_child, pid_t *child, long number,
		 uint64_t a, uint64_t b, uint64_t c)
{
	const struct tracee_rescue *rescue = &making->rescue;
	const uint64_t arguments[5] = { a, b, c, 0, 0 };

	stop_others_if_slow(making);
	return tracee_call(tid, &making->victim->registers, rescue,
			   is_child ? rescue->child_sp : rescue->sp, child, number, arguments);
}

// True if the victim ends within a moment. Once a thread has begun execve(2), which ends the others, clone(2)
// refuses to share its file system's root: copy_fs() in Linux.
static bool is_ending(const struct making *making)
{
	for (int i = 0; i < ENDING_LOOKS; i++) {
		struct tracee victim = *making->victim;

		tracee_look(making->process, &victim);
		if (victim.state == TRACEE_GONE)
			return true;
		usleep(LOOK_US);
	}
	return false;
}

HEAP_MAKES_ERROR
static struct heap_error *refuse_clone(const struct making *making, long result)
{
	// The thread is gone, or the code: that is no answer of clone(2) to these arguments.
	if (result == -ECHILD || result == -EFAULT || (result == -EAGAIN && is_ending(making)))
		return lost(making->process, making->copy);
	if (result == -ETIMEDOUT)
		return heap_error_create(
			HEAP_ERROR_SYSTEM,
			"%d cannot be copied: a thread of it does not go on, as in a "
			"cgroup that is frozen (a paused container)",
			(int)making->process->pid);
	errno = (int)-result;
	if (result == -EAGAIN)
		return heap_error_create(
			HEAP_ERROR_SYSTEM,
			"%d may have no further process: RLIMIT_NPROC, or pids.max "
			"of its cgroup",
			(int)making->process->pid);
	return heap_error_create_system("%d cannot be copied", (int)making->process->pid);
}

// Orphans go to the nearest process that takes them in, prctl(2), or to the namespace's first.
HEAP_MUST_CHECK
static struct heap_error *find_reaper(struct making *making, const struct process_status *status)
{
	uint64_t at = making->rescue.child_pid;
	uint64_t nobody = INT32_MAX;
	int32_t answer = 0;
	long result;

	making->copy->is_reaper = status->own_pid == 1;
	if (making->copy->is_reaper || at == 0)
		return NULL;
	result = call(making, making->victim->tid, false, NULL, SYS_prctl, PR_GET_CHILD_SUBREAPER,
		      at, 0);
	if (result == -ETIMEDOUT)
		return refuse_clone(making, result);
	if (result != 0)
		return NULL;
	if (!process_read(making->process, at, &answer, sizeof(answer)))
		answer = 0;
	process_write(making->process, at, &nobody, sizeof(nobody));
	making->copy->is_reaper = answer != 0;
	return NULL;
}

static void await_end(pid_t tid)
{
	int status;

	do
		status = tracee_wait(tid, VICTIM_MS);
	while (status > 0 && !WIFEXITED(status) && !WIFSIGNALED(status));
}

static void end_process(pid_t *pid)
{
	if (*pid == 0)
		return;
	kill(*pid, SIGKILL);
	await_end(*pid);
	*pid = 0;
}

// A victim can end behind clone(2) and before the tracer's answer. @return the child's pid in its namespace
static long end_child(pid_t *child)
{
	struct process process;
	struct process_status status = { 0 };
	struct heap_error *error = process_open(*child, &process);

	if (!error && !process_read_status(&process, &status))
		status.own_pid = 0;
	process_close(&process);
	heap_error_destroy(error);
	end_process(child);
	return status.own_pid;
}

// A victim that is killed within clone(2) cannot tell its tracer of the child, which is traced, too.
static pid_t find_child(const struct process *parent)
{
	CLEANUP_FREE pid_t *pids = NULL;
	size_t count = 0;
	struct heap_error *error = process_list(&pids, &count);
	pid_t found = 0;

	for (size_t i = 0; !error && found == 0 && i < count; i++) {
		struct process process;
		struct process_status status;

		error = process_open(pids[i], &process);
		if (!error && process_read_status(&process, &status) &&
		    status.parent == parent->pid && status.tracer == gettid())
			found = pids[i];
		if (!error)
			process_close(&process);
		heap_error_destroy(error); // it has ended meanwhile
		error = NULL;
	}
	heap_error_destroy(error);
	return found;
}

// Servers forbid themselves further processes, some by a limit of 0 (RLIMIT_NPROC).
// @param before  what to set it to again. @return false: the limit is not ours to raise, or not in the way
static bool raise_limit(const struct making *making, struct rlimit *before)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid = making->process->pid;

	if (prlimit(pid, RLIMIT_NPROC, NULL, before) != 0 || before->rlim_cur == RLIM_INFINITY)
		return false;
	if (prlimit(pid, RLIMIT_NPROC, &none, NULL) == 0) // takes CAP_SYS_RESOURCE
		return true;

	const struct rlimit most = { before->rlim_max, before->rlim_max };

	return before->rlim_cur < before->rlim_max && prlimit(pid, RLIMIT_NPROC, &most, NULL) == 0;
}

// Clones the victim. Its limit on processes is raised for this call alone: the copies inherit what it is then.
static long clone_victim(struct making *making, pid_t *child, uint64_t flags, uint64_t note)
{
	const struct tracee_rescue *rescue = &making->rescue;
	pid_t victim = making->victim->tid;
	struct rlimit before;
	long result = call(making, victim, false, child, SYS_clone, flags, rescue->child_sp, note);

	if (result != -EAGAIN || *child != 0 || is_ending(making) || !raise_limit(making, &before))
		return result;
	result = call(making, victim, false, child, SYS_clone, flags, rescue->child_sp, note);
	prlimit(making->process->pid, RLIMIT_NPROC, &before, NULL);
	return result;
}

// A process that shares the memory of `parent`, and stops before its first instruction.
static long make_sharer(struct making *making, pid_t parent, bool is_child, pid_t *child)
{
	const uint64_t flags = CLONE_VM | CLONE_FILES | CLONE_FS;
	const struct tracee_rescue *rescue = &making->rescue;
	uint64_t note = rescue->child_pid ? CLONE_PARENT_SETTID : 0;
	long result =
		is_child ? call(making, parent, true, child, SYS_clone, flags, rescue->child_sp, 0)
			 : clone_victim(making, child, flags | note, rescue->child_pid);

	if (result <= 0 && *child == 0 && !is_child)
		*child = find_child(making->process);
	if (result <= 0 && *child != 0 && !is_child)
		making->copy->left = end_child(child);
	if (result <= 0 || *child == 0)
		return result < 0 ? result : -EAGAIN;
	tracee_wait(*child, VICTIM_MS);
	ptrace(PTRACE_SETOPTIONS, *child, NULL, making->options | PTRACE_O_EXITKILL);
	return result;
}

// A program that the process begins inherits its children: what has ended and is not waited for stays a zombie.
static void wait_for_left(struct making *making)
{
	struct frozen_copy *copy = making->copy;

	if (copy->left > 0 && call(making, making->victim->tid, false, NULL, SYS_wait4,
				   (uint64_t)copy->left, 0, __WALL) == copy->left)
		copy->left = 0;
}

HEAP_MUST_CHECK
static struct heap_error *make_holder(struct making *making)
{
	struct frozen_copy *copy = making->copy;
	pid_t victim = making->victim->tid, between = 0;
	long own, result;

	if (copy->is_reaper) {
		copy->own_pids[0] = make_sharer(making, victim, false, &copy->holder);
		if (copy->own_pids[0] < 0)
			return refuse_clone(making, copy->own_pids[0]);
	} else {
		own = make_sharer(making, victim, false, &between);
		if (own < 0)
			return refuse_clone(making, own);
		result = make_sharer(making, between, true, &copy->holder);
		call(making, between, true, NULL, SYS_exit, 0, 0, 0);
		await_end(between);
		copy->left = own;
		wait_for_left(making);
		if (result < 0)
			return refuse_clone(making, result);
	}
	// It must not keep the process's files open.
	call(making, copy->holder, true, NULL, SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
	return NULL;
}

static bool find_code(struct making *making)
{
	process_forget_memory(making->process);
	making->program = process_program(making->process);
	return tracee_find_code(making->process, &making->rescue.code);
}

// True if the stopped victim still runs the program that the code was found in.
static bool has_code(const struct making *making)
{
	process_forget_memory(making->process);
	return process_program(making->process) == making->program &&
	       tracee_check_code(making->process, &making->rescue.code);
}

// The victim stays stopped.
HEAP_MUST_CHECK
static struct heap_error *prepare(struct making *making, const struct process_status *status)
{
	struct tracee *victim = making->victim;
	struct heap_error *error;
	struct tracee_before before;

	if (!has_code(making) && !find_code(making))
		return lost(making->process, making->copy);
	tracee_prepare_rescue(making->process, victim, &making->rescue);
	if (!tracee_begin_calls(victim, &before))
		return lost(making->process, making->copy);
	wait_for_left(making);
	error = find_reaper(making, status);
	if (!error)
		error = make_holder(making);
	tracee_end_calls(victim, &before);
	ptrace(PTRACE_SETOPTIONS, victim->tid, NULL, 0);
	return error;
}

// --- the copy ------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *make_copy(struct making *making)
{
	struct frozen_copy *copy = making->copy;
	// Both are children of a process that takes in orphans: it is made to wait for them.
	uint64_t flags = copy->is_reaper ? CLONE_PARENT : 0, start = heap_monotonic_ns();
	long result = call(making, copy->holder, true, &copy->pid, SYS_clone, flags, 0, 0);

	copy->clone_ns = heap_monotonic_ns() - start;
	copy->own_pids[1] = result;
	return result > 0 && copy->pid > 0 ? NULL : refuse_clone(making, result);
}

static void release(struct frozen_copy *copy, bool running)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (tracee->state != TRACEE_STOPPED ||
		    (tracee->call == TRACEE_CALL_NONE) != running)
			continue;
		tracee_detach(tracee);
	}
}

// --- vast mappings of it ---------------------------------------------------------------------

static long advise(void *context, uint64_t start, uint64_t size, int advice)
{
	struct making *making = context;

	return call(making, making->copy->pid, true, NULL, SYS_madvise, start, size,
		    (uint64_t)advice);
}

// As the library does in its copy: dumper/base/vast.h. Without it the snapshot takes longer.
static void divide(struct making *making)
{
	char path[64];
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;
	uint64_t end = 0;
	struct heapsnap_vast vast;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)making->copy->pid);

	CLEANUP_FILE FILE *maps = fopen(path, "re");

	while (maps && getline(&line, &capacity, maps) > 0) {
		if (!heapsnap_find_vast(line, &vast) || vast.start < end)
			continue;
		if (end == 0 && !heapsnap_must_divide())
			return;
		end = vast.end;
		heapsnap_vast_divide(&vast, advise, making);
	}
}

// --- what is known of the threads ----------------------------------------------------------

static void fill_exact(const struct tracee *tracee, struct heapsnap_thread *thread)
{
	heapsnap_fill_registers(thread, &tracee->registers);
	thread->thread_pointer = tracee_thread_pointer(tracee->tid, &tracee->registers);
	thread->state = HEAPSNAP_THREAD_STOPPED;
}

static void fill_sleeping(const struct tracee *tracee, struct heapsnap_thread *thread)
{
	thread->state = tracee->state == TRACEE_LEFT_ALONE && tracee->sp ? HEAPSNAP_THREAD_SLEEPING
									 : HEAPSNAP_THREAD_ASKED;
	thread->registers[HEAPSNAP_USER_SP] = tracee->sp;
	thread->registers[HEAPSNAP_USER_PC] = tracee->pc;
	if (tracee->sp)
		thread->known = UINT64_C(1) << HEAPSNAP_USER_SP | UINT64_C(1) << HEAPSNAP_USER_PC;
}

// Before threads are released.
HEAP_MUST_CHECK
static struct heap_error *note_threads(struct frozen_copy *copy)
{
	copy->threads = calloc(copy->tracee_count + 1, sizeof(*copy->threads));
	if (!copy->threads)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < copy->tracee_count; i++) {
		const struct tracee *tracee = &copy->tracees[i];
		struct heapsnap_thread *thread = &copy->threads[copy->thread_count++];

		thread->tid = (uint32_t)tracee->tid;
		if (tracee->state == TRACEE_STOPPED)
			fill_exact(tracee, thread);
		else
			fill_sleeping(tracee, thread);
	}
	return NULL;
}

static void note_moved(const struct process *process, struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		if (copy->tracees[i].state == TRACEE_LEFT_ALONE &&
		    copy->threads[i].state == HEAPSNAP_THREAD_SLEEPING &&
		    tracee_has_moved(process, &copy->tracees[i]))
			copy->threads[i].state = HEAPSNAP_THREAD_ASKED;
	}
}

// A thread that begins another program takes over the main thread's tid, and is still traced.
static void release_heir(const struct process *process)
{
	struct tracee heir = { .tid = process->pid };

	if (!tracee_interrupt(&heir))
		return;
	tracee_await(process, &heir, VICTIM_MS);
	if (heir.state == TRACEE_STOPPED)
		tracee_detach(&heir);
}

// --- all of it -------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *stop_and_copy(struct making *making)
{
	struct user_regs_struct registers;

	HEAP_TRY(stop_threads(making->process, making->copy));
	HEAP_TRY(make_copy(making));
	// An exec() by another thread ends the victim first: while it is there, the copy is of the
	// program that the threads run.
	if (!tracee_get_registers(making->victim->tid, &registers))
		return lost(making->process, making->copy);
	return note_threads(making->copy);
}

HEAP_MUST_CHECK
static struct heap_error *freeze(struct making *making)
{
	struct frozen_copy *copy = making->copy;
	struct heap_error *error = stop_and_copy(making);

	if (error)
		copy->held_until_ns = 0;
	if (copy->held_until_ns == 0)
		release(copy, true);
	if (!error)
		note_moved(making->process, copy);
	if (copy->held_until_ns == 0)
		release(copy, false);
	copy->stop_ns = heap_monotonic_ns() - making->start_ns;
	if (copy->pid)
		tracee_wait(copy->pid, VICTIM_MS);
	making->may_stop_others = false;
	if (!error)
		divide(making);
	return error;
}

static void release_all(struct frozen_copy *copy)
{
	copy->held_until_ns = 0;
	release(copy, true);
	release(copy, false);
}

static void look_at_threads(const struct process *process, struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		if (copy->tracees[i].state == TRACEE_LEFT_ALONE)
			tracee_look(process, &copy->tracees[i]);
	}
}

// Stops all threads before anything else is done: where they use up memory, each of them may have to
// wait for a processor until it stops, and the others go on meanwhile.
// @param victim  gets the thread that makes the copy, if one of those that have stopped will do
HEAP_MUST_CHECK
static struct heap_error *hold_threads(struct process *process, struct frozen_copy *copy,
				       const struct process_status *status, struct tracee **victim)
{
	HEAP_TRY(stop_threads(process, copy));
	for (size_t i = 0; i < copy->tracee_count; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (tracee->state != TRACEE_STOPPED || tracee->signal != 0 ||
		    is_in_sequence(process, tracee))
			continue;
		HEAP_TRY(set_options(process, tracee, status));
		*victim = tracee;
		return NULL;
	}
	return NULL;
}

struct heap_error *frozen_copy_create(struct process *process, const struct process_status *status,
				      uint64_t hold_ns, struct frozen_copy *copy)
{
	struct making making = { .process = process,
				 .copy = copy,
				 .options = options_for(status),
				 .may_stop_others = true };
	struct heap_error *error;
	size_t added, victim;

	*copy = (struct frozen_copy){ .held_until_ns = hold_ns ? heap_monotonic_ns() + hold_ns : 0,
				      .left = copy->left };
	release_heir(process); // of an attempt before this one
	HEAP_TRY(list_threads(process, copy, &added));
	if (hold_ns != 0)
		HEAP_TRY(hold_threads(process, copy, status, &making.victim));
	if (!find_code(&making)) {
		copy->is_lost = true; // or so it must be: every program has a vdso
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has no system call instruction",
					 (int)process->pid);
	}
	if (!making.victim) {
		look_at_threads(process, copy);
		HEAP_TRY(find_victim(process, copy, status, &making.victim));
	}
	// The list of threads may move when it grows.
	victim = (size_t)(making.victim - copy->tracees);
	making.start_ns = heap_monotonic_ns();

	struct tracee kept = *making.victim;

	making.victim = &kept;
	error = prepare(&making, status);
	if (!error) {
		copy->tracees[victim] = kept;
		error = freeze(&making);
	} else {
		release_all(copy);
	}
	if (!copy->is_reaper)
		end_process(&copy->holder);
	return error;
}

// Stops the threads that have woken, or are new.
static void hold(struct process *process, struct frozen_copy *copy)
{
	size_t added;
	struct heap_error *error = list_threads(process, copy, &added);

	heap_error_destroy(error);
	ask_from(process, copy, 0);
	for (size_t i = 0; i < copy->tracee_count; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (tracee->state == TRACEE_SEIZED || tracee->state == TRACEE_STUCK)
			tracee_await(process, tracee, 0);
	}
}

static bool is_stuck(const struct tracee *tracee)
{
	return tracee->state == TRACEE_STUCK || tracee->state == TRACEE_SEIZED;
}

static bool are_stuck(const struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		if (is_stuck(&copy->tracees[i]))
			return true;
	}
	return false;
}

// As release_heir(), without waiting: the main thread is let go when it stops.
static void note_heir(const struct process *process, struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracee_count; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (tracee->tid == process->pid && tracee->state == TRACEE_GONE &&
		    tracee_interrupt(tracee))
			tracee->state = TRACEE_STUCK;
	}
}

void frozen_copy_tend(struct process *process, struct frozen_copy *copy)
{
	if (copy->held_until_ns > heap_monotonic_ns()) {
		hold(process, copy);
		return;
	}
	if (copy->held_until_ns != 0)
		release_all(copy);
	for (size_t i = 0; i < copy->tracee_count; i++) {
		struct tracee *tracee = &copy->tracees[i];

		if (!is_stuck(tracee))
			continue;
		tracee_await(process, tracee, 0);
		if (tracee->state == TRACEE_STOPPED)
			tracee_detach(tracee);
		else if (tracee->state == TRACEE_GONE)
			note_heir(process, copy);
	}
}

static bool wait_for(struct making *making, const long own_pids[2])
{
	bool all = true;

	for (int i = 0; i < 2; i++) {
		if (own_pids[i] > 0)
			all &= call(making, making->victim->tid, false, NULL, SYS_wait4,
				    (uint64_t)own_pids[i], 0, __WALL) == own_pids[i];
	}
	return all;
}

// Makes a process wait for children that have ended. @return whether it has
static bool reap(struct process *process, const long own_pids[2])
{
	struct frozen_copy threads = { 0 };
	struct making making = { .process = process, .copy = &threads };
	struct process_status status;
	struct tracee_before before;
	size_t added;
	bool has_waited = false;
	struct heap_error *error = list_threads(process, &threads, &added);

	if (!error && process_read_status(process, &status) && find_code(&making))
		error = find_victim(process, &threads, &status, &making.victim);
	if (!error && making.victim && has_code(&making)) {
		tracee_prepare_rescue(process, making.victim, &making.rescue);
		if (tracee_begin_calls(making.victim, &before)) {
			has_waited = wait_for(&making, own_pids);
			tracee_end_calls(making.victim, &before);
		}
		tracee_detach(making.victim);
	}
	heap_error_destroy(error);
	free(threads.tracees);
	return has_waited;
}

void frozen_copy_reap(struct process *process, long *left)
{
	const long own_pids[2] = { *left };

	if (reap(process, own_pids))
		*left = 0;
}

// An exec() waits for all threads that it has ended to be waited for.
static void release_lost(struct process *process, struct frozen_copy *copy)
{
	uint64_t until = heap_monotonic_ns() + VICTIM_MS * UINT64_C(1000000);

	while (are_stuck(copy) && heap_monotonic_ns() < until) {
		frozen_copy_tend(process, copy);
		sched_yield();
	}
}

void frozen_copy_destroy(struct process *process, struct frozen_copy *copy)
{
	bool was_made = copy->holder || copy->pid;

	release_all(copy);
	end_process(&copy->holder);
	end_process(&copy->pid);
	if (copy->is_reaper && was_made)
		reap(process, copy->own_pids);
	frozen_copy_tend(process, copy);
	if (copy->is_lost)
		release_lost(process, copy);
	free(copy->tracees);
	free(copy->threads);
	*copy = (struct frozen_copy){ 0 };
}
