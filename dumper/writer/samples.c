// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/samples.h"

#include "lib/cleanup.h"

#include <stdlib.h>

enum {
	MAX_SLOTS = 1 << 22, // the process's word on how many there are is not believed blindly
	US = 1000,           // ns
};

bool samples_has_trace(const struct heapsnap_process *process)
{
	return process->traced.start_ns != 0 && process->traced.pid == process->pid;
}

// Those of an earlier trace are none of this one's.
static uint32_t number_of(const struct heapsnap_process *process,
			  const struct heapsnap_sample *sample)
{
	return samples_has_trace(process) && sample->number != 0 &&
			       sample->number - process->traced.first <= UINT32_MAX / 2
		       ? sample->number
		       : 0;
}

// Since 1970. Of one in the trace exactly what that says; clocks may have been set meanwhile.
static uint64_t time_of(const struct heapsnap_process *process,
			const struct heapsnap_sample *sample, uint32_t number)
{
	const struct heapsnap_traced *traced = &process->traced;

	if (number == 0)
		return process->time_ns - (process->clock_ns - sample->time_ns);
	return traced->start_ns + sample->time_ns / US * US - traced->clock_ns;
}

static int compare_objects(const void *left, const void *right)
{
	const struct heap_sample *a = left, *b = right;

	return (a->object > b->object) - (a->object < b->object);
}

struct heap_error *samples_read(const struct image *image, const struct heapsnap_process *process,
				const struct objects *objects, struct heap_sample **result,
				uint32_t *count)
{
	uint32_t slots =
		process->samples && process->sample_slots <= MAX_SLOTS ? process->sample_slots : 0;
	CLEANUP_FREE struct heapsnap_sample *table = calloc((size_t)slots + 1, sizeof(*table));
	struct heap_sample *samples = calloc((size_t)slots + 1, sizeof(*samples));
	uint32_t found = 0;

	if (!table || !samples) {
		free(samples);
		return heap_error_out_of_memory();
	}
	image_read_padded(image, process->samples, table, slots * sizeof(*table));
	for (uint32_t i = 0; i < slots; i++) {
		const struct heapsnap_sample *sample = &table[i];
		heap_object_id object =
			sample->block ? objects_find(objects, sample->block) : HEAP_NO_OBJECT;
		uint32_t number = number_of(process, sample);

		// An entry that is just being filled in has no time yet.
		if (object == HEAP_NO_OBJECT || objects->address[object] != sample->block ||
		    sample->time_ns == 0)
			continue;
		samples[found++] = (struct heap_sample){
			.object = object,
			.number = number,
			.time_ns = time_of(process, sample, number),
			.thread = sample->thread,
		};
	}
	qsort(samples, found, sizeof(*samples), compare_objects);
	*result = samples;
	*count = found;
	return NULL;
}
