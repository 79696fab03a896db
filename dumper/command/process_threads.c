// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/process_threads.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum {
	STOP_MS = 50,        // for all threads; what runs stops within microseconds
	HELD_STOP_MS = 2000, // for all threads of a process that is held anyway
	MANY_THREADS = 256,  // of more, those asleep are left alone
	MAX_ROUNDS = 100,    // of looking for new threads
};

struct heap_error *process_threads_lost(const struct process *process)
{
	return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended, or begun another program",
				 (int)process->pid);
}

// --- finding them ----------------------------------------------------------------------

// @param guess  where it probably is: the kernel lists threads by age
static bool is_known(const struct process_threads *threads, pid_t tid, size_t guess)
{
	if (guess < threads->count && threads->list[guess].tid == tid)
		return true;
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->list[i].tid == tid)
			return true;
	}
	return false;
}

struct heap_error *process_threads_find(const struct process *process,
					struct process_threads *threads, size_t *added)
{
	int descriptor = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct heap_error *error = NULL;
	const size_t before = threads->count;
	size_t listed = 0;
	struct dirent *entry;

	*added = 0;
	if (!tasks) {
		cleanup_close(&descriptor);
		return process_threads_lost(process);
	}
	while (!error && (entry = readdir(tasks))) {
		pid_t tid = process_parse_pid(entry->d_name);

		if (tid == 0 || (before > 0 && is_known(threads, tid, listed++)))
			continue;
		error = heap_reserve(threads->list, threads->capacity, threads->count + 1);
		if (!error)
			threads->list[threads->count++] = (struct tracee){ .tid = tid };
	}
	closedir(tasks);
	*added = threads->count - before;
	return error;
}

void process_threads_deinit(struct process_threads *threads)
{
	free(threads->list);
	*threads = (struct process_threads){ 0 };
}

void process_threads_look(const struct process *process, struct process_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (threads->list[i].state == TRACEE_LEFT_ALONE)
			tracee_look(process, &threads->list[i]);
	}
}

// --- seizing ------------------------------------------------------------------------

// PTRACE_SEIZE waits for an exec() of another thread, which waits until all threads that it has
// ended are waited for, those that are traced by the tracer: ptrace(2), BUGS. So a handler does that
// while threads are seized.
static const struct process_threads *seizing;

static void reap_dead(int signal)
{
	int before = errno;

	(void)signal;
	for (size_t i = 0; i < seizing->count; i++) {
		pid_t tid = seizing->list[i].tid;
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

static void begin_seizing(const struct process_threads *threads, struct seizing *before)
{
	// Stops send no signal.
	const struct sigaction action = { .sa_handler = reap_dead, .sa_flags = SA_NOCLDSTOP };
	sigset_t children;

	seizing = threads;
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

bool process_threads_seize(const struct process_threads *threads, struct tracee *thread)
{
	struct seizing before;
	bool is_seized;
	int reason;

	begin_seizing(threads, &before);
	is_seized = tracee_seize(thread);
	reason = errno;
	end_seizing(&before);
	errno = reason;
	return is_seized;
}

// --- the stop ----------------------------------------------------------------------------

static bool may_stop(const struct process_threads *threads, const struct tracee *tracee, bool hold)
{
	switch (tracee->call) {
	case TRACEE_CALL_NONE:
		return true;
	case TRACEE_CALL_RESTARTS:
	case TRACEE_CALL_MENDED:
		return hold || threads->count <= MANY_THREADS;
	default:
		return false;
	}
}

static void ask(const struct process *process, const struct process_threads *threads,
		struct tracee *tracee, bool hold)
{
	if (tracee->state != TRACEE_LEFT_ALONE)
		return;
	// Most sleep as they did before the stop, which is to be short.
	if (!tracee->is_seen || tracee_has_moved(process, tracee))
		tracee_look(process, tracee);
	if (tracee->state == TRACEE_GONE)
		return;
	if (may_stop(threads, tracee, hold) && tracee_seize(tracee))
		tracee_interrupt(tracee);
	else
		tracee->state = TRACEE_LEFT_ALONE;
}

static void ask_from(const struct process *process, struct process_threads *threads, size_t first,
		     bool hold)
{
	struct seizing before;

	begin_seizing(threads, &before);
	for (size_t i = first; i < threads->count; i++)
		ask(process, threads, &threads->list[i], hold);
	end_seizing(&before);
}

static void await_from(const struct process *process, struct process_threads *threads, size_t first,
		       uint64_t until_ns)
{
	for (size_t i = first; i < threads->count; i++) {
		uint64_t now = heap_monotonic_ns();

		if (threads->list[i].state == TRACEE_SEIZED)
			tracee_await(process, &threads->list[i],
				     now < until_ns ? (int)((until_ns - now) / 1000000) : 0);
	}
}

// Threads that are being created are found when their creators have stopped.
struct heap_error *process_threads_stop(const struct process *process,
					struct process_threads *threads, bool hold)
{
	const int limit_ms = hold ? HELD_STOP_MS : STOP_MS;
	uint64_t until = 0;
	size_t first = 0, added = threads->count;

	for (int round = 0; added > 0 && round < MAX_ROUNDS; round++) {
		ask_from(process, threads, first, hold);
		// Where many threads run, this process has to wait for a processor until they are asked.
		if (round == 0)
			until = heap_monotonic_ns() + (uint64_t)limit_ms * 1000000;
		await_from(process, threads, first, until);
		first = threads->count;
		HEAP_TRY(process_threads_find(process, threads, &added));
	}
	return NULL;
}

struct heap_error *process_threads_hold(const struct process *process,
					struct process_threads *threads)
{
	size_t added;
	struct heap_error *error = process_threads_find(process, threads, &added);

	ask_from(process, threads, 0, true);
	for (size_t i = 0; i < threads->count; i++) {
		struct tracee *tracee = &threads->list[i];

		if (tracee->state == TRACEE_SEIZED || tracee->state == TRACEE_STUCK)
			tracee_await(process, tracee, 0);
	}
	return error;
}

// --- letting them go --------------------------------------------------------------------

void process_threads_release(struct process_threads *threads, bool running)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct tracee *tracee = &threads->list[i];

		if (tracee->state != TRACEE_STOPPED ||
		    (tracee->call == TRACEE_CALL_NONE) != running)
			continue;
		tracee_detach(tracee);
	}
}

void process_threads_release_all(struct process_threads *threads)
{
	process_threads_release(threads, true);
	process_threads_release(threads, false);
}

void process_threads_release_heir(const struct process *process)
{
	struct tracee heir = { .tid = process->pid };

	if (!tracee_interrupt(&heir))
		return;
	tracee_await(process, &heir, PROCESS_THREADS_PATIENCE_MS);
	if (heir.state == TRACEE_STOPPED)
		tracee_detach(&heir);
}

static bool is_stuck(const struct tracee *tracee)
{
	return tracee->state == TRACEE_STUCK || tracee->state == TRACEE_SEIZED;
}

bool process_threads_are_stuck(const struct process_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		if (is_stuck(&threads->list[i]))
			return true;
	}
	return false;
}

// As process_threads_release_heir(), without waiting: the main thread is let go when it stops.
static void note_heir(const struct process *process, struct process_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct tracee *tracee = &threads->list[i];

		if (tracee->tid == process->pid && tracee->state == TRACEE_GONE &&
		    tracee_interrupt(tracee))
			tracee->state = TRACEE_STUCK;
	}
}

void process_threads_release_late(const struct process *process, struct process_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct tracee *tracee = &threads->list[i];

		if (!is_stuck(tracee))
			continue;
		tracee_await(process, tracee, 0);
		if (tracee->state == TRACEE_STOPPED)
			tracee_detach(tracee);
		else if (tracee->state == TRACEE_GONE)
			note_heir(process, threads);
	}
}
