// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/frozen_copy.h"

#include "dumper/base/user_registers.h"
#include "dumper/base/vast.h"
#include "dumper/command/tracee_machine.h"
#include "dumper/command/victim.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
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

enum {
	SLOW_MS = 100,     // until the other threads are stopped before the holder is made
	ENDING_LOOKS = 10, // at a victim that may be ending
	LOOK_US = 2000,
};

// --- the holder --------------------------------------------------------------------------

struct making {
	struct process *process;
	struct frozen_copy *copy;
	struct tracee *victim; // in copy->tracees; or the next, while these may move
	struct tracee kept;
	struct tracee_rescue rescue;
	uint64_t program;     // process_program() when the code was found
	uint64_t start_ns;    // when the victim was stopped
	bool may_stop_others; // before the holder is made
};

HEAP_MUST_CHECK
static struct heap_error *stop_all(struct making *making)
{
	return process_threads_stop(making->process, &making->copy->tracees,
				    making->copy->held_until_ns != 0);
}

// A victim that has to wait for a processor, since the other threads never rest, waits for it several
// times in each call. If that takes long, the others are stopped before the copy is made.
static void stop_others_if_slow(struct making *making)
{
	if (!making->may_stop_others ||
	    heap_monotonic_ns() - making->start_ns < SLOW_MS * UINT64_C(1000000))
		return;
	making->may_stop_others = false;
	// An error comes again when all are stopped for the copy.
	heap_error_destroy(stop_all(making));
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
		return process_threads_lost(making->process);
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
		status = tracee_wait(tid, PROCESS_THREADS_PATIENCE_MS);
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
	tracee_wait(*child, PROCESS_THREADS_PATIENCE_MS);
	ptrace(PTRACE_SETOPTIONS, *child, NULL, making->kept.options | PTRACE_O_EXITKILL);
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

	if (process_parts_with_children(making->process, victim->tid))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d cannot be copied: a child of it would be in another "
					 "namespace of processes (unshare(2), setns(2))",
					 (int)making->process->pid);
	if (!has_code(making) && !find_code(making))
		return process_threads_lost(making->process);
	tracee_prepare_rescue(making->process, victim, &making->rescue);
	if (!tracee_begin_calls(victim, &before))
		return process_threads_lost(making->process);
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
	copy->threads = calloc(copy->tracees.count + 1, sizeof(*copy->threads));
	if (!copy->threads)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < copy->tracees.count; i++) {
		const struct tracee *tracee = &copy->tracees.list[i];
		struct heapsnap_thread *thread = &copy->threads[copy->thread_count++];

		thread->tid = (uint32_t)tracee->tid;
		if (tracee->state == TRACEE_STOPPED)
			fill_exact(tracee, thread);
		else if (tracee->state ==
			 TRACEE_GONE) // a main thread stays listed until all have ended
			thread->state = HEAPSNAP_THREAD_EMPTY;
		else
			fill_sleeping(tracee, thread);
	}
	return NULL;
}

static void note_moved(const struct process *process, struct frozen_copy *copy)
{
	for (size_t i = 0; i < copy->tracees.count; i++) {
		if (copy->tracees.list[i].state == TRACEE_LEFT_ALONE &&
		    copy->threads[i].state == HEAPSNAP_THREAD_SLEEPING &&
		    tracee_has_moved(process, &copy->tracees.list[i]))
			copy->threads[i].state = HEAPSNAP_THREAD_ASKED;
	}
}

// --- all of it -------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *stop_and_copy(struct making *making)
{
	struct user_regs_struct registers;

	HEAP_TRY(stop_all(making));
	HEAP_TRY(make_copy(making));
	// An exec() by another thread ends the victim first: while it is there, the copy is of the
	// program that the threads run.
	if (!tracee_get_registers(making->victim->tid, &registers))
		return process_threads_lost(making->process);
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
		process_threads_release(&copy->tracees, true);
	if (!error)
		note_moved(making->process, copy);
	if (copy->held_until_ns == 0)
		process_threads_release(&copy->tracees, false);
	copy->stop_ns = heap_monotonic_ns() - making->start_ns;
	if (copy->pid)
		tracee_wait(copy->pid, PROCESS_THREADS_PATIENCE_MS);
	making->may_stop_others = false;
	if (!error)
		divide(making);
	return error;
}

static void note_lost(struct frozen_copy *copy, const struct heap_error *error)
{
	copy->is_lost |= error && heap_error_code(error) == HEAP_ERROR_ABSENT;
}

static void release_all(struct frozen_copy *copy)
{
	copy->held_until_ns = 0;
	process_threads_release_all(&copy->tracees);
}

// Stops all threads before anything else is done: where they use up memory, each of them may have to
// wait for a processor until it stops, and the others go on meanwhile.
HEAP_MUST_CHECK
static struct heap_error *hold_threads(struct making *making)
{
	HEAP_TRY(stop_all(making));
	return victim_choose(making->process, &making->copy->tracees, &making->victim);
}

// Stops the thread that is to make the copy.
HEAP_MUST_CHECK
static struct heap_error *find_victim(struct making *making)
{
	struct process_threads *threads = &making->copy->tracees;

	if (making->copy->held_until_ns != 0)
		HEAP_TRY(hold_threads(making));
	// Every program has a vdso: it must be gone.
	if (!find_code(making))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has no system call instruction",
					 (int)making->process->pid);
	if (making->victim)
		return NULL;
	process_threads_look(making->process, threads);
	return victim_find(making->process, threads, &making->victim);
}

// Makes the copy when there is a victim, which then goes on.
HEAP_MUST_CHECK
static struct heap_error *copy_by_victim(struct making *making, const struct process_status *status)
{
	struct frozen_copy *copy = making->copy;
	const size_t number = (size_t)(making->victim - copy->tracees.list);
	struct heap_error *error;

	making->start_ns = heap_monotonic_ns();
	making->kept = *making->victim;
	making->victim = &making->kept;
	error = prepare(making, status);
	if (!error) {
		copy->tracees.list[number] = making->kept;
		error = freeze(making);
	} else {
		release_all(copy);
	}
	if (!copy->is_reaper)
		end_process(&copy->holder);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *create(struct making *making, const struct process_status *status)
{
	size_t added;

	process_threads_release_heir(making->process); // of an attempt before this one
	HEAP_TRY(process_threads_find(making->process, &making->copy->tracees, &added));
	HEAP_TRY(find_victim(making));
	return copy_by_victim(making, status);
}

struct heap_error *frozen_copy_create(struct process *process, const struct process_status *status,
				      uint64_t hold_ns, struct frozen_copy *copy)
{
	struct making making = { .process = process, .copy = copy, .may_stop_others = true };
	struct heap_error *error;

	*copy = (struct frozen_copy){ .held_until_ns = hold_ns ? heap_monotonic_ns() + hold_ns : 0,
				      .left = copy->left };
	error = create(&making, status);
	note_lost(copy, error);
	return error;
}

void frozen_copy_tend(struct process *process, struct frozen_copy *copy)
{
	if (copy->held_until_ns > heap_monotonic_ns()) {
		struct heap_error *error = process_threads_hold(process, &copy->tracees);

		note_lost(copy, error);
		heap_error_destroy(error);
		return;
	}
	if (copy->held_until_ns != 0)
		release_all(copy);
	process_threads_release_late(process, &copy->tracees);
}

// An exec() waits for all threads that it has ended to be waited for.
static void release_lost(struct process *process, struct frozen_copy *copy)
{
	uint64_t until = heap_monotonic_ns() + PROCESS_THREADS_PATIENCE_MS * UINT64_C(1000000);

	while (process_threads_are_stuck(&copy->tracees) && heap_monotonic_ns() < until) {
		frozen_copy_tend(process, copy);
		sched_yield();
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
	struct tracee_before before;
	size_t added;
	bool has_waited = false;
	struct heap_error *error;

	process_threads_release_heir(process); // of an attempt before this one
	error = process_threads_find(process, &threads.tracees, &added);

	if (!error && find_code(&making))
		error = victim_find(process, &threads.tracees, &making.victim);
	if (!error && making.victim && has_code(&making)) {
		tracee_prepare_rescue(process, making.victim, &making.rescue);
		if (tracee_begin_calls(making.victim, &before)) {
			has_waited = wait_for(&making, own_pids);
			tracee_end_calls(making.victim, &before);
		}
		tracee_detach(making.victim);
	}
	release_lost(process, &threads);
	heap_error_destroy(error);
	process_threads_deinit(&threads.tracees);
	return has_waited;
}

void frozen_copy_reap(struct process *process, long *left)
{
	const long own_pids[2] = { *left };

	if (reap(process, own_pids))
		*left = 0;
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
	process_threads_deinit(&copy->tracees);
	free(copy->threads);
	*copy = (struct frozen_copy){ 0 };
}
