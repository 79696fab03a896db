// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/freeze.h"

#include "dumper/alloc/epochs.h"
#include "dumper/capture/frozen.h"
#include "dumper/capture/gate.h"
#include "dumper/capture/hold.h"
#include "dumper/base/process.h"
#include "dumper/capture/room.h"
#include "dumper/base/report.h"
#include "dumper/base/settings.h"
#include "dumper/base/system.h"
#include "dumper/base/user_registers.h"
#include "dumper/capture/threads.h"
#include "dumper/capture/timer.h"
#include "dumper/trace/trace.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
	MAX_PASSES = 1000,
	CALM_PASSES = 3,   // without a thread that runs, after which some may wake and sleep again
	FEW = 256,         // so many threads may be examined while others stand
	MAX_BUSY = 64,     // threads that run, beside which no sleepers are held
	BUSY = 8,          // threads that run, from which on they compete for processors
	SILENT_LOOKS = 32, // at threads that have not answered, each time
	MAX_WOKEN = 128,   // sleeping threads that are woken to learn their registers
};

static const uint64_t LOOK_AFTER_NS = 2000000; // at threads that have not answered by then
// The look has used up the processor time that is this thread's among many. After a rest the
// kernel gives it a whole time slice again, which is enough to ask thousands.
static const uint64_t REST_NS = 1000000;
static const uint64_t HOLD_LOOK_NS = 2000000;  // at threads that wake while all are held
static const uint64_t RETRY_AFTER_NS = 500000; // where no signal could be queued

// Registers that hold a system call's arguments: syscall(2).
static const uint8_t argument_registers[HEAPSNAP_TASK_ARGUMENTS] = {
#if defined(__x86_64__)
	5, 4, 1, 10, 8, 9,
#else
	0, 1, 2, 3, 4, 5,
#endif
};

static uint32_t known_tid_count; // in the set of them

static struct {
	struct heapsnap_tasks tasks;
	uint32_t self;
	int signal;
	uint64_t deadline_ns;
	uint32_t silent_at; // slot at which the next look at silent threads begins
} stop;

static struct heapsnap_thread *threads(void)
{
	return (struct heapsnap_thread *)heapsnap_process.threads;
}

static uint32_t state_of(uint32_t slot)
{
	return __atomic_load_n(&threads()[slot].state, __ATOMIC_ACQUIRE);
}

// --- the table -----------------------------------------------------------------

// @return false: it is in the set already
static bool add_tid(uint32_t tid)
{
	uint32_t slots = heapsnap_room->capacity * HEAPSNAP_TID_SLOTS;
	uint32_t at = tid * UINT32_C(0x9e3779b1) % slots;

	for (; heapsnap_room->known_tids[at]; at = (at + 1) % slots) {
		if (heapsnap_room->known_tids[at] == tid)
			return false;
	}
	if (known_tid_count == slots / 2)
		return false;
	heapsnap_room->known_tids[at] = tid;
	known_tid_count++;
	return true;
}

void heapsnap_freeze_note_caller(const heapsnap_context *context)
{
	struct heapsnap_thread *thread = &threads()[0];

	memset(thread, 0, sizeof(*thread));
	thread->tid = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	thread->state = HEAPSNAP_THREAD_STOPPED;
	heapsnap_gate_note(thread, context);
	heapsnap_room->time_before[0] = 0;
	heapsnap_process.thread_count = 1;
}

void heapsnap_freeze_note_nobody(void)
{
	heapsnap_process.thread_count = 0;
}

static void note_register(struct heapsnap_thread *thread, uint32_t number, uint64_t value)
{
	thread->registers[number] = value;
	thread->known |= UINT64_C(1) << number;
}

// Notes where it sleeps, if it does, and what it has given to the kernel.
static void leave_alone(uint32_t slot, const struct heapsnap_task *task, uint64_t time)
{
	struct heapsnap_thread *thread = &threads()[slot];

	thread->known = 0;
	note_register(thread, HEAPSNAP_USER_SP, task->sp);
	note_register(thread, HEAPSNAP_USER_PC, task->pc);
	for (int i = 0; task->has_arguments && i < HEAPSNAP_TASK_ARGUMENTS; i++)
		note_register(thread, argument_registers[i], task->argument[i]);
	thread->state = task->sleeps ? HEAPSNAP_THREAD_SLEEPING : HEAPSNAP_THREAD_ASKED;
	heapsnap_room->time_before[slot] = time;
	heapsnap_room->left_call[slot] = (uint8_t)task->call;
}

// Looks where a thread is: one that sleeps is left alone. @return whether it runs
static bool look_at(uint32_t slot)
{
	struct heapsnap_thread *thread = &threads()[slot];
	uint64_t time = heapsnap_task_time(thread->tid);
	struct heapsnap_task task = { .gone = true };

	if (time)
		heapsnap_task_look(&stop.tasks, thread->tid, &task);
	heapsnap_room->time_before[slot] = 0;
	thread->state = task.gone ? HEAPSNAP_THREAD_EMPTY : HEAPSNAP_THREAD_ASKED;
	if (task.gone)
		return false;
	if (task.sleeps)
		leave_alone(slot, &task, time);
	return !task.sleeps;
}

static bool is_own_thread(uint32_t tid)
{
	return tid == stop.self || tid == heapsnap_timer_thread() || tid == heapsnap_trace_thread();
}

// @return a slot for one more thread: behind the others, or that of one that has ended; or the capacity
static uint32_t free_slot(void)
{
	uint32_t capacity = heapsnap_room->capacity;

	if (heapsnap_process.thread_count < capacity)
		return heapsnap_process.thread_count++;
	for (uint32_t i = 0; i < capacity; i++) {
		if (state_of(i) == HEAPSNAP_THREAD_EMPTY && !heapsnap_hold_has(i) &&
		    heapsnap_gate_forget(i))
			return i;
	}
	return capacity;
}

// Gives each thread a slot that has none, and looks at it. @return how many those were
static uint32_t find_threads(void)
{
	uint32_t found = 0, tid;

	heapsnap_tasks_rewind(&stop.tasks);
	while ((tid = heapsnap_tasks_next(&stop.tasks)) != 0) {
		uint32_t slot;

		if (is_own_thread(tid))
			continue;
		if (!add_tid(tid))
			continue;
		slot = free_slot();
		if (slot == heapsnap_room->capacity) {
			heapsnap_process.missed_threads++;
			continue;
		}
		memset(&threads()[slot], 0, sizeof(threads()[slot]));
		threads()[slot].tid = tid;
		look_at(slot);
		found++;
	}
	return found;
}

// True if the table has all threads. To count them is cheap, but one that has ended and is
// still there hides one that is new: then they are listed.
static bool has_all_threads(void)
{
	uint32_t known = 1 + (heapsnap_timer_thread() != 0) + (heapsnap_trace_thread() != 0);

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++)
		known += state_of(i) != HEAPSNAP_THREAD_EMPTY;
	return known == heapsnap_tasks_count(&stop.tasks) || find_threads() == 0;
}

static bool runs_on(uint32_t slot)
{
	return state_of(slot) == HEAPSNAP_THREAD_ASKED && heapsnap_room->time_before[slot] == 0 &&
	       heapsnap_gate_may_ask(slot) && !heapsnap_hold_has(slot);
}

static uint32_t count_running(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++)
		count += runs_on(i);
	return count;
}

// --- asking and waiting ----------------------------------------------------------

// Signals the threads that run. A few are examined once more: one that has gone to sleep since
// might get EINTR. @return whether there were any
static bool ask_running(void)
{
	uint32_t running = count_running();
	bool few = running <= FEW;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (!runs_on(i) || (few && !look_at(i)))
			continue;
		heapsnap_gate_ask(i);
		if (few)
			heapsnap_gate_send();
	}
	heapsnap_gate_send();
	return running > 0;
}

// Looks again at some of the threads that have not answered: they may have ended, or have
// the signal blocked. A thread without the signal is on its way: the handler blocks all.
static void look_at_silent(void)
{
	uint32_t count = heapsnap_process.thread_count, looks = 0;

	for (uint32_t i = 0; i < count && looks < SILENT_LOOKS; i++) {
		uint32_t slot = stop.silent_at++ % count;
		struct heapsnap_thread *thread = &threads()[slot];
		struct heapsnap_task_signal signal;

		if (!heapsnap_gate_is_expected(slot))
			continue;
		looks++;
		heapsnap_task_look_signal(&stop.tasks, thread->tid, stop.signal, &signal);
		if (!signal.gone && !(signal.pending && signal.blocked))
			continue;
		heapsnap_gate_excuse(slot);
		if (signal.gone)
			thread->state = HEAPSNAP_THREAD_EMPTY;
		else
			look_at(slot);
	}
}

static void wait_for_answers(uint64_t until_ns)
{
	uint64_t now = heapsnap_monotonic_ns(), look = now + LOOK_AFTER_NS;

	while (!heapsnap_gate_wait(LOOK_AFTER_NS) && (now = heapsnap_monotonic_ns()) < until_ns) {
		if (now < look)
			continue;
		look_at_silent();
		look = heapsnap_monotonic_ns() + LOOK_AFTER_NS;
	}
}

static bool is_left_asleep(uint32_t slot)
{
	return heapsnap_room->time_before[slot] != 0 && !heapsnap_hold_has(slot);
}

// Looks at those that were asleep, and have run since. @return how many those are
static uint32_t look_at_awakened(void)
{
	uint32_t awakened = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (!is_left_asleep(i) ||
		    heapsnap_task_time(threads()[i].tid) == heapsnap_room->time_before[i])
			continue;
		look_at(i);
		awakened++;
	}
	return awakened;
}

// Looks for threads that were left asleep and have been woken since, though no processor was free for
// them: their time has not changed yet. Among more than a few it would take too long.
// @return how many those are
static uint32_t look_at_runnable(void)
{
	uint32_t asleep = 0, runnable = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++)
		asleep += is_left_asleep(i);
	for (uint32_t i = 0; i < heapsnap_process.thread_count && asleep <= FEW; i++)
		runnable += is_left_asleep(i) && look_at(i);
	return runnable;
}

// A thread that never answered, but sleeps now: where it does is half an answer.
static void take_silent(void)
{
	uint32_t looks = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count && looks < FEW; i++) {
		if (state_of(i) == HEAPSNAP_THREAD_ASKED && heapsnap_room->time_before[i] == 0) {
			look_at(i);
			looks++;
		}
	}
}

// --- sleepers' registers -----------------------------------------------------------

static bool can_be_woken(uint32_t slot)
{
	struct heapsnap_task_signal signal;

	if (heapsnap_room->time_before[slot] == 0 ||
	    heapsnap_room->left_call[slot] != HEAPSNAP_CALL_RESTARTED || heapsnap_hold_has(slot))
		return false;
	heapsnap_task_look_signal(&stop.tasks, threads()[slot].tid, stop.signal, &signal);
	return !signal.gone && !signal.blocked;
}

// Holds threads without a signal; the others still run. Among many that run it would take
// too long until the sleepers have got their turn to stop. @return false: that is refused
static bool hold_sleepers(void)
{
	static uint32_t slots[HEAPSNAP_THREADS];
	uint32_t count = 0;

	if (heapsnap_settings.registers_ns == 0 || count_running() > MAX_BUSY)
		return true;
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (heapsnap_room->time_before[i] != 0 &&
		    heapsnap_room->left_call[i] != HEAPSNAP_CALL_FRAGILE)
			slots[count++] = i;
	}
	return count == 0 ||
	       heapsnap_hold(&stop.tasks, slots, count, heapsnap_settings.registers_ns);
}

// Has some of the threads asked whose call goes on as if nothing had happened; so their
// registers get known.
static void choose_sleepers(void)
{
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count && chosen < MAX_WOKEN; i++) {
		if (!can_be_woken(i) || !heapsnap_gate_ask(i))
			continue;
		heapsnap_room->time_before[i] = 0;
		threads()[i].state = HEAPSNAP_THREAD_ASKED;
		chosen++;
	}
}

// --- freezing ----------------------------------------------------------------

static bool begin_stop(void)
{
	stop.self = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	stop.signal = heapsnap_gate_install();
	if (!stop.signal || heapsnap_tasks_open(&stop.tasks) != 0)
		return false;
	stop.silent_at = 0;
	heapsnap_gate_shut();
	memset(heapsnap_room->known_tids, 0,
	       heapsnap_room->capacity * HEAPSNAP_TID_SLOTS * sizeof(*heapsnap_room->known_tids));
	known_tid_count = 0;
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++)
		add_tid(threads()[i].tid);
	return true;
}

// @return when the first thread was stopped
static uint64_t stop_others(void)
{
	uint32_t never = 0, calm = 0;
	bool asked = false; // since the last look at those that were left asleep
	uint64_t start;

	// The long look is while all still run.
	find_threads();
	if (!hold_sleepers())
		choose_sleepers();
	if (count_running() > BUSY)
		heapsnap_futex_wait(&never, 0, REST_NS);
	heapsnap_tasks_calls = heapsnap_gate_calls = 0;
	start = heapsnap_monotonic_ns();
	stop.deadline_ns = start + heapsnap_settings.stop_ns;
	for (int pass = 0; pass < MAX_PASSES && heapsnap_monotonic_ns() < stop.deadline_ns;
	     pass++) {
		asked |= ask_running();
		wait_for_answers(stop.deadline_ns);

		// A thread that ran till now may have started or woken another. When there
		// is none of these, all stand. Some may always be waking: those are marked.
		bool awakened = look_at_awakened() > 0;
		bool complete = has_all_threads();

		if (complete && count_running() == 0 && (!awakened || ++calm > CALM_PASSES)) {
			if (!asked || look_at_runnable() == 0)
				break;
			asked = false;
		}
		if (heapsnap_gate_was_refused())
			heapsnap_futex_wait(&never, 0, RETRY_AFTER_NS);
	}
	take_silent();
	return start;
}

// Registers of a thread that has run since are stale.
static void mark_moved(struct heapsnap_shared *shared)
{
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (heapsnap_room->time_before[i] != 0 &&
		    heapsnap_task_time(threads()[i].tid) != heapsnap_room->time_before[i])
			shared->moved[i / 8] |= (uint8_t)(1 << i % 8);
	}
}

// One line, once: those of all snapshots of a process would be alike. Threads that block the
// signal are not worth it; the snapshot tells of them.
static void report_missed(void)
{
	static bool reported;
	uint32_t missed = heapsnap_process.missed_threads;
	char text[128], *at = text;
	const char *end = text + sizeof(text);

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++)
		missed += state_of(i) == HEAPSNAP_THREAD_ASKED &&
			  (heapsnap_gate_is_expected(i) || heapsnap_gate_may_ask(i));
	if (missed == 0 || reported)
		return;
	reported = true;
	at = heapsnap_format_number(at, end, missed, 10);
	at = heapsnap_format_text(at, end, " of ");
	at = heapsnap_format_number(
		at, end, heapsnap_process.thread_count + heapsnap_process.missed_threads, 10);
	heapsnap_format_text(at, end, " threads did not stop in time (HEAPSNAP_STOP)");
	heapsnap_report(NULL, text, "; the snapshot lacks their stacks");
}

static void prepare_answer(struct heapsnap_shared *shared)
{
	static const char ended[] = "the frozen copy was ended";

	memset(shared, 0, sizeof(*shared));
	shared->status = -EIO;
	memcpy(shared->message, ended, sizeof(ended));
}

static bool has_ended(long pid)
{
	siginfo_t info;
	long result;

	info.si_pid = 0;
	result = HEAPSNAP_SYSTEM_5(SYS_waitid, P_PID, pid, &info,
				   WEXITED | WNOHANG | WNOWAIT | __WCLONE, NULL);
	return result != 0 || info.si_pid != 0;
}

// Holds the threads until the copy has ended; those that were left asleep, as soon as they wake.
static void hold_until_written(long pid, uint64_t hold_ns)
{
	uint64_t until = heapsnap_monotonic_ns() + hold_ns;
	uint32_t never = 0;

	while (!has_ended(pid) && heapsnap_monotonic_ns() < until) {
		heapsnap_futex_wait(&never, 0, HOLD_LOOK_NS);
		if (look_at_awakened() + find_threads() > 0)
			ask_running();
	}
}

static void note_pause(struct heapsnap_shared *shared, uint64_t stop_ns)
{
	shared->stop_ns = stop_ns;
	shared->stop_calls = heapsnap_tasks_calls + heapsnap_gate_calls;
}

static void announce_ready(struct heapsnap_shared *shared, uint64_t stop_ns)
{
	note_pause(shared, stop_ns);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	HEAPSNAP_SYSTEM_3(SYS_futex, &shared->ready, FUTEX_WAKE, 1);
}

long heapsnap_freeze(uint64_t hold_ns)
{
	struct heapsnap_shared *shared = (struct heapsnap_shared *)heapsnap_process.shared;
	bool stops = begin_stop();
	uint64_t start, before, end;

	prepare_answer(shared);
	heapsnap_process.missed_threads = stops ? 0 : 1;
	start = stops ? stop_others() : heapsnap_monotonic_ns();
	heapsnap_process.time_ns = heapsnap_realtime_ns();
	heapsnap_process.clock_ns = heapsnap_monotonic_ns();
	heapsnap_begin_epoch(heapsnap_process.time_ns);

	// No exit signal: the program must not see a child end. Not libc's fork(): it takes
	// locks that a stopped thread may hold.
	before = heapsnap_monotonic_ns();

	long pid = HEAPSNAP_SYSTEM_5(SYS_clone, 0, 0, 0, 0, 0);

	if (pid == 0)
		heapsnap_frozen(stop.self);
	end = heapsnap_monotonic_ns();
	shared->clone_ns = end - before;
	if (stops)
		mark_moved(shared);
	// Among threads that have just been let go, this one may wait for a processor until the snapshot is written.
	note_pause(shared, end - start);
	if (stops && pid > 0 && hold_ns > 0) {
		announce_ready(shared, end - start);
		hold_until_written(pid, hold_ns);
	}
	if (stops) {
		end = heapsnap_gate_open();
		heapsnap_hold_release();
	}
	if (!shared->ready)
		announce_ready(shared, end - start);
	if (stops) {
		report_missed();
		heapsnap_hold_finish();
		heapsnap_tasks_close(&stop.tasks);
	}
	return pid;
}
