// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/before_oom.h"

#include "dumper/base/headroom.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"
#include "dumper/capture/automatic.h"
#include "dumper/capture/timer.h"
#include "dumper/capture/trigger.h"

#include <errno.h>

static const uint64_t HOLD_NS = UINT64_C(30000000000);
static const uint64_t BRAKE_AFTER_NS = 4000000; // without a look
static const uint64_t BRAKE_NS = 20000000;      // that an allocation waits for one
static const uint64_t TAKE_NS = 1000000000;     // for the stop

static struct state {
	struct heapsnap_headroom room;
	uint32_t share;
	bool is_ready; // the room is of this process and share
	bool is_done;
	bool is_taking;            // a snapshot is about to be taken
	uint32_t looks;            // futex
	uint64_t look_ns;          // when the last was, on the coarse clock
	uint64_t waiting_since_ns; // for another process to be done; 0: it does not
	uint64_t budget;           // bytes that were left beyond the share then
	uint64_t allocated;        // since then, at most
} * state;                         // zeros in a child

void heapsnap_before_oom_init(void)
{
	if (!state)
		state = heapsnap_reserve_own(sizeof(*state));
}

static void wake_braked(void)
{
	__atomic_add_fetch(&state->looks, 1, __ATOMIC_ACQ_REL);
	heapsnap_futex_wake(&state->looks);
}

// How long a thread that allocates must wait now: for the look that is due, or for the stop.
static uint64_t brake_ns(uint64_t bytes)
{
	uint64_t allocated = __atomic_add_fetch(&state->allocated, bytes, __ATOMIC_RELAXED);

	if (__atomic_load_n(&state->is_taking, __ATOMIC_ACQUIRE))
		return TAKE_NS;
	return allocated >= __atomic_load_n(&state->budget, __ATOMIC_RELAXED) &&
			       heapsnap_coarse_ns() -
					       __atomic_load_n(&state->look_ns, __ATOMIC_RELAXED) >=
				       BRAKE_AFTER_NS
		       ? BRAKE_NS
		       : 0;
}

void heapsnap_before_oom_brake(uint64_t bytes)
{
	uint32_t looks;
	uint64_t wait;

	if (!state || state->is_done || !state->is_ready)
		return;
	looks = __atomic_load_n(&state->looks, __ATOMIC_ACQUIRE);
	wait = brake_ns(bytes);
	if (wait == 0)
		return;
	if (wait == BRAKE_NS)
		heapsnap_timer_changed();
	heapsnap_futex_wait(&state->looks, looks, wait);
}

uint64_t heapsnap_before_oom_look(bool *is_near)
{
	struct heapsnap_headroom *room;
	uint64_t wait;

	*is_near = false;
	if (!state || state->is_done || !heapsnap_automatic.before_oom)
		return 0;
	room = &state->room;
	if (!state->is_ready || state->share != heapsnap_automatic.before_oom_share) {
		state->share = heapsnap_automatic.before_oom_share;
		heapsnap_headroom_init(room, "/proc/self/cgroup", state->share);
		state->is_ready = true;
	}
	wait = heapsnap_headroom_look(room, heapsnap_monotonic_ns());
	*is_near = room->is_near;
	__atomic_store_n(&state->budget, room->beyond, __ATOMIC_RELAXED);
	__atomic_store_n(&state->allocated, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&state->look_ns, heapsnap_coarse_ns(), __ATOMIC_RELAXED);
	if (!room->is_near) {
		state->waiting_since_ns = 0;
		__atomic_store_n(&state->is_taking, false, __ATOMIC_RELEASE);
		wake_braked();
	}
	return wait;
}

static void end_braking(void)
{
	__atomic_store_n(&state->is_taking, false, __ATOMIC_RELEASE);
	wake_braked();
}

// Another process of the group takes its snapshot, which must not end for what this one allocates.
static void await_turn(void)
{
	uint64_t now = heapsnap_monotonic_ns();

	if (state->waiting_since_ns == 0)
		state->waiting_since_ns = now;
	if (now - state->waiting_since_ns > HOLD_NS)
		end_braking();
}

bool heapsnap_before_oom_take(void)
{
	int lock;

	__atomic_store_n(&state->is_taking, true, __ATOMIC_RELEASE);
	lock = heapsnap_headroom_lock(&state->room);
	if (lock < 0) {
		await_turn();
		return false;
	}
	state->is_done = heapsnap_trigger_take(NULL, HOLD_NS) != -EAGAIN;
	HEAPSNAP_SYSTEM_1(SYS_close, lock);
	end_braking();
	return state->is_done;
}
