// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/alloc/epochs.h"

#include "dumper/base/header.h"
#include "dumper/alloc/next_allocator.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

static uint64_t *epochs; // [HEAPSNAP_EPOCHS]

void heapsnap_epochs_init(void)
{
	epochs = heapsnap_reserve(HEAPSNAP_EPOCHS * sizeof(*epochs));
	heapsnap_process.epochs = (uint64_t)epochs;
	if (epochs)
		epochs[0] = heapsnap_process.start_time_ns;
}

void heapsnap_begin_epoch(uint64_t time_ns)
{
	uint32_t epoch = __atomic_load_n(&heapsnap_process.epoch, __ATOMIC_RELAXED);

	if (!epochs || epoch + 1 >= HEAPSNAP_EPOCHS)
		return;
	// Two threads may begin one at the same time: both would write nearly the same time.
	__atomic_store_n(&epochs[epoch + 1], time_ns, __ATOMIC_RELAXED);
	// Who reads the new number finds its time.
	__atomic_store_n(&heapsnap_process.epoch, epoch + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&heapsnap_hot.birth, heapsnap_extent(0, epoch + 1, 0, 0),
			 __ATOMIC_RELAXED);
}

bool heapsnap_begin_checkpoint(void)
{
	uint32_t before = __atomic_load_n(&heapsnap_process.epoch, __ATOMIC_RELAXED), now;

	heapsnap_begin_epoch(heapsnap_realtime_ns());
	now = __atomic_load_n(&heapsnap_process.epoch, __ATOMIC_ACQUIRE);
	if (now == before)
		return false;
	__atomic_store_n(&heapsnap_process.checkpoint_ns,
			 __atomic_load_n(&epochs[now], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	return true;
}
