// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/trace/trace.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/report.h"
#include "dumper/trace/sampling.h"
#include "dumper/base/settings.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/signals.h"
#include "dumper/base/system.h"
#include "dumper/base/thread_call.h"
#include "dumper/trace/trace_file.h"
#include "dumper/base/owner.h"
#include "dumper/base/waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENTS = 1 << 16,
	LAST_LOOKS = 100,
};

static const uint64_t GATHER_NS = 50000000;         // from the first event to when it is written
static const uint64_t END_PATIENCE_NS = 2000000000; // for the last ones
static const uint64_t LAST_NS = 1000000;            // between two looks for them

struct slot {
	uint32_t turn; // one more than the event's place in the trace, when it is whole
	struct heapsnap_trace_event event;
};

// A child's is zeros: it has a trace of its own.
static struct state {
	uint32_t tid; // of the thread that writes; the kernel clears it
	uint32_t started;
	uint32_t stops;
	uint32_t pauses; // the thread ends, and another one goes on with the trace
	uint32_t offers; // futex: its file, to that one
	bool is_parted;  // the thread has descriptors of its own
	struct heapsnap_thread_call call;
	uint32_t rests; // futex: the thread waits for an event, for ever
	uint32_t hurry; // futex: it need not wait for more events
	uint32_t first; // number of the trace's first sample
	uint32_t head;  // events that have been begun
	uint32_t tail;  // those that have been written
	uint64_t dropped;
	struct heapsnap_trace_file file;
	struct slot slots[EVENTS];
} * state;

static struct heapsnap_waiter writer;
static char pattern[HEAPSNAP_PATH_MAX] = "%e-%N.trace";
static uint32_t first_pid;   // of the process that has begun the trace
static uint32_t next_number; // of samples; a child's go on after its parent's
static uint32_t is_wanted;

uint32_t heapsnap_trace_thread(void)
{
	return state ? __atomic_load_n(&state->tid, __ATOMIC_ACQUIRE) : 0;
}

// --- in the thread that writes ------------------------------------------------------

static void complain(int error)
{
	// A filter may bind this thread that ends the program for the calls that borrow.
	bool borrows = state->is_parted && !heapsnap_is_sandboxed();

	if (borrows)
		heapsnap_waiter_borrow_error();
	heapsnap_report("no trace", heapsnap_error_text(-error), "; the program goes on");
	if (borrows)
		heapsnap_waiter_return_error();
	__atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
}

// True if a sample belongs to this trace: neither to an earlier one, nor to a parent's.
static bool is_ours(uint32_t number)
{
	return number - state->first <= UINT32_MAX / 2;
}

// Adds what is whole. An event of an earlier trace may come late.
static void drain(void)
{
	uint64_t dropped = __atomic_exchange_n(&state->dropped, 0, __ATOMIC_RELAXED);
	uint32_t tail = state->tail;

	for (;;) {
		struct slot *slot = &state->slots[tail % EVENTS];

		if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != tail + 1)
			break;
		if (is_ours(slot->event.number))
			heapsnap_trace_file_add(&state->file, &slot->event);
		__atomic_store_n(&state->tail, ++tail, __ATOMIC_RELEASE);
	}
	if (dropped > 0)
		heapsnap_trace_file_add_dropped(&state->file, dropped);
}

static bool is_empty(void)
{
	return __atomic_load_n(&state->head, __ATOMIC_SEQ_CST) == state->tail;
}

static bool has_to_stop(void)
{
	return __atomic_load_n(&state->stops, __ATOMIC_ACQUIRE);
}

static bool has_to_pause(void)
{
	return __atomic_load_n(&state->pauses, __ATOMIC_ACQUIRE);
}

// False if a filter would end the program for it: then this thread looks itself from time to time.
static bool may_be_woken(void)
{
	return !heapsnap_sandbox_forbids(HEAPSNAP_NEED_WAKING);
}

static void wait_for_events(void)
{
	__atomic_store_n(&state->rests, 1, __ATOMIC_SEQ_CST);
	while (is_empty() && !has_to_stop() && !has_to_pause() &&
	       !heapsnap_thread_call_is_asked(&state->call) &&
	       __atomic_load_n(&state->rests, __ATOMIC_SEQ_CST))
		heapsnap_futex_wait(&state->rests, 1, may_be_woken() ? 0 : GATHER_NS);
	__atomic_store_n(&state->rests, 0, __ATOMIC_SEQ_CST);
	if (!has_to_stop() && !has_to_pause() && !heapsnap_thread_call_is_asked(&state->call))
		heapsnap_futex_wait(&state->hurry, 0, GATHER_NS);
	__atomic_store_n(&state->hurry, 0, __ATOMIC_RELAXED);
}

// At the end: a signal may have come while a thread was noting its event.
static void wait_for_last_events(void)
{
	uint32_t never = 0;

	for (int i = 0; i < LAST_LOOKS && !is_empty(); i++) {
		heapsnap_futex_wait(&never, 0, LAST_NS);
		drain();
	}
}

// Publishes the trace for snapshots. A snapshot that is taken in between knows of none.
static void tell_writer(void)
{
	struct heapsnap_traced *traced = &heapsnap_process.traced;

	__atomic_store_n(&traced->start_ns, 0, __ATOMIC_RELEASE);
	traced->clock_ns = state->file.start_us * 1000;
	traced->pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
	traced->first = state->first;
	heapsnap_format_text(traced->path, traced->path + sizeof(traced->path), state->file.path);
	__atomic_store_n(&traced->start_ns, state->file.start_ns, __ATOMIC_RELEASE);
}

static void end(int error)
{
	if (error != 0)
		complain(error);
	__atomic_store_n(&state->started, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&state->started);
}

// Only a thread that opens it anew can go on with a file that none of the program's has open.
static void offer_file(void)
{
	__atomic_store_n(&state->offers, 1, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&state->offers);
	while (__atomic_load_n(&state->offers, __ATOMIC_ACQUIRE))
		heapsnap_futex_wait(&state->offers, 1, LAST_NS);
}

// Writes until the trace has to stop, or has to be gone on with by another thread.
static void go_on(void)
{
	int error = 0;

	HEAPSNAP_SYSTEM_2(SYS_prctl, PR_SET_NAME, "heapsnap-trace");
	while (error == 0) {
		bool last = has_to_stop();

		heapsnap_thread_call_make(&state->call);
		drain();
		if (last)
			wait_for_last_events();
		heapsnap_trace_file_add_wrappers(&state->file);
		error = heapsnap_trace_file_flush(&state->file);
		if (last)
			break;
		if (error == 0 && has_to_pause()) {
			if (state->is_parted)
				offer_file();
			return;
		}
		wait_for_events();
	}
	end(error == 0 ? heapsnap_trace_file_close(&state->file) : error);
}

static void write_events(void)
{
	bool is_child = first_pid != (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
	int error;

	memset(&state->file, 0, sizeof(state->file));
	// Not every container lets it be borrowed: it is kept until the file is open.
	state->is_parted = heapsnap_waiter_part(STDERR_FILENO);
	error = heapsnap_trace_file_open(&state->file, pattern, is_child);
	if (error != 0) {
		end(error);
		return;
	}
	if (state->is_parted)
		heapsnap_waiter_return_error();
	tell_writer();
	go_on();
}

// --- in the program's threads --------------------------------------------------------

bool heapsnap_trace_is_on(void)
{
	heapsnap_signals mask;

	if (!__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE) || !state)
		return false;
	if (__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		return !has_to_stop();
	if (heapsnap_sandbox_forbids_snapshots() || !heapsnap_is_owner())
		return false;
	heapsnap_block_signals(&mask);
	if (__atomic_exchange_n(&state->started, 1, __ATOMIC_ACQ_REL) == 0) {
		__atomic_store_n(&state->stops, 0, __ATOMIC_RELEASE);
		state->first = __atomic_load_n(&next_number, __ATOMIC_RELAXED) + 1;
		if (heapsnap_waiter_start(&writer, write_events) != 0)
			__atomic_store_n(&state->started, 0, __ATOMIC_RELEASE);
	}
	heapsnap_restore_signals(&mask);
	return __atomic_load_n(&state->started, __ATOMIC_ACQUIRE);
}

static void wake(uint32_t *futex, uint32_t value)
{
	if (__atomic_exchange_n(futex, value, __ATOMIC_SEQ_CST) != value && may_be_woken())
		heapsnap_futex_wake(futex);
}

// Takes the next place in the ring. @return false if there is none
static bool take_place(uint32_t *place)
{
	*place = __atomic_load_n(&state->head, __ATOMIC_RELAXED);
	do {
		// Since the head was read, all events up to a later one may have been written: less than none is left.
		uint32_t left = *place - __atomic_load_n(&state->tail, __ATOMIC_ACQUIRE);

		if ((int32_t)left >= EVENTS) {
			__atomic_add_fetch(&state->dropped, 1, __ATOMIC_RELAXED);
			return false;
		}
	} while (!__atomic_compare_exchange_n(&state->head, place, *place + 1, true,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return true;
}

static bool add_event(const struct heapsnap_trace_event *event)
{
	struct slot *slot;
	uint32_t place;

	if (!take_place(&place))
		return false;
	slot = &state->slots[place % EVENTS];
	slot->event = *event;
	__atomic_store_n(&slot->turn, place + 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&state->rests, __ATOMIC_SEQ_CST))
		wake(&state->rests, 0);
	if (place - __atomic_load_n(&state->tail, __ATOMIC_RELAXED) == EVENTS / 2)
		wake(&state->hurry, 1);
	return true;
}

uint32_t heapsnap_trace_allocated(uint64_t size, const struct heapsnap_sampled *sample, bool moved)
{
	struct heapsnap_trace_event event = { .time_ns = sample->time_ns,
					      .size = size,
					      .step = sample->backtrace,
					      .thread = sample->thread,
					      .moved = moved };

	if (!heapsnap_trace_is_on())
		return 0;
	event.number = __atomic_add_fetch(&next_number, 1, __ATOMIC_RELAXED);
	return add_event(&event) ? event.number : 0;
}

uint64_t heapsnap_trace_now_ns(void)
{
	return heapsnap_trace_is_on() ? heapsnap_monotonic_ns() : heapsnap_coarse_ns();
}

void heapsnap_trace_missed(void)
{
	if (heapsnap_trace_is_on())
		__atomic_add_fetch(&state->dropped, 1, __ATOMIC_RELAXED);
}

void heapsnap_trace_freed(uint32_t number, bool moved)
{
	if (number == 0 || !heapsnap_trace_is_on() || !is_ours(number))
		return;
	add_event(&(struct heapsnap_trace_event){ .time_ns = heapsnap_trace_now_ns(),
						  .number = number,
						  .thread = heapsnap_sampling_thread(),
						  .moved = moved });
}

// A trace that heapsnap_trace_is_on() begins ends soon.
static void ask_to_stop(void)
{
	__atomic_store_n(&state->stops, 1, __ATOMIC_RELEASE);
	wake(&state->rests, 0);
	wake(&state->hurry, 1);
}

void heapsnap_trace_stop(void)
{
	uint64_t until;

	if (!state || !__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		return;
	until = heapsnap_monotonic_ns() + END_PATIENCE_NS;
	ask_to_stop();
	while (__atomic_load_n(&state->started, __ATOMIC_ACQUIRE) &&
	       heapsnap_monotonic_ns() < until) {
		if (may_be_woken())
			heapsnap_futex_wait(&state->started, 1, LAST_NS);
	}
}

/*
 * Before a filter is installed: the last call that this thread may make to the one that writes, which
 * looks itself from then on, or ends if the filter binds it, too.
 */
static void prepare_for_filter(void)
{
	bool ends = heapsnap_sandbox_forbids(HEAPSNAP_NEED_THREADS);

	if ((may_be_woken() && !ends) || !state ||
	    !__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		return;
	if (ends)
		__atomic_store_n(&state->stops, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&state->rests, 0, __ATOMIC_SEQ_CST);
	heapsnap_futex_wake(&state->rests);
	__atomic_store_n(&state->hurry, 1, __ATOMIC_SEQ_CST);
	heapsnap_futex_wake(&state->hurry);
	if (ends) {
		heapsnap_trace_stop();
		heapsnap_waiter_join(&writer);
	}
}

// Opens the file that the thread offers among the program's descriptors. @return -errno if that fails
static long accept_file(void)
{
	char path[96];
	const char *end = path + sizeof(path);
	char *at = heapsnap_format_text(path, end, "/proc/self/task/");

	at = heapsnap_format_number(at, end, heapsnap_trace_thread(), 10);
	at = heapsnap_format_text(at, end, "/fd/");
	heapsnap_format_number(at, end, (uint64_t)state->file.descriptor, 10);
	return HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
}

static void accept_offer(void)
{
	while (!__atomic_load_n(&state->offers, __ATOMIC_ACQUIRE) && heapsnap_trace_thread() != 0)
		heapsnap_futex_wait(&state->offers, 0, LAST_NS);
	if (heapsnap_trace_thread() == 0)
		return; // it shares the program's descriptors, or has come to its end
	state->file.descriptor = (int)accept_file();
	__atomic_store_n(&state->offers, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&state->offers);
}

void heapsnap_trace_pause(void)
{
	if (!state || heapsnap_sandbox_forbids_snapshots() || !heapsnap_is_owner() ||
	    !__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&state->pauses, 1, __ATOMIC_SEQ_CST);
	wake(&state->rests, 0);
	wake(&state->hurry, 1);
	accept_offer();
	heapsnap_waiter_join(&writer);
}

// In the thread: the program's must not close the file before this one has it.
static void take_over(void)
{
	state->is_parted = heapsnap_waiter_part(state->file.descriptor);
	__atomic_store_n(&state->offers, 0, __ATOMIC_RELEASE);
	heapsnap_futex_wake(&state->offers);
	go_on();
}

static long start_again(void)
{
	int descriptor = state->file.descriptor;
	long error;

	if (!state->is_parted)
		return heapsnap_waiter_start(&writer, go_on);
	state->is_parted = false; // it is among the program's now
	if (descriptor < 0)
		return descriptor;
	__atomic_store_n(&state->offers, 1, __ATOMIC_RELEASE);
	error = heapsnap_waiter_start(&writer, take_over);
	if (error < 0)
		return error;
	while (__atomic_load_n(&state->offers, __ATOMIC_ACQUIRE))
		heapsnap_futex_wait(&state->offers, 1, 0);
	if (state->is_parted)
		HEAPSNAP_SYSTEM_1(SYS_close, descriptor);
	return 0;
}

void heapsnap_trace_resume(void)
{
	long error;

	if (!state || !has_to_pause() || !heapsnap_is_owner())
		return;
	__atomic_store_n(&state->pauses, 0, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		return; // it has failed, or come to its end
	error = start_again();
	// In a process whose children shall have a namespace of process ids there can be no threads.
	if (error < 0) {
		heapsnap_trace_file_close(&state->file);
		end((int)error);
	}
}

static void look_soon(void)
{
	wake(&state->rests, 0);
	wake(&state->hurry, 1);
}

void heapsnap_trace_call(long number, const long *arguments)
{
	if (heapsnap_trace_thread() != 0 && heapsnap_is_owner())
		heapsnap_thread_call_ask(&state->call, number, arguments, heapsnap_trace_thread,
					 look_soon);
}

static int prepare(void)
{
	struct state *memory;

	if (state)
		return 0;
	memory = heapsnap_reserve_own(sizeof(*memory));
	if (!memory || heapsnap_waiter_init(&writer, &memory->tid) != 0)
		return -ENOMEM;
	state = memory;
	heapsnap_sandbox_add_hook(prepare_for_filter);
	return 0;
}

int heapsnap_trace_name(const char *value)
{
	if (strlen(value) >= sizeof(pattern))
		return -EINVAL;
	if (heapsnap_process.steps == 0)
		return -ENOTSUP;
	strcpy(pattern, value);
	return 0;
}

// @return whether the thread runs, or has said why there is no trace, and has ended; else it
// begins with the next sample
static bool begin(void)
{
	first_pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
	__atomic_store_n(&is_wanted, 1, __ATOMIC_RELEASE);
	return heapsnap_trace_is_on() || !__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE);
}

int heapsnap_trace_set(const char *value)
{
	int error;

	if (strlen(value) >= sizeof(pattern))
		return -EINVAL;
	if (*value && heapsnap_process.steps == 0)
		return -ENOTSUP;
	__atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
	heapsnap_trace_stop();
	if (!*value)
		return 0;
	error = prepare();
	if (!error)
		error = heapsnap_trace_name(value);
	if (error)
		return error;
	return begin() ? 0 : -EAGAIN;
}

// --- by signal -----------------------------------------------------------------------

// Does not wait for the thread: the one that it interrupts may be what that waits for.
static void toggle(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (heapsnap_signals_take_default(number, info) || !heapsnap_is_owner())
		return;
	if (!__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE)) {
		begin();
		return;
	}
	__atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
	if (__atomic_load_n(&state->started, __ATOMIC_ACQUIRE))
		ask_to_stop();
}

void heapsnap_trace_init(void)
{
	int number = heapsnap_settings.trace_signal;

	if (number == 0)
		return;
	if (heapsnap_process.steps == 0 || prepare() != 0) {
		heapsnap_report("HEAPSNAP_TRACE_SIGNAL", "no backtraces are taken", "; no trace");
		return;
	}
	heapsnap_signals_claim(number, toggle, true);
}

__attribute__((destructor)) static void unload(void)
{
	__atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
	heapsnap_trace_stop();
}
