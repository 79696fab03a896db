// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/trigger.h"

#include "dumper/host/announce.h"
#include "dumper/capture/automatic.h"
#include "dumper/capture/context.h"
#include "dumper/host/first.h"
#include "dumper/capture/freeze.h"
#include "dumper/host/go_runtime.h"
#include "dumper/heapsnap.h"
#include "dumper/capture/hold.h"
#include "dumper/capture/retention.h"
#include "dumper/capture/room.h"
#include "dumper/base/owner.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/report.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/settings.h"
#include "dumper/host/signals.h"
#include "dumper/base/system.h"
#include "dumper/base/waiter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_WAITING = 16,
};

// State that a child must not inherit: the kernel clears it there (MADV_WIPEONFORK).
struct state {
	uint32_t busy;    // futex: 1 while a snapshot is being taken or written
	uint32_t waiting; // signals that came meanwhile, and are served next
	uint32_t refused; // beyond MAX_WAITING
	uint32_t taken;   // futex: 1 when the program has been frozen and goes on, or will not be
	uint32_t serial;
	uint32_t waiter;      // its thread id
	int32_t taking;       // how the freezing went: 0 or -errno
	int32_t writing;      // how the last snapshot went: 0 or -errno
	bool has_shared;      // memory to share with the frozen copy
	bool has_asked;       // for a snapshot, ever
	uint64_t hold_ns;     // for how long the program may be held at the next snapshot
	uint64_t latest_ns;   // when the last was taken, on the clock that never jumps
	uint32_t next_number; // of the next file
};

static struct state *state;
static struct heapsnap_waiter waiter;

// Begins anew in a child of fork().
static void begin_anew(bool is_wiped)
{
	if (!is_wiped)
		memset(state, 0, sizeof(*state));
	heapsnap_announce_child();
}

// To be ended by heapsnap_sandbox_leave(). @return false: this thread must not take a snapshot
static bool enter(void)
{
	if (!heapsnap_sandbox_enter(HEAPSNAP_NEED_SNAPSHOT))
		return false;
	if (heapsnap_is_owner())
		return true;
	heapsnap_sandbox_leave();
	return false;
}

static bool begin(void)
{
	if (__atomic_exchange_n(&state->busy, 1, __ATOMIC_ACQ_REL) != 0)
		return false;
	__atomic_store_n(&heapsnap_announcement.writing, 1, __ATOMIC_RELAXED);
	return true;
}

static void announce_begin(void)
{
	__atomic_add_fetch(&heapsnap_announcement.begun, 1, __ATOMIC_RELAXED);
}

// One snapshot has been written, or has failed.
static void announce_end(int result)
{
	__atomic_store_n(&heapsnap_announcement.outcome, result, __ATOMIC_RELAXED);
	__atomic_add_fetch(&heapsnap_announcement.ended, 1, __ATOMIC_RELEASE);
}

// Who ends writes `busy` and then reads `waiting`; who requests writes `waiting` and then reads `busy`.
// These four are in one order for all threads, so that one of the two sees the other.
static void finish(int result)
{
	state->writing = result;
	state->has_asked = true;
	__atomic_store_n(&heapsnap_announcement.writing, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&state->busy, 0, __ATOMIC_SEQ_CST);
	heapsnap_futex_wake(&state->busy);
}

// --- in the waiting thread -----------------------------------------------------

// The time for types: it ends before the program is let go.
static uint64_t writer_time(uint64_t hold_ns)
{
	uint64_t time = heapsnap_settings.writer_time_ns, most = hold_ns / 3 * 2;

	return hold_ns != 0 && (time == 0 || time > most) ? most : time;
}

// Freezes the program. @return pid of the frozen copy, or -errno
static long freeze(void)
{
	heapsnap_process.pid = heapsnap_owner_pid();
	heapsnap_process.serial = state->serial;
	// Where the oldest go their numbers must stay taken, or the files would be out of order.
	heapsnap_process.first_number = heapsnap_automatic.keep ? state->next_number : 0;
	heapsnap_process.writer_time_ns = writer_time(state->hold_ns);

	long frozen = heapsnap_freeze(state->hold_ns);

	state->hold_ns = 0;

	if (frozen < 0)
		heapsnap_report("no snapshot", heapsnap_error_text((int)-frozen),
				"; the program goes on");
	else
		__atomic_store_n(&state->serial, state->serial + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&state->latest_ns, heapsnap_monotonic_ns(), __ATOMIC_RELEASE);
	return frozen;
}

// Waits for the writer, and tells how it went. @return 0 or -errno
static int await(long frozen)
{
	const struct heapsnap_shared *shared =
		(const struct heapsnap_shared *)heapsnap_process.shared;

	while (HEAPSNAP_SYSTEM_4(SYS_wait4, frozen, NULL, __WCLONE, NULL) == -EINTR)
		;
	if (shared->status != 0) {
		heapsnap_report(NULL, shared->message, "; the program goes on");
		return -EIO;
	}
	if (heapsnap_process.report != HEAPSNAP_REPORT_NONE)
		return 0;
	state->next_number = shared->number + 1;
	heapsnap_keep(shared->message);
	if (heapsnap_settings.verbose)
		heapsnap_report(shared->progress.is_late
					? "types are incomplete: HEAPSNAP_WRITER_TIME was over"
					: NULL,
				"wrote ", shared->message);
	return 0;
}

static bool take_waiting(void)
{
	uint32_t count = __atomic_load_n(&state->waiting, __ATOMIC_ACQUIRE);

	while (count > 0) {
		if (__atomic_compare_exchange_n(&state->waiting, &count, count - 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

// Beside the trace: its path, with per cent signs escaped.
static void set_pattern_of_oldest(char *at, const char *end)
{
	for (const char *from = heapsnap_process.traced.path; *from; from++) {
		const char text[] = { *from, *from == '%' ? '%' : '\0', '\0' };

		at = heapsnap_format_text(at, end, text);
	}
	heapsnap_format_text(at, end, ".%N.oldest");
}

static void set_pattern(const char *pattern)
{
	char *at = heapsnap_process.pattern;
	const char *end = at + sizeof(heapsnap_process.pattern);

	if (heapsnap_settings.oldest > 0)
		set_pattern_of_oldest(at, end);
	else
		heapsnap_format_text(at, end, pattern);
}

static int serve_waiting(void)
{
	heapsnap_room_make();
	set_pattern(heapsnap_settings.file);
	heapsnap_freeze_note_nobody();
	announce_begin();

	long frozen = freeze();
	int result = frozen < 0 ? (int)frozen : await(frozen);

	announce_end(result);
	return result;
}

static void report_refused(void)
{
	uint32_t count = __atomic_exchange_n(&state->refused, 0, __ATOMIC_ACQ_REL);
	char number[24];

	if (count == 0)
		return;
	heapsnap_format_number(number, number + sizeof(number), count, 10);
	heapsnap_report(NULL, number, " signals refused: too many were waiting for a snapshot");
}

// Takes this snapshot, and those that are requested until it is written.
static void serve(void)
{
	heapsnap_waiter_detach();

	long frozen = freeze();
	int result = frozen < 0 ? (int)frozen : 0;

	state->taking = result;
	__atomic_store_n(&state->taken, 1, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&state->taken);
	if (result == 0)
		result = await(frozen);
	announce_end(result);
	for (;;) {
		while (take_waiting())
			result = serve_waiting();
		report_refused();
		finish(result);
		// A signal may have come between the last look and the end.
		if (__atomic_load_n(&state->waiting, __ATOMIC_SEQ_CST) == 0 || !begin())
			return;
	}
}

// --- in the thread that triggers -------------------------------------------------

static long map_shared(void)
{
	long result;

	if (!heapsnap_room_make())
		return -ENOMEM;
	if (state->has_shared)
		return 0;
	result = heapsnap_system(SYS_mmap, 0, sizeof(struct heapsnap_shared),
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result < 0 && result > -4096)
		return result;
	heapsnap_process.shared = (uint64_t)result;
	heapsnap_announcement.shared = (uint64_t)result;
	state->has_shared = true;
	return 0;
}

// clone(2) refuses these arguments to who has called unshare(2) or setns(2) for its children's process ids.
static const char *why_no_waiter(long error)
{
	return error == -EINVAL ? "children would be in another namespace of processes"
				: heapsnap_error_text((int)-error);
}

// Takes a snapshot. The calling thread is at @p context; NULL: it is not a thread of the program.
// Returns when the program is frozen and goes on. @return 0 or -errno
static int take(const char *pattern, const heapsnap_context *context)
{
	long result = map_shared();

	announce_begin();
	set_pattern(pattern);
	if (context && result == 0)
		heapsnap_freeze_note_caller(context);
	else
		heapsnap_freeze_note_nobody();
	__atomic_store_n(&state->taken, 0, __ATOMIC_RELEASE);
	if (result == 0)
		result = heapsnap_waiter_start(&waiter, serve);
	if (result < 0) {
		heapsnap_report("no snapshot", why_no_waiter(result), "; the program goes on");
		announce_end((int)result);
		finish((int)result);
		return (int)result;
	}
	while (__atomic_load_n(&state->taken, __ATOMIC_ACQUIRE) == 0)
		heapsnap_futex_wait(&state->taken, 0, 0);
	return state->taking;
}

static void wait_in_turn(void)
{
	if (__atomic_add_fetch(&state->waiting, 1, __ATOMIC_SEQ_CST) > MAX_WAITING) {
		__atomic_sub_fetch(&state->waiting, 1, __ATOMIC_ACQ_REL);
		__atomic_add_fetch(&state->refused, 1, __ATOMIC_ACQ_REL);
	}
}

static void take_in_turn(const heapsnap_context *context)
{
	if (begin()) {
		take(heapsnap_settings.file, context);
		return;
	}
	wait_in_turn();
	// The one before may have ended just now, without having seen this one.
	if (__atomic_load_n(&state->busy, __ATOMIC_SEQ_CST) == 0 && begin()) {
		if (take_waiting())
			take(heapsnap_settings.file, context);
		else
			finish(state->writing);
	}
}

static void triggered(int number, siginfo_t *info, void *context)
{
	if (!heapsnap_sandbox_enter(HEAPSNAP_NEED_SNAPSHOT))
		return;
	if (!heapsnap_signals_take_default(number, info) && heapsnap_is_owner()) {
		heapsnap_signals_let_ignored(context);
		take_in_turn(context);
	}
	heapsnap_sandbox_leave();
}

// Also where it was ignored: shells do that to SIGQUIT for what runs in the background.
static enum heapsnap_handler install_handler(void)
{
	if (!heapsnap_freezes() || heapsnap_settings.signal == 0 ||
	    heapsnap_first() == HEAPSNAP_ALLOCATOR_SANITIZER)
		return HEAPSNAP_HANDLER_NONE;
	if (!heapsnap_signals_claim(heapsnap_settings.signal, triggered, true))
		return HEAPSNAP_HANDLER_EARLIER;
	return heapsnap_go_takes(heapsnap_settings.signal) ? HEAPSNAP_HANDLER_UNSURE
							   : HEAPSNAP_HANDLER_OURS;
}

// Before a filter binds all threads: whoever is taking a snapshot must come to its end.
static void end_for_filter(void)
{
	if (heapsnap_sandbox_forbids(HEAPSNAP_NEED_THREADS))
		heapsnap_trigger_rest();
}

// In a child of fork(), which needs no kcmp() to know that it is one: its announcement is its own at
// once.
static void begin_child(void)
{
	heapsnap_sandbox_begin_child();
	if (!state || heapsnap_sandbox_forbids_snapshots())
		return;
	heapsnap_owner_fork();
	heapsnap_signals_look();
}

void heapsnap_trigger_init(void)
{
	struct state *page = heapsnap_reserve_own(sizeof(*state));

	if (!page || heapsnap_waiter_init(&waiter, &page->waiter) != 0 ||
	    !heapsnap_owner_init(begin_anew)) {
		heapsnap_report(NULL, "out of memory", "; no snapshots can be taken");
		return;
	}
	heapsnap_sandbox_init();
	heapsnap_hold_init();
	state = page;
	heapsnap_announce(heapsnap_settings.signal, install_handler(), heapsnap_first());
	pthread_atfork(NULL, NULL, begin_child);
	heapsnap_sandbox_add_hook(end_for_filter);
}

// --- without being asked ------------------------------------------------------------

uint32_t heapsnap_trigger_count(void)
{
	return state ? __atomic_load_n(&state->serial, __ATOMIC_ACQUIRE) : 0;
}

uint64_t heapsnap_trigger_latest_ns(void)
{
	return state ? __atomic_load_n(&state->latest_ns, __ATOMIC_ACQUIRE) : 0;
}

int heapsnap_trigger_take(const heapsnap_context *context, uint64_t hold_ns)
{
	heapsnap_signals mask;
	int result = -EAGAIN;

	if (!enter())
		return -EPERM;
	heapsnap_signals_block(&mask);
	if (begin()) {
		state->hold_ns = hold_ns;
		result = take(heapsnap_settings.file, context);
	}
	heapsnap_restore_signals(&mask);
	heapsnap_sandbox_leave();
	return result;
}

static void wait_until_written(void)
{
	uint32_t value;

	while ((value = __atomic_load_n(&state->busy, __ATOMIC_ACQUIRE)) != 0)
		heapsnap_futex_wait(&state->busy, value, 0);
}

void heapsnap_trigger_rest(void)
{
	if (!heapsnap_is_owner())
		return;
	wait_until_written();
	heapsnap_waiter_join(&waiter);
}

void heapsnap_trigger_last(const char *pattern, uint32_t report, const heapsnap_context *context)
{
	heapsnap_signals mask;

	if (!enter())
		return;
	heapsnap_signals_block(&mask);
	while (!begin())
		wait_until_written();
	heapsnap_process.report = report;
	take(pattern, context);
	wait_until_written();
	heapsnap_process.report = HEAPSNAP_REPORT_NONE;
	heapsnap_restore_signals(&mask);
	heapsnap_sandbox_leave();
}

// --- the program's own wish --------------------------------------------------------

static int request(const char *name, const heapsnap_context *context)
{
	heapsnap_signals mask;
	int result = -EAGAIN;

	if (!HEAPSNAP_TAKES_SNAPSHOTS || heapsnap_first() == HEAPSNAP_ALLOCATOR_SANITIZER)
		return -ENOTSUP;
	if (name && (!*name || strlen(name) >= HEAPSNAP_PATH_MAX))
		return -EINVAL;
	if (!enter())
		return state ? -EPERM : -ENOMEM;
	heapsnap_signals_block(&mask);
	if (begin())
		result = take(name ? name : heapsnap_settings.file, context);
	heapsnap_restore_signals(&mask);
	heapsnap_sandbox_leave();
	return result;
}

HEAPSNAP_API int heapsnap_dump(const char *name)
{
	// Zeros: stale values on the stack would hold objects.
	ucontext_t context = { 0 };

	heapsnap_context_here(&context);
	return request(name, &context);
}

HEAPSNAP_API int heapsnap_wait(void)
{
	if (!heapsnap_is_owner())
		return -ENOENT;
	wait_until_written();
	return state->has_asked ? state->writing : -ENOENT;
}
