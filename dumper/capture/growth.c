// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/growth.h"

#include "dumper/capture/automatic.h"
#include "dumper/alloc/blocks.h"
#include "dumper/capture/context.h"
#include "dumper/base/owner.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"
#include "dumper/host/sandbox.h"
#include "dumper/capture/trigger.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

enum {
	TIME_SHARE = 200, // one part in so many for measuring
	STEPS = 16,       // the limit is checked in at most so many steps
};

static const uint64_t SMALLEST_HEAP = 1 << 20; // per cent of less would be noise

static struct state {
	uint64_t allocated;  // since the last measurement, at most
	uint64_t next_check; // when allocated is this
	uint64_t next_check_ns;
	uint64_t base;      // live bytes at the last snapshot
	uint32_t snapshots; // number of the snapshot that base is of, plus 1; 0: base is unknown
	uint32_t measuring; // by one thread at a time
} * state;                  // zeros in a child

#if !defined(__GLIBC__)
// This libc has no statistics.
static struct {
	size_t uordblks, hblkhd;
} (*statistics)(void);
#define STATISTICS "mallinfo"
#elif __GLIBC_PREREQ(2, 33)
static struct mallinfo2 (*statistics)(void);
#define STATISTICS "mallinfo2"
#else
static struct mallinfo (*statistics)(void);
#define STATISTICS "mallinfo"
#endif

bool heapsnap_growth_init(void)
{
	if (state)
		return true;
	if (heapsnap_next_is_glibc())
		statistics = (__typeof__(statistics))dlsym(RTLD_NEXT, STATISTICS);
	state = heapsnap_reserve_own(sizeof(*state));
	return state != NULL;
}

// Anonymous memory that is resident: the second number of statm less the third.
static uint64_t resident_bytes(void)
{
	char text[256];
	uint64_t numbers[3] = { 0 };
	const char *at = text;

	if (heapsnap_read_file("/proc/self/statm", text, sizeof(text)) <= 0)
		return 0;
	for (int i = 0; i < 3; i++) {
		for (; *at >= '0' && *at <= '9'; at++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(*at - '0');
		at += *at == ' ';
	}
	return (numbers[1] - numbers[2]) * (uint64_t)getpagesize();
}

static uint64_t measure_live(void)
{
	if (!statistics)
		return resident_bytes();

	__auto_type found = statistics();

	return (uint64_t)found.uordblks + (uint64_t)found.hblkhd;
}

// How many bytes more than @p base are growth.
static uint64_t growth_limit(uint64_t base)
{
	uint64_t heap = base > SMALLEST_HEAP ? base : SMALLEST_HEAP;
	uint64_t bytes = heapsnap_automatic.growth_bytes;

	return bytes ? bytes : heap / 100 * heapsnap_automatic.growth_percent;
}

// The thread's processor time: while others have the processor, measuring costs nothing.
static uint64_t busy_ns(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// @return live bytes; says when to measure again
static uint64_t measure(void)
{
	uint64_t start = busy_ns(), live, cost, limit, missing;

	__atomic_store_n(&state->allocated, 0, __ATOMIC_RELAXED);
	live = measure_live();
	cost = busy_ns() - start;
	if (state->snapshots != heapsnap_trigger_count() + 1) {
		state->snapshots = heapsnap_trigger_count() + 1;
		state->base = live;
	}
	limit = growth_limit(state->base);
	missing = live < state->base + limit ? state->base + limit - live : 0;
	__atomic_store_n(&state->next_check_ns, heapsnap_monotonic_ns() + cost * TIME_SHARE,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&state->next_check, missing > limit / STEPS ? missing : limit / STEPS,
			 __ATOMIC_RELAXED);
	return live;
}

static bool is_time(void)
{
	uint64_t now = heapsnap_monotonic_ns();
	uint64_t latest = heapsnap_trigger_latest_ns();

	return now >= __atomic_load_n(&state->next_check_ns, __ATOMIC_RELAXED) &&
	       (latest == 0 || now - latest >= heapsnap_automatic.min_interval_ns);
}

// A thread that allocates asks for the snapshot itself: its stack then tells what for.
static void take_if_grown(void)
{
	uint64_t live = measure();
	ucontext_t context;

	if (live < state->base + growth_limit(state->base))
		return;
	heapsnap_context_here(&context);
	if (heapsnap_trigger_take(&context, 0) == 0) {
		state->snapshots = heapsnap_trigger_count() + 1;
		state->base = live;
		state->next_check = growth_limit(live);
	}
}

void heapsnap_growth_look(uint64_t bytes)
{
	uint64_t allocated = __atomic_add_fetch(&state->allocated, bytes, __ATOMIC_RELAXED);
	bool base_is_known = __atomic_load_n(&state->snapshots, __ATOMIC_RELAXED) ==
			     heapsnap_trigger_count() + 1;
	int before = errno;

	if (base_is_known && allocated < __atomic_load_n(&state->next_check, __ATOMIC_RELAXED))
		return;
	if (heapsnap_sandbox_forbids(HEAPSNAP_NEED_SNAPSHOT | HEAPSNAP_NEED_CLOCK) ||
	    !heapsnap_is_owner() || __atomic_exchange_n(&state->measuring, 1, __ATOMIC_ACQUIRE))
		return;
	if (!base_is_known)
		measure();
	else if (is_time())
		take_if_grown();
	__atomic_store_n(&state->measuring, 0, __ATOMIC_RELEASE);
	errno = before;
}
