// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/attach.h"

#include "dumper/command/complain.h"
#include "dumper/command/executable.h"
#include "dumper/command/foreign.h"
#include "dumper/command/frozen_copy.h"
#include "dumper/command/frozen_group.h"
#include "dumper/command/interrupt.h"
#include "dumper/command/permission.h"
#include "dumper/command/priority.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// --- may it be attached to? -------------------------------------------------------------

enum {
	MAX_ATTEMPTS = 5, // if the process begins another program meanwhile
	LOST_LOOK_US = 10000,
	REAP_MS = 5000,   // until a process has waited for a child of ours
	LOST_LOOKS = 100, // until what has ended a thread has ended the process, too
	OPEN_LOOKS = 20,  // at a process that seems to have ended
};

struct target {
	struct process process;
	struct process_status status;
	uint64_t program;        // as process_program() had it when the attempt began
	long left;               // a child that an attempt has left
	char name[NAME_MAX + 1]; // for messages; "": not asked for yet
};

/*
 * For messages alone. The kernel copies it from memory, which takes a lock that threads hold while they change
 * mappings: a process that is near the end of its memory would come to it meanwhile.
 */
static const char *target_name(struct target *target)
{
	if (target->name[0] == '\0')
		process_name(&target->process, target->name, sizeof(target->name));
	return target->name;
}

HEAP_MUST_CHECK
static struct heap_error *check_machine(struct target *target)
{
	enum executable_kind kind = executable_kind_of(&target->process);

	if (kind == EXECUTABLE_NARROW)
		return heap_error_create(HEAP_ERROR_ABSENT, "%d (%s) is a 32-bit process",
					 (int)target->process.pid, target_name(target));
	if (kind == EXECUTABLE_FOREIGN)
		return heap_error_create(HEAP_ERROR_ABSENT, "%d (%s) is of another machine",
					 (int)target->process.pid, target_name(target));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_memory(struct target *target)
{
	int pid = (int)target->process.pid;
	int memory = openat(target->process.folder, "mem", O_RDONLY | O_CLOEXEC);

	if (memory >= 0) {
		close(memory);
		return NULL;
	}
	if (errno == ENOENT || errno == ESRCH)
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", pid);
	return permission_explain(&target->process, target_name(target), "examined");
}

// Only one can trace a process: a debugger, strace or another heapsnap.
HEAP_MAKES_ERROR
static struct heap_error *refuse_traced(struct target *target)
{
	struct process tracer;
	struct heap_error *error = process_open(target->status.tracer, &tracer);
	char name[64] = "";

	if (!error) {
		process_name(&tracer, name, sizeof(name));
		process_close(&tracer);
	}
	// It may have ended since.
	heap_error_destroy(error);
	return heap_error_create(HEAP_ERROR_SYSTEM,
				 "%d (%s) is being traced by %d (%s): only one can",
				 (int)target->process.pid, target_name(target),
				 (int)target->status.tracer, name[0] ? name : "?");
}

HEAP_MUST_CHECK
static struct heap_error *check(struct target *target)
{
	int pid = (int)target->process.pid;

	if (!process_read_status(&target->process, &target->status))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", pid);
	if (target->status.state == 'Z' || target->status.state == 'X')
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d (%s) has ended: it is a zombie, which %d has not "
					 "waited for",
					 pid, target_name(target), (int)target->status.parent);
	if (process_is_of_kernel(&target->process))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d (%s) is a thread of the kernel",
					 pid, target_name(target));
	if (!target->status.has_memory)
		return heap_error_create(HEAP_ERROR_ABSENT, "%d (%s) is just ending", pid,
					 target_name(target));
	if (pid == getpid())
		return heap_error_create(HEAP_ERROR_ABSENT, "%d is heapsnap itself", pid);
	if (target->status.tracer != 0 && target->status.tracer != getpid())
		return refuse_traced(target);
	HEAP_TRY(check_memory(target));
	return check_machine(target);
}

// True after check() if the process is ending; or another thread than the main one has begun another program, for whose
// start the process is a zombie: exec() makes that thread the main one.
static bool is_ending(const struct target *target)
{
	return !target->status.has_memory && !process_is_of_kernel(&target->process);
}

// --- the snapshot -------------------------------------------------------------------------

static uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// When the process was started, since 1970.
static uint64_t start_time_ns(const struct process *process)
{
	uint64_t now = clock_now_ns(CLOCK_REALTIME), boot = now - clock_now_ns(CLOCK_BOOTTIME);
	uint64_t ticks = process_start_ticks(process);

	if (ticks == 0)
		return now;
	return boot + ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct tended {
	struct process *process;
	struct frozen_copy *copy;
};

static void tend(void *context)
{
	struct tended *tended = context;

	frozen_copy_tend(tended->process, tended->copy);
}

static bool is_own_thread(const struct process *process, uint32_t tid)
{
	char name[32];

	process_thread_comm(process, (pid_t)tid, name, sizeof(name));
	return strncmp(name, "heapsnap-", strlen("heapsnap-")) == 0;
}

// Those that have ended have no stack; and if the library is in the process, it may have threads of its own.
static void drop_other_threads(const struct process *process, struct frozen_copy *copy)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < copy->thread_count; i++) {
		if (copy->threads[i].state != HEAPSNAP_THREAD_EMPTY &&
		    !is_own_thread(process, copy->threads[i].tid))
			copy->threads[kept++] = copy->threads[i];
	}
	copy->thread_count = kept;
}

// The target may run another program by now.
static void name_program(struct target *target, const struct frozen_copy *copy, char *name,
			 size_t size)
{
	CLEANUP(process_close) struct process frozen = { 0 };
	struct heap_error *error = process_open(copy->pid, &frozen);

	if (error)
		snprintf(name, size, "%s", target_name(target));
	else
		process_name(&frozen, name, size);
	heap_error_destroy(error);
}

HEAP_MUST_CHECK
static struct heap_error *write_copy(struct target *target, const struct foreign_options *options,
				     struct frozen_copy *copy)
{
	static struct heapsnap_process process;
	static struct heapsnap_shared shared;
	struct tended tended = { &target->process, copy };
	char pid[16];

	HEAP_TRY(foreign_describe(options, &process));
	process.origin = HEAPSNAP_ORIGIN_ATTACHED;
	process.pid = (uint32_t)target->process.pid;
	process.time_ns = clock_now_ns(CLOCK_REALTIME);
	process.clock_ns = clock_now_ns(CLOCK_MONOTONIC);
	process.start_time_ns = start_time_ns(&target->process);
	name_program(target, copy, process.program, sizeof(process.program));
	drop_other_threads(&target->process, copy);
	process.thread_count = copy->thread_count;
	shared.stop_ns = copy->stop_ns;
	shared.clone_ns = copy->clone_ns;
	snprintf(pid, sizeof(pid), "%d", (int)copy->pid);
	return foreign_write("--attached", pid, options, &process, &shared, copy->threads, tend,
			     &tended);
}

// Job control and an impatient user must not stop this process while it holds threads.
static void block_signals(sigset_t *before)
{
	sigset_t signals;

	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, before);
}

struct outcome {
	bool is_lost;   // as frozen_copy has it; or it is ending, or seems to
	bool is_copied; // what failed then was the writer
};

HEAP_MUST_CHECK
static struct heap_error *take_once(struct target *target, const struct foreign_options *options,
				    uint64_t hold_ns, struct outcome *outcome)
{
	struct frozen_copy copy = { .left = target->left };
	struct interrupts interrupts;
	sigset_t before;
	struct heap_error *error = check(target);

	*outcome = (struct outcome){ .is_lost = error && is_ending(target) };
	if (error)
		return error;
	if (frozen_group_holds(&target->process))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%d cannot be copied: it is in a cgroup that is frozen (a "
					 "paused container)",
					 (int)target->process.pid);
	// Until the process has waited for a copy that is a child of its own.
	interrupts_hold(&interrupts);
	block_signals(&before);
	// Who is stopped should not wait for this program's turn among many.
	priority_raise();
	error = frozen_copy_create(&target->process, &target->status, hold_ns, &copy);
	priority_restore(); // writing has time
	sigprocmask(SIG_SETMASK, &before, NULL);
	outcome->is_lost = copy.is_lost;
	target->left = copy.left;
	outcome->is_copied = !error;
	if (!error)
		error = write_copy(target, options, &copy);
	block_signals(&before);
	frozen_copy_destroy(&target->process, &copy);
	sigprocmask(SIG_SETMASK, &before, NULL);
	interrupts_release(&interrupts);
	return error;
}

// Looks again at one that has ended: while a thread of it begins another program, it may seem so; see is_ending().
HEAP_MUST_CHECK
static struct heap_error *open_target(pid_t pid, struct process *process)
{
	struct heap_error *error = process_open(pid, process);

	for (int look = 1; error && look < OPEN_LOOKS && kill(pid, 0) == 0; look++) {
		heap_error_destroy(error);
		usleep(LOST_LOOK_US);
		error = process_open(pid, process);
	}
	return error;
}

// @return false if it has ended
static bool reopen(struct target *target)
{
	struct process again;
	// The pid of a process that has not been waited for is no other one's.
	struct heap_error *error = open_target(target->process.pid, &again);

	if (error) {
		heap_error_destroy(error);
		return false;
	}
	process_close(&target->process);
	target->process = again;
	return true;
}

// No zombie of ours may stay with a process that began another program meanwhile.
static void reap_left(struct target *target)
{
	uint64_t until = heap_monotonic_ns() + REAP_MS * UINT64_C(1000000);
	sigset_t before;

	block_signals(&before);
	while (target->left > 0 && heap_monotonic_ns() < until && reopen(target)) {
		frozen_copy_reap(&target->process, &target->left);
		if (target->left > 0)
			usleep(LOST_LOOK_US);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void target_close(struct target *target)
{
	if (target->left > 0)
		reap_left(target);
	process_close(&target->process);
}

// Waits until the process has ended or runs another program, if its threads were lost by that.
// @return true if it runs another program
static bool await_program(struct target *target, bool is_lost)
{
	for (int look = 0;; look++) {
		uint64_t program;

		// The descriptors may be those of a thread that has ended.
		if (!reopen(target))
			return false;
		program = process_program(&target->process);
		if (program != 0 && program != target->program)
			return true;
		// For a moment there is none, while the threads are being ended.
		if (!is_lost && (program != 0 || target->program == 0))
			return false;
		if (look == LOST_LOOKS)
			return false;
		usleep(LOST_LOOK_US);
	}
}

struct heap_error *attach_take(pid_t pid, const struct foreign_options *options, uint64_t hold_ns)
{
	CLEANUP(target_close) struct target target = { .status = { 0 } };
	struct heap_error *error;
	struct outcome outcome;

	HEAP_TRY(open_target(pid, &target.process));
	for (int attempt = 1;; attempt++) {
		target.program = process_program(&target.process);
		target.name[0] = '\0';
		error = take_once(&target, options, hold_ns, &outcome);
		if (!error)
			return NULL;
		if (!await_program(&target, outcome.is_lost))
			break;
		if (attempt == MAX_ATTEMPTS && outcome.is_copied)
			return error;
		heap_error_destroy(error);
		if (attempt == MAX_ATTEMPTS)
			return heap_error_create(
				HEAP_ERROR_ABSENT,
				"%d begins one program after the other: %d attempts to attach to "
				"it came between",
				(int)pid, attempt);
	}
	if (outcome.is_copied || !process_has_ended(&target.process))
		return error;
	heap_error_destroy(error);
	return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", (int)pid);
}

struct heap_error *attach_check(pid_t pid)
{
	struct target target = { .status = { 0 } };
	struct heap_error *error = process_open(pid, &target.process);

	if (!error)
		error = check(&target);
	process_close(&target.process);
	return error;
}

int attach_read_arguments(const char *command, char **words, struct foreign_options *options,
			  pid_t *pid)
{
	int status = foreign_read_options(command, words, options);

	if (status != STATUS_DONE)
		return status;
	if (!*words)
		return misused("%s: which process?", command);
	*pid = process_parse_pid(*words);
	if (*pid == 0)
		return misused("%s: %s is no pid", command, *words);
	if (words[1])
		return misused("%s: one process at a time, not %s, too", command, words[1]);
	return STATUS_DONE;
}

int attach(char **words)
{
	struct foreign_options options;
	pid_t pid;
	int status = attach_read_arguments("attach", words, &options, &pid);

	if (status != STATUS_DONE)
		return status;

	struct heap_error *error = attach_take(pid, &options, 0);

	return error ? fail(error) : STATUS_DONE;
}
