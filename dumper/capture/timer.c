// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/timer.h"

#include "dumper/capture/automatic.h"
#include "dumper/capture/before_oom.h"
#include "dumper/base/owner.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"
#include "dumper/base/thread_call.h"
#include "dumper/capture/trigger.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/waiter.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	STATUS_BYTES = 4096,
};

static struct state {
	uint32_t tid;
	uint32_t started;
	uint32_t change; // futex: of the setting, or of
	uint32_t stop;   // it shall end
	bool is_parted;  // it has descriptors of its own
	struct heapsnap_thread_call call;
} * state; // zeros in a child

static struct heapsnap_waiter timer;

uint32_t heapsnap_timer_thread(void)
{
	return state ? __atomic_load_n(&state->tid, __ATOMIC_ACQUIRE) : 0;
}

// --- in the thread -------------------------------------------------------------

// The line of a status file that begins with @p label; "" if there is none.
static const char *find_line(const char *text, const char *label)
{
	size_t length = strlen(label);

	while (*text && strncmp(text, label, length) != 0) {
		while (*text && *text != '\n')
			text++;
		text += *text == '\n';
	}
	return text;
}

static bool is_same_line(const char *a, const char *b)
{
	for (; *a == *b && *a && *a != '\n'; a++, b++)
		;
	return *a == *b;
}

// True if this thread still has the program's user and group.
static bool has_same_rights(void)
{
	static const char *const labels[] = { "Uid:", "Gid:", "Groups:", "CapEff:" };
	char program[STATUS_BYTES], own[STATUS_BYTES];

	if (heapsnap_read_file("/proc/self/status", program, sizeof(program)) <= 0 ||
	    heapsnap_read_file("/proc/thread-self/status", own, sizeof(own)) <= 0)
		return heapsnap_system(SYS_geteuid, 0, 0, 0, 0, 0, 0) != 0;
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		if (!is_same_line(find_line(program, labels[i]), find_line(own, labels[i])))
			return false;
	}
	return true;
}

static bool shall_stop(void)
{
	return __atomic_load_n(&state->stop, __ATOMIC_ACQUIRE);
}

// Sleeps until then. @return false if the setting has changed meanwhile, or it shall stop
static bool sleep_until(uint64_t then)
{
	uint32_t change = __atomic_load_n(&state->change, __ATOMIC_ACQUIRE);
	uint64_t now;

	if (shall_stop() || heapsnap_thread_call_is_asked(&state->call))
		return false;
	while ((now = heapsnap_monotonic_ns()) < then) {
		heapsnap_futex_wait(&state->change, change, then - now);
		if (__atomic_load_n(&state->change, __ATOMIC_ACQUIRE) != change)
			return false;
	}
	return true;
}

// When the next is due after the one of @p due: those that were missed are not made up for.
static uint64_t next_after(uint64_t due, uint64_t every)
{
	uint64_t now = heapsnap_monotonic_ns();

	if (every == 0)
		return UINT64_MAX;
	return now < due + every ? due + every : now + every - (now - due) % every;
}

// Looks at memory open files several times a second. The program must not meet them among its own
// descriptors: it may count on the numbers that it gets.
static bool part_descriptors(void)
{
	return heapsnap_automatic.before_oom && !heapsnap_is_sandboxed() &&
	       heapsnap_waiter_part(-1);
}

static void begin_taking(void)
{
	if (state->is_parted)
		heapsnap_waiter_borrow_error();
}

static void end_taking(void)
{
	if (state->is_parted)
		heapsnap_waiter_return_error();
}

static uint64_t every_ns(void)
{
	return __atomic_load_n(&heapsnap_automatic.every_ns, __ATOMIC_ACQUIRE);
}

// @return false if this thread must take no snapshots any more
static bool take_due(void)
{
	uint64_t earliest = heapsnap_trigger_latest_ns() + heapsnap_automatic.timer_interval_ns;

	if (!sleep_until(earliest))
		return true;
	if (!has_same_rights())
		return false;
	begin_taking();
	heapsnap_trigger_take(NULL, 0);
	end_taking();
	return true;
}

// @param next_ns  gets when to look again. @return as take_due()
static bool look_at_memory(uint64_t *next_ns)
{
	bool is_near;
	uint64_t wait = heapsnap_before_oom_look(&is_near);

	*next_ns = wait ? heapsnap_monotonic_ns() + wait : UINT64_MAX;
	if (!is_near)
		return true;
	if (!has_same_rights())
		return false;
	begin_taking();
	*next_ns = heapsnap_before_oom_take() ? UINT64_MAX : *next_ns;
	end_taking();
	return true;
}

static void keep_time(void)
{
	uint64_t now = heapsnap_monotonic_ns(), every = every_ns();
	uint64_t due = next_after(now, every), look = now;
	bool goes_on = true;

	HEAPSNAP_SYSTEM_2(SYS_prctl, PR_SET_NAME, "heapsnap-timer");
	state->is_parted = false;
	while (goes_on && !shall_stop()) {
		bool is_same = sleep_until(due < look ? due : look);

		heapsnap_thread_call_make(&state->call);
		now = heapsnap_monotonic_ns();
		if (!state->is_parted)
			state->is_parted = part_descriptors();
		if (!is_same)
			look = now;
		if (every != every_ns())
			due = next_after(now, every = every_ns());
		if (now >= look)
			goes_on = look_at_memory(&look);
		if (goes_on && now >= due) {
			goes_on = take_due();
			due = next_after(due, every);
		}
	}
	__atomic_store_n(&state->started, 0, __ATOMIC_RELEASE);
}

// --- in the program's threads ----------------------------------------------------

// Before a filter binds all threads.
static void end_for_filter(void)
{
	if (heapsnap_sandbox_forbids(HEAPSNAP_NEED_THREADS))
		heapsnap_timer_stop();
}

static bool init(void)
{
	struct state *memory;

	if (state)
		return true;
	memory = heapsnap_reserve_own(sizeof(*memory));
	if (!memory || heapsnap_waiter_init(&timer, &memory->tid) != 0)
		return false;
	state = memory;
	heapsnap_sandbox_add_hook(end_for_filter);
	return true;
}

void heapsnap_timer_start(void)
{
	heapsnap_signals mask;

	if (!state &&
	    ((heapsnap_automatic.every_ns == 0 && !heapsnap_automatic.before_oom) || !init()))
		return;
	if (__atomic_load_n(&state->started, __ATOMIC_ACQUIRE) ||
	    heapsnap_sandbox_forbids_snapshots() || !heapsnap_is_owner())
		return;
	heapsnap_block_signals(&mask);
	if (__atomic_exchange_n(&state->started, 1, __ATOMIC_ACQ_REL) == 0 &&
	    heapsnap_waiter_start(&timer, keep_time) != 0)
		__atomic_store_n(&state->started, 0, __ATOMIC_RELEASE);
	heapsnap_restore_signals(&mask);
}

void heapsnap_timer_changed(void)
{
	if (!state)
		return;
	__atomic_add_fetch(&state->change, 1, __ATOMIC_ACQ_REL);
	heapsnap_futex_wake(&state->change);
}

void heapsnap_timer_stop(void)
{
	if (!state || !heapsnap_is_owner())
		return;
	__atomic_store_n(&state->stop, 1, __ATOMIC_RELEASE);
	heapsnap_timer_changed();
	heapsnap_waiter_join(&timer);
	__atomic_store_n(&state->stop, 0, __ATOMIC_RELEASE);
}

void heapsnap_timer_call(long number, const long *arguments)
{
	if (heapsnap_timer_thread() != 0 && heapsnap_is_owner())
		heapsnap_thread_call_ask(&state->call, number, arguments, heapsnap_timer_thread,
					 heapsnap_timer_changed);
}
