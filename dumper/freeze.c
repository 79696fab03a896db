// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/freeze.h"

#include "dumper/frozen.h"
#include "dumper/process.h"
#include "dumper/settings.h"
#include "dumper/signals.h"
#include "dumper/system.h"
#include "dumper/tasks.h"
#include "dumper/timer.h"
#include "dumper/trace.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

enum {
	MAX_PASSES = 64,
	HIGHEST_SIGNAL = 63, // one below the last: that one is popular
	LOWEST_SIGNAL = 40,
};

static const uint64_t LOOK_AFTER_NS = 2000000; // at a thread that has not answered by then
// On all that have not. Long, because on a loaded machine a thread that wants to run may
// have to wait that long for a processor; the others stand meanwhile, but all are right.
static const uint64_t GIVE_UP_AFTER_NS = 1000000000;

// What the handler of the stopping signal shares with the thread that stops the others.
static struct {
	uint32_t generation; // of the stop that is under way; a late signal of another is void
	uint32_t gate;       // futex: threads wait while it is the generation
	uint32_t answered;   // futex: threads that wait
	uint32_t asked;
	int signal;
	uint64_t deadline_ns;
} stop;

// Of the threads that are left alone: heapsnap_task_runs() before they were looked at.
// 0: the thread is to be asked, or has been.
static uint64_t runs_before[HEAPSNAP_THREADS];

static struct heapsnap_thread *threads(void)
{
	return (struct heapsnap_thread *)heapsnap_process.threads;
}

// --- in the threads that are stopped -------------------------------------------

// Not by way of the thread's storage: threads that libc did not make may have none.
static uint64_t thread_pointer(void)
{
	uint64_t pointer = 0;
#if defined(__x86_64__)
	enum {
		GET_FS = 0x1003, // ARCH_GET_FS of asm/prctl.h
	};

	HEAPSNAP_SYSTEM_2(SYS_arch_prctl, GET_FS, &pointer);
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

// By DWARF number: System V ABI, AMD64 supplement, figure 3.36; DWARF for the Arm 64-bit
// Architecture, 4.1.
static void note_registers(struct heapsnap_thread *thread, const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		thread->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#else
	for (unsigned i = 0; i < 31; i++)
		thread->registers[i] = context->uc_mcontext.regs[i];
	thread->registers[31] = context->uc_mcontext.sp;
	thread->registers[32] = context->uc_mcontext.pc;
#endif
	thread->thread_pointer = thread_pointer();
}

static void wait_at_gate(int number, siginfo_t *info, void *context)
{
	uint64_t value = (uint64_t)info->si_value.sival_ptr;
	uint32_t generation = (uint32_t)(value >> 32);
	struct heapsnap_thread *thread = &threads()[(uint32_t)value % HEAPSNAP_THREADS];

	if (heapsnap_signals_take_default(number, info) || info->si_code != SI_QUEUE ||
	    generation != __atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) || generation == 0)
		return;
	note_registers(thread, context);
	__atomic_store_n(&thread->state, HEAPSNAP_THREAD_STOPPED, __ATOMIC_RELEASE);
	if (__atomic_add_fetch(&stop.answered, 1, __ATOMIC_ACQ_REL) >=
	    __atomic_load_n(&stop.asked, __ATOMIC_ACQUIRE))
		heapsnap_futex_wake(&stop.answered);
	while (__atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) == generation)
		heapsnap_futex_wait(&stop.gate, generation, 0);
}

void heapsnap_freeze_note_caller(const heapsnap_context *context)
{
	struct heapsnap_thread *thread = &threads()[0];

	memset(thread, 0, sizeof(*thread));
	thread->tid = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	thread->state = HEAPSNAP_THREAD_STOPPED;
	note_registers(thread, context);
	runs_before[0] = 0;
	heapsnap_process.thread_count = 1;
}

void heapsnap_freeze_note_nobody(void)
{
	heapsnap_process.thread_count = 0;
}

// --- looking and asking --------------------------------------------------------

// Installed at each stop: programs reset handlers. Left there: a thread may get the signal
// late, when it has been given up on, and must not die of it.
static int install_handler(void)
{
	for (int number = HIGHEST_SIGNAL; number >= LOWEST_SIGNAL; number--) {
		if (number != heapsnap_settings.signal &&
		    heapsnap_signals_claim(number, wait_at_gate, false))
			return number;
	}
	return 0;
}

// Notes where it sleeps, if it does.
static void leave_alone(uint32_t slot, const struct heapsnap_task *task, uint64_t runs)
{
	struct heapsnap_thread *thread = &threads()[slot];

#if defined(__x86_64__)
	thread->registers[7] = task->sp;
	thread->registers[16] = task->pc;
#else
	thread->registers[31] = task->sp;
	thread->registers[32] = task->pc;
#endif
	thread->state = task->sleeps ? HEAPSNAP_THREAD_SLEEPING : HEAPSNAP_THREAD_ASKED;
	runs_before[slot] = runs | 1;
}

// @return whether the thread can be asked
static bool classify(uint32_t slot)
{
	struct heapsnap_thread *thread = &threads()[slot];
	uint64_t runs = heapsnap_task_runs(thread->tid);
	struct heapsnap_task task;

	heapsnap_task_look(thread->tid, stop.signal, &task);
	runs_before[slot] = 0;
	thread->state = task.gone ? HEAPSNAP_THREAD_EMPTY : HEAPSNAP_THREAD_ASKED;
	if (task.gone)
		return false;
	// One that runs may have the signal blocked because it is on its way out of the handler,
	// after the stop before this one.
	if (task.sleeps && (task.blocked || task.fragile)) {
		leave_alone(slot, &task, runs);
		return false;
	}
	return true;
}

static bool is_known(uint32_t tid, uint32_t hint)
{
	uint32_t count = heapsnap_process.thread_count;

	// The kernel lists threads in the order that the slots have.
	for (uint32_t i = 0; i < count; i++) {
		if (threads()[(hint + i) % count].tid == tid)
			return true;
	}
	return false;
}

// Gives each thread a slot that has none. @return how many those were
static uint32_t find_threads(struct heapsnap_tasks *tasks, uint32_t self)
{
	uint32_t found = 0, hint = 0, tid;

	heapsnap_process.missed_threads = 0;
	heapsnap_tasks_rewind(tasks);
	while ((tid = heapsnap_tasks_next(tasks)) != 0) {
		uint32_t slot = heapsnap_process.thread_count;

		if (tid == self || tid == heapsnap_timer_thread() ||
		    tid == heapsnap_trace_thread() || is_known(tid, hint++))
			continue;
		if (slot == HEAPSNAP_THREADS) {
			heapsnap_process.missed_threads++;
			continue;
		}
		memset(&threads()[slot], 0, sizeof(threads()[slot]));
		threads()[slot].tid = tid;
		classify(slot);
		heapsnap_process.thread_count++;
		found++;
	}
	return found;
}

static void ask(uint32_t slot)
{
	struct heapsnap_thread *thread = &threads()[slot];
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = stop.signal;
	info.si_code = SI_QUEUE;
	info.si_pid = (int)heapsnap_process.pid;
	info.si_value.sival_ptr = (void *)((uint64_t)stop.generation << 32 | slot);
	__atomic_add_fetch(&stop.asked, 1, __ATOMIC_ACQ_REL);

	long result = HEAPSNAP_SYSTEM_4(SYS_rt_tgsigqueueinfo, heapsnap_process.pid, thread->tid,
					stop.signal, &info);

	if (result < 0) {
		__atomic_sub_fetch(&stop.asked, 1, __ATOMIC_ACQ_REL);
		if (result == -ESRCH) // it has ended meanwhile
			thread->state = HEAPSNAP_THREAD_EMPTY;
	}
}

// Asks the threads from a slot on, but for those that are left alone.
static void ask_from(uint32_t slot)
{
	for (; slot < heapsnap_process.thread_count; slot++) {
		if (threads()[slot].state == HEAPSNAP_THREAD_ASKED && runs_before[slot] == 0)
			ask(slot);
	}
}

// --- waiting -----------------------------------------------------------------

// Looks again at the threads that have not answered: they may have ended, begun to sleep
// where they should be left alone, or blocked the signal.
static void look_at_silent(void)
{
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		struct heapsnap_thread *thread = &threads()[i];
		struct heapsnap_task task;
		uint64_t runs;

		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) != HEAPSNAP_THREAD_ASKED ||
		    runs_before[i] != 0)
			continue;
		runs = heapsnap_task_runs(thread->tid);
		heapsnap_task_look(thread->tid, stop.signal, &task);
		// Without the signal it is on its way: the handler has all signals blocked.
		if (!task.gone && !(task.pending && (task.blocked || task.fragile)))
			continue;
		__atomic_sub_fetch(&stop.asked, 1, __ATOMIC_ACQ_REL);
		if (task.gone)
			thread->state = HEAPSNAP_THREAD_EMPTY;
		else
			leave_alone(i, &task, runs);
	}
}

static void wait_for_answers(void)
{
	uint64_t start = heapsnap_monotonic_ns();

	for (;;) {
		uint32_t answered = __atomic_load_n(&stop.answered, __ATOMIC_ACQUIRE);
		uint64_t now = heapsnap_monotonic_ns();

		if (answered >= __atomic_load_n(&stop.asked, __ATOMIC_ACQUIRE) ||
		    now > stop.deadline_ns)
			return;
		if (now - start > LOOK_AFTER_NS) {
			look_at_silent();
			start = now;
			continue;
		}
		heapsnap_futex_wait(&stop.answered, answered, LOOK_AFTER_NS);
	}
}

// Asks those that were asleep, and are no more. @return how many those are
static uint32_t ask_awakened(void)
{
	uint32_t awakened = 0;

	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (runs_before[i] == 0 ||
		    (heapsnap_task_runs(threads()[i].tid) | 1) == runs_before[i])
			continue;
		if (classify(i)) {
			ask(i);
			awakened++;
		}
	}
	return awakened;
}

// A thread that never answered, but sleeps now: where it does is half an answer.
static void take_silent(void)
{
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		struct heapsnap_thread *thread = &threads()[i];

		if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == HEAPSNAP_THREAD_ASKED &&
		    runs_before[i] == 0) {
			uint64_t runs = heapsnap_task_runs(thread->tid);
			struct heapsnap_task task;

			heapsnap_task_look(thread->tid, stop.signal, &task);
			if (task.sleeps)
				leave_alone(i, &task, runs);
		}
	}
}

// --- freezing ----------------------------------------------------------------

static void begin_stop(void)
{
	stop.answered = 0;
	stop.asked = 0;
	if (++stop.generation == 0)
		stop.generation = 1;
	__atomic_store_n(&stop.gate, stop.generation, __ATOMIC_RELEASE);
}

// @return when the first thread was stopped
static uint64_t stop_others(void)
{
	uint32_t self = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	struct heapsnap_tasks tasks;
	uint64_t start;
	uint32_t asked = 0;

	stop.signal = install_handler();
	if (!stop.signal || heapsnap_tasks_open(&tasks) != 0) {
		heapsnap_process.missed_threads = 1;
		return heapsnap_monotonic_ns();
	}
	begin_stop();
	// The long look is while all still run.
	find_threads(&tasks, self);
	start = heapsnap_monotonic_ns();
	stop.deadline_ns = start + GIVE_UP_AFTER_NS;
	for (int pass = 0; pass < MAX_PASSES; pass++) {
		ask_from(asked);
		asked = heapsnap_process.thread_count;
		wait_for_answers();

		// A thread that ran till now may have started or woken another. When there
		// is none of these, all stand.
		uint32_t awakened = ask_awakened();

		if (find_threads(&tasks, self) == 0 && awakened == 0)
			break;
	}
	take_silent();
	heapsnap_tasks_close(&tasks);
	return start;
}

// What was noted of a thread that has run since does not hold.
static void mark_moved(struct heapsnap_shared *shared)
{
	for (uint32_t i = 0; i < heapsnap_process.thread_count; i++) {
		if (runs_before[i] != 0 &&
		    (heapsnap_task_runs(threads()[i].tid) | 1) != runs_before[i])
			shared->moved[i / 8] |= (uint8_t)(1 << i % 8);
	}
}

static void release_others(void)
{
	__atomic_store_n(&stop.gate, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&stop.gate);
}

static void prepare_answer(struct heapsnap_shared *shared)
{
	static const char ended[] = "the frozen copy was ended";

	memset(shared, 0, sizeof(*shared));
	shared->status = -EIO;
	memcpy(shared->message, ended, sizeof(ended));
}

long heapsnap_freeze(void)
{
	struct heapsnap_shared *shared = (struct heapsnap_shared *)heapsnap_process.shared;
	uint64_t start, before, after;

	prepare_answer(shared);
	start = stop_others();
	heapsnap_process.time_ns = heapsnap_realtime_ns();
	heapsnap_process.clock_ns = heapsnap_monotonic_ns();
	heapsnap_begin_epoch(heapsnap_process.time_ns);

	// No exit signal: the program must not see a child end. Not libc's fork(): it takes
	// locks that a stopped thread may hold.
	before = heapsnap_monotonic_ns();

	uint32_t self = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	long pid = HEAPSNAP_SYSTEM_5(SYS_clone, 0, 0, 0, 0, 0);

	if (pid == 0)
		heapsnap_frozen(self);
	after = heapsnap_monotonic_ns();
	mark_moved(shared);
	release_others();
	shared->clone_ns = after - before;
	shared->stop_ns = heapsnap_monotonic_ns() - start;
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	HEAPSNAP_SYSTEM_3(SYS_futex, &shared->ready, FUTEX_WAKE, 1);
	return pid;
}
