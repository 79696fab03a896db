// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/effort.h"

enum {
	ADDED_EVENTS = 64,     // at most before a thread's steps are in the sum
	ENDS_LARGE = 3 << 15,  // bytes of a stretch: its last block takes little time for its size
	EARNED_LARGE = 4,      // steps
	START_SITES = 1 << 20, // steps: 10 ms, if a program has ten thousand sites
	START_LOOKS = 1 << 16, // 0.6 ms
};

static const int64_t most_credit[HEAPSNAP_EFFORT_POOLS] = {
	[HEAPSNAP_EFFORT_SITES] = START_SITES,
	[HEAPSNAP_EFFORT_LOOKS] = START_LOOKS,
};

struct heapsnap_effort heapsnap_effort = { .credit = { START_SITES, START_LOOKS } };

__thread int32_t heapsnap_effort_left = INT32_MAX;

// Not yet in the sum, which all threads share.
static __thread uint32_t events, steps;

static void add_to_sum(void)
{
	__atomic_add_fetch(&heapsnap_effort.events, events, __ATOMIC_RELAXED);
	__atomic_add_fetch(&heapsnap_effort.steps, steps, __ATOMIC_RELAXED);
	events = steps = 0;
}

int32_t heapsnap_effort_begin(void)
{
	int32_t before = heapsnap_effort_left;

	heapsnap_effort_left = HEAPSNAP_EFFORT_EVENT;
	return before;
}

uint32_t heapsnap_effort_end(int32_t before)
{
	uint32_t taken = (uint32_t)(HEAPSNAP_EFFORT_EVENT - heapsnap_effort_left);

	heapsnap_effort_left = before;
	events++;
	steps += taken;
	// If two threads reach it at the same time, one update is lost.
	if (taken > __atomic_load_n(&heapsnap_effort.most, __ATOMIC_RELAXED))
		__atomic_store_n(&heapsnap_effort.most, taken, __ATOMIC_RELAXED);
	if (events == ADDED_EVENTS)
		add_to_sum();
	return taken;
}

static int64_t credit_of(enum heapsnap_effort_pool pool)
{
	return __atomic_load_n(&heapsnap_effort.credit[pool], __ATOMIC_RELAXED);
}

bool heapsnap_effort_may(enum heapsnap_effort_pool pool)
{
	return credit_of(pool) > 0 || credit_of(HEAPSNAP_EFFORT_LOOKS) > 0;
}

void heapsnap_effort_charge(enum heapsnap_effort_pool pool, uint32_t taken)
{
	if (credit_of(pool) <= 0)
		pool = HEAPSNAP_EFFORT_LOOKS;
	__atomic_sub_fetch(&heapsnap_effort.credit[pool], taken, __ATOMIC_RELAXED);
}

// Adds credit up to the limit of the pool. @return the excess
static int64_t add_credit(enum heapsnap_effort_pool pool, int64_t more)
{
	int64_t room = most_credit[pool] - credit_of(pool);
	int64_t added = room < more ? room : more;

	if (added <= 0)
		return more;
	__atomic_add_fetch(&heapsnap_effort.credit[pool], added, __ATOMIC_RELAXED);
	return more - added;
}

void heapsnap_effort_earn(uint64_t bytes)
{
	uint64_t earned = bytes > ENDS_LARGE ? EARNED_LARGE : bytes / HEAPSNAP_EFFORT_BYTES;

	add_credit(HEAPSNAP_EFFORT_SITES, add_credit(HEAPSNAP_EFFORT_LOOKS, (int64_t)earned));
	add_to_sum();
}
