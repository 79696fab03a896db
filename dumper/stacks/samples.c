// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/samples.h"

#include "dumper/base/hash.h"
#include "dumper/base/process.h"
#include "dumper/stacks/later.h"
#include "dumper/trace/trace.h"

enum {
	PROBES = 16, // slots of each part that may hold a sample
	MORE_SAMPLES = HEAPSNAP_SAMPLES - HEAPSNAP_FIRST_SAMPLES,
};

static struct heapsnap_samples *table;
static uint32_t others; // samples that did not find room among the first

void heapsnap_samples_init(struct heapsnap_samples *room)
{
	heapsnap_process.samples = (uint64_t)room->first;
	heapsnap_process.sample_slots = HEAPSNAP_FIRST_SAMPLES;
	table = room;
}

static struct heapsnap_sample *sample_slot(const void *block, int probe)
{
	uint64_t hash = (heapsnap_scatter((uint64_t)block) >> 32) + (uint64_t)probe;

	if (probe < PROBES)
		return &table->first[hash % HEAPSNAP_FIRST_SAMPLES];
	return &__atomic_load_n(&table->more, __ATOMIC_ACQUIRE)[hash % MORE_SAMPLES];
}

// @return false if there is no memory for it
static bool has_second_part(void)
{
	struct heapsnap_sample *more =
		heapsnap_reserve_later((void **)&table->more, MORE_SAMPLES * sizeof(*more));

	if (more) {
		__atomic_store_n(&heapsnap_process.more_samples, (uint64_t)more, __ATOMIC_RELEASE);
		__atomic_store_n(&heapsnap_process.sample_slots, HEAPSNAP_SAMPLES,
				 __ATOMIC_RELEASE);
	}
	return more != NULL;
}

uint32_t *heapsnap_sample_add(const void *block, struct heapsnap_sampled sampled)
{
	for (int i = 0; table && sampled.backtrace && i < 2 * PROBES; i++) {
		struct heapsnap_sample *sample;
		uint64_t free = 0;

		if (i == PROBES && !has_second_part())
			break;
		sample = sample_slot(block, i);
		if (__atomic_compare_exchange_n(&sample->block, &free, (uint64_t)block, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			sample->time_ns = sampled.time_ns;
			sample->backtrace = sampled.backtrace;
			sample->number = sampled.number;
			sample->thread = sampled.thread;
			if (i >= PROBES)
				__atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
			return &sample->number;
		}
	}
	return NULL;
}

bool heapsnap_sample_begin(const void *block, uint64_t size, uint32_t backtrace, bool moved)
{
	struct heapsnap_sampled sampled = { .backtrace = backtrace };
	uint32_t *number;

	if (backtrace == 0)
		return false;
	sampled.time_ns = heapsnap_trace_now_ns();
	sampled.thread = heapsnap_sampling_thread();
	number = heapsnap_sample_add(block, sampled);
	if (!number) {
		heapsnap_trace_missed();
		return false;
	}
	*number = heapsnap_trace_allocated(size, &sampled, moved);
	return true;
}

struct heapsnap_sampled heapsnap_sample_remove(const void *block)
{
	int probes = __atomic_load_n(&others, __ATOMIC_RELAXED) ? 2 * PROBES : PROBES;

	for (int i = 0; table && i < probes; i++) {
		struct heapsnap_sample *sample = sample_slot(block, i);

		if (__atomic_load_n(&sample->block, __ATOMIC_RELAXED) == (uint64_t)block) {
			struct heapsnap_sampled sampled = { .backtrace = sample->backtrace,
							    .number = sample->number,
							    .time_ns = sample->time_ns,
							    .thread = sample->thread };

			sample->backtrace = 0;
			__atomic_store_n(&sample->block, 0, __ATOMIC_RELEASE);
			if (i >= PROBES)
				__atomic_sub_fetch(&others, 1, __ATOMIC_RELAXED);
			return sampled;
		}
	}
	return (struct heapsnap_sampled){ 0 };
}
