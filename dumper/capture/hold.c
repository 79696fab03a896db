// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/hold.h"

#include "dumper/capture/gate.h"
#include "dumper/base/process.h"
#include "dumper/capture/room.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"
#include "dumper/base/user_registers.h"
#include "dumper/base/waiter.h"

#include <elf.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
	STACK_SIZE = 32 << 10,
	BATCH = 16,     // threads that are interrupted before the first is waited for
	MAX_FAILED = 3, // threads that cannot be traced, before one that can
	MAX_STATUS = 4096,
	RESTART_NO_HAND = 514,      // ERESTARTNOHAND of the kernel's include/linux/errno.h
	SAFE_DUMPS = 5 * 1000 + 16, // Linux 5.16: a core dump ends no process that shares memory
};

static const uint64_t PATIENCE_NS = 100000000;            // for threads to get a processor to stop
static const uint64_t LINGER_NS = UINT64_C(10000000000);  // for threads that stop late
static const uint64_t RELEASE_NS = UINT64_C(60000000000); // something is very wrong by then
static const uint64_t GLANCE_NS = 200000;

enum phase {
	IDLE,
	STARTING, // the holder waits until it may trace
	HOLDING,
	HELD, // it has interrupted all that it could in its time
	RELEASED,
};

enum grip {
	FREE,
	INTERRUPTED, // will stop as soon as it gets a processor
	STOPPED,
};

static struct {
	uint32_t phase; // futex: enum phase
	const struct heapsnap_tasks *tasks;
	const uint32_t *slots;
	uint32_t count;
	uint32_t taken;   // of these
	uint64_t time_ns; // that it may take for them
	long holder;      // its process id
	bool seized;      // one at least
	uint32_t failed;  // attempts
	bool refused;     // this time
	bool deadly;      // a holder was ended: for good
	char *stack;
	uint64_t filters; // of system calls, when the library was loaded
} hold;

static struct heapsnap_thread *thread_at(uint32_t slot)
{
	return (struct heapsnap_thread *)heapsnap_process.threads + slot;
}

static long trace(long request, uint32_t slot, uint64_t address, void *data)
{
	return HEAPSNAP_SYSTEM_4(SYS_ptrace, request, thread_at(slot)->tid, address, data);
}

// --- registers ---------------------------------------------------------------------

typedef struct user_regs_struct heapsnap_user_registers;

#if defined(__x86_64__)

// @return whether the registers have changed
static bool repair_call(heapsnap_user_registers *thread, uint32_t call)
{
	if ((int64_t)thread->rax != -EINTR || thread->orig_rax != call)
		return false;
	thread->rax = (uint64_t)-RESTART_NO_HAND;
	return true;
}

#else

static bool repair_call(heapsnap_user_registers *thread, uint32_t call)
{
	(void)thread;
	(void)call;
	return false;
}

#endif

static long get_registers(uint32_t slot, long set, void *result, size_t size)
{
	struct iovec place = { result, size };

	return trace(PTRACE_GETREGSET, slot, (uint64_t)set, &place);
}

static void note_stopped(uint32_t slot)
{
	struct heapsnap_thread *thread = thread_at(slot);
	heapsnap_user_registers registers;

	if (get_registers(slot, NT_PRSTATUS, &registers, sizeof(registers)) != 0)
		return;
	heapsnap_fill_registers(thread, &registers);
#if defined(__aarch64__)
	get_registers(slot, NT_ARM_TLS, &thread->thread_pointer, sizeof(uint64_t));
#endif
	thread->known = HEAPSNAP_ALL_REGISTERS;
	__atomic_store_n(&thread->state, HEAPSNAP_THREAD_STOPPED, __ATOMIC_RELEASE);
}

// --- in the holder -------------------------------------------------------------------

static enum phase phase_now(void)
{
	return __atomic_load_n(&hold.phase, __ATOMIC_ACQUIRE);
}

// Only if it is @p from: the other side may have gone on.
static void change_phase(enum phase from, enum phase to)
{
	uint32_t expected = from;

	__atomic_compare_exchange_n(&hold.phase, &expected, to, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	heapsnap_futex_wake(&hold.phase);
}

static void set_grip(uint32_t slot, enum grip grip)
{
	__atomic_store_n(&heapsnap_room->grip[slot], grip, __ATOMIC_RELEASE);
}

// The look comes last before the stop: a thread that has awoken since it was chosen may be
// in a call that must not be disturbed.
static void interrupt(uint32_t slot)
{
	struct heapsnap_task task;

	heapsnap_task_look(hold.tasks, thread_at(slot)->tid, &task);
	if (!task.sleeps || task.call == HEAPSNAP_CALL_FRAGILE)
		return;
	set_grip(slot, INTERRUPTED);

	long result = trace(PTRACE_SEIZE, slot, 0, 0);

	if (result == 0) {
		__atomic_store_n(&hold.seized, true, __ATOMIC_RELEASE);
		heapsnap_room->held_call[slot] =
			task.call == HEAPSNAP_CALL_REPAIRED ? task.number : 0;
		heapsnap_room->signal[slot] = 0;
		trace(PTRACE_INTERRUPT, slot, 0, 0);
		return;
	}
	set_grip(slot, FREE);
	// A thread that is ending cannot be traced either.
	hold.failed += result == -EPERM;
	hold.refused = !hold.seized && hold.failed >= MAX_FAILED;
}

// @return whether it has stopped, or is no more
static bool collect(uint32_t slot)
{
	int status;
	long result =
		HEAPSNAP_SYSTEM_4(SYS_wait4, thread_at(slot)->tid, &status, __WALL | WNOHANG, NULL);

	if (result == 0)
		return false;
	if (result < 0 || !WIFSTOPPED(status)) {
		set_grip(slot, FREE);
		return true;
	}
	// A signal of the program's may have come first; it is delivered when the thread goes on.
	heapsnap_room->signal[slot] = status >> 16 ? 0 : (uint8_t)WSTOPSIG(status);
	note_stopped(slot);
	set_grip(slot, STOPPED);
	return true;
}

// @return how many of those taken from @p first on have not stopped yet
static uint32_t collect_from(uint32_t first)
{
	uint32_t left = 0;

	for (uint32_t i = first; i < hold.taken; i++) {
		uint32_t slot = hold.slots[i];

		left += heapsnap_room->grip[slot] == INTERRUPTED && !collect(slot);
	}
	return left;
}

static void take_all(void)
{
	uint64_t until = heapsnap_monotonic_ns() + hold.time_ns;

	while (hold.taken < hold.count && !hold.refused && phase_now() == HOLDING &&
	       heapsnap_monotonic_ns() < until) {
		uint32_t first = hold.taken;

		for (uint32_t i = 0; i < BATCH && hold.taken < hold.count; i++)
			interrupt(hold.slots[hold.taken++]);
		// Beyond that time, too: they are on their way.
		while (collect_from(first) > 0 && heapsnap_monotonic_ns() < until + PATIENCE_NS)
			heapsnap_system(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

static void let_go(uint32_t slot)
{
	heapsnap_user_registers registers;
	struct iovec place = { &registers, sizeof(registers) };

	if (heapsnap_room->held_call[slot] && heapsnap_room->signal[slot] == 0 &&
	    get_registers(slot, NT_PRSTATUS, &registers, sizeof(registers)) == 0 &&
	    repair_call(&registers, heapsnap_room->held_call[slot]))
		trace(PTRACE_SETREGSET, slot, NT_PRSTATUS, &place);
	trace(PTRACE_DETACH, slot, 0, (void *)(uintptr_t)heapsnap_room->signal[slot]);
	set_grip(slot, FREE);
}

static void let_all_go(void)
{
	uint64_t end = heapsnap_monotonic_ns() + LINGER_NS;
	uint32_t never = 0;
	bool late;

	// Who has not stopped yet, will: it would see EINTR if it were left before that. It takes long
	// only where it gets no processor.
	do {
		late = collect_from(0) > 0;
		for (uint32_t i = 0; i < hold.taken; i++) {
			if (heapsnap_room->grip[hold.slots[i]] == STOPPED)
				let_go(hold.slots[i]);
		}
		if (late)
			heapsnap_futex_wait(&never, 0, GLANCE_NS);
	} while (late && heapsnap_monotonic_ns() < end);
}

static void set_terms(void)
{
	// A filter that ends the holder must not leave a core dump of the whole program: with a
	// limit of 1 also the kernel's pipe gets none.
	struct rlimit64 limit = { 1, 1 };

	HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	HEAPSNAP_SYSTEM_4(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL);
}

static void run_holder(void)
{
	uint64_t end;

	set_terms();
	if ((uint32_t)heapsnap_system(SYS_getppid, 0, 0, 0, 0, 0, 0) != heapsnap_process.pid)
		return;
	while (phase_now() == STARTING)
		heapsnap_futex_wait(&hold.phase, STARTING, 0);
	take_all();
	change_phase(HOLDING, HELD);
	end = heapsnap_monotonic_ns() + RELEASE_NS;
	while (phase_now() != RELEASED && heapsnap_monotonic_ns() < end) {
		// Those that stop late are not too late while all stand.
		bool late = collect_from(0) > 0;

		heapsnap_futex_wait(&hold.phase, HELD, late ? GLANCE_NS : RELEASE_NS);
	}
	let_all_go();
}

// --- in the waiting thread -------------------------------------------------------------

// How many filters of system calls there are, or all bits if that cannot be told.
static uint64_t count_filters(void)
{
	char text[MAX_STATUS];
	const char *mode, *count;

	if (heapsnap_read_file("/proc/thread-self/status", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	mode = heapsnap_find_line(text, "Seccomp:\t");
	count = heapsnap_find_line(text, "Seccomp_filters:\t");
	if (!mode || *mode == '0')
		return 0;
	return count ? heapsnap_parse_decimal(count) : UINT64_MAX;
}

// The Linux version, major × 1000 + minor.
static uint64_t kernel_version(void)
{
	char text[64];
	const char *minor = text;

	if (heapsnap_read_file("/proc/sys/kernel/osrelease", text, sizeof(text)) <= 0)
		return 0;
	while (*minor && *minor != '.')
		minor++;
	return heapsnap_parse_decimal(text) * 1000 +
	       (*minor ? heapsnap_parse_decimal(minor + 1) : 0);
}

// A filter that was there before the program is a container's or a service's: it lets ordinary
// programs live, and at worst ends the holder alone. One of the program's own may be stricter.
static bool is_filtered(void)
{
	uint64_t filters = count_filters();

	return filters != 0 &&
	       (filters == UINT64_MAX || filters != hold.filters || kernel_version() < SAFE_DUMPS);
}

// Where only descendants may be traced, the program must allow it. That lasts until the holder
// has ended.
static void allow_tracing(void)
{
	char scope[8];

	if (heapsnap_read_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) > 0 &&
	    scope[0] == '1')
		HEAPSNAP_SYSTEM_5(SYS_prctl, PR_SET_PTRACER, hold.holder, 0, 0, 0);
}

// @return whether the holder has ended
static bool has_ended(int flags)
{
	long result;

	while ((result = HEAPSNAP_SYSTEM_4(SYS_wait4, hold.holder, NULL, __WCLONE | flags, NULL)) ==
	       -EINTR)
		;
	return result != 0;
}

void heapsnap_hold_init(void)
{
	hold.stack = heapsnap_reserve(STACK_SIZE);
	hold.filters = count_filters();
}

bool heapsnap_hold(const struct heapsnap_tasks *tasks, const uint32_t *slots, uint32_t count,
		   uint64_t time_ns)
{
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
	uint64_t until;

	hold.holder = 0;
	hold.seized = false;
	hold.failed = 0;
	hold.refused = false;
	if (!hold.stack || hold.deadly || is_filtered())
		return false;
	memset(heapsnap_room->grip, FREE, heapsnap_room->capacity);
	hold.tasks = tasks;
	hold.slots = slots;
	hold.count = count;
	hold.taken = 0;
	hold.time_ns = time_ns;
	__atomic_store_n(&hold.phase, STARTING, __ATOMIC_RELEASE);
	hold.holder =
		heapsnap_clone_running(flags, hold.stack + STACK_SIZE, run_holder, NULL, NULL);
	if (hold.holder < 0) {
		hold.holder = 0;
		return false;
	}
	allow_tracing();
	change_phase(STARTING, HOLDING);
	until = heapsnap_monotonic_ns() + time_ns + 2 * PATIENCE_NS;
	while (phase_now() == HOLDING && heapsnap_monotonic_ns() < until) {
		heapsnap_futex_wait(&hold.phase, HOLDING, GLANCE_NS);
		if (phase_now() == HOLDING && has_ended(WNOHANG)) {
			hold.holder = 0;
			hold.deadly = true;
			memset(heapsnap_room->grip, FREE, heapsnap_room->capacity);
		}
		if (hold.holder == 0)
			return false;
	}
	return __atomic_load_n(&hold.seized, __ATOMIC_ACQUIRE);
}

bool heapsnap_hold_has(uint32_t slot)
{
	return __atomic_load_n(&heapsnap_room->grip[slot], __ATOMIC_ACQUIRE) != FREE;
}

void heapsnap_hold_release(void)
{
	__atomic_store_n(&hold.phase, RELEASED, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&hold.phase);
}

void heapsnap_hold_finish(void)
{
	if (hold.holder > 0)
		has_ended(0);
	hold.holder = 0;
}
