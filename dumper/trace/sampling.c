// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/trace/sampling.h"

#include "dumper/base/process.h"
#include "dumper/host/sandbox.h"
#include "dumper/base/settings.h"
#include "dumper/base/system.h"

#include <pthread.h>

__thread uint64_t heapsnap_bytes_left;
void (*heapsnap_each_stretch)(uint64_t bytes);

static __thread uint64_t part;    // bytes that were left the last time
static __thread uint64_t stretch; // bytes of the stretch before that part
static __thread uint64_t beyond;  // bytes from the end of that part to the next sample
static __thread uint64_t random_state;
static __thread uint32_t thread_id; // 0: not known yet

// xorshift64*: G. Marsaglia, "Xorshift RNGs"; S. Vigna, "An experimental exploration".
static uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

// -ln(value / 2^64), good to 1e-6. @param value  not 0
static double negative_logarithm(uint64_t value)
{
	int shift = __builtin_clzll(value);
	double fraction = (double)(value << shift) / 9223372036854775808.0; // 1 .. 2
	double t = (fraction - 1) / (fraction + 1), square = t * t;
	// ln x = 2 atanh((x - 1) / (x + 1))
	double series = 1.0 / 9 + square / 11;

	series = 1.0 / 7 + square * series;
	series = 1.0 / 5 + square * series;
	series = 1.0 / 3 + square * series;
	return (shift + 1) * 0.693147180559945309 - 2 * t * (1 + square * series);
}

static uint64_t draw_distance(void)
{
	uint64_t mean = heapsnap_settings.stacks;

	if (mean == 0)
		return UINT64_MAX / 2;
	return (uint64_t)(negative_logarithm(next_random() | 1) * (double)mean);
}

bool heapsnap_sampling_refill(struct heapsnap_stretch *ended)
{
	uint64_t taken = 0 - heapsnap_bytes_left; // beyond the stretch
	bool is_sampled = false;

	*ended = (struct heapsnap_stretch){ .last = taken };
	stretch += part + taken;
	if (stretch > HEAPSNAP_STRETCH) {
		ended->bytes = stretch;
		stretch = 0;
	}
	if (random_state == 0) {
		random_state =
			(heapsnap_coarse_ns() ^ (uint64_t)&random_state) * heapsnap_process.secret |
			1;
		beyond = draw_distance();
	}
	if (beyond < taken) {
		is_sampled = true;
		beyond = draw_distance();
	} else {
		beyond -= taken;
	}
	part = HEAPSNAP_STRETCH - stretch;
	part = beyond < part ? beyond : part;
	beyond -= part;
	heapsnap_bytes_left = part;
	return is_sampled;
}

uint32_t heapsnap_sampling_thread(void)
{
	if (thread_id == 0 && !heapsnap_sandbox_forbids_snapshots())
		thread_id = (uint32_t)heapsnap_system(SYS_gettid, 0, 0, 0, 0, 0, 0);
	return thread_id;
}

// In a child, the thread that is left has another id.
static void note_thread(void)
{
	thread_id = 0;
	heapsnap_sampling_thread();
}

/*
 * Allocations before load time have drawn a distance by the default mean. How far the next point lies
 * does not depend on how long none came, so it is drawn again with the requested mean.
 */
static void redraw_distance(void)
{
	uint64_t left = heapsnap_bytes_left, distance;

	if (random_state == 0)
		return;
	distance = draw_distance();
	heapsnap_bytes_left = distance < left ? distance : left;
	part -= left - heapsnap_bytes_left;
	beyond = distance - heapsnap_bytes_left;
}

void heapsnap_sampling_init(void)
{
	redraw_distance();
	note_thread(); // before the program may restrict its system calls in a way that is not seen
	pthread_atfork(NULL, NULL, note_thread);
}
