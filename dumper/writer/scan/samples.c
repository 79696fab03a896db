// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/samples.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MAX_SLOTS = 1 << 22, // the process's word on how many there are is not believed blindly
	AT_ONCE = 512,       // samples that are read
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

static uint64_t address_of(const struct heapsnap_process *process, uint32_t slot)
{
	return slot < HEAPSNAP_FIRST_SAMPLES
		       ? process->samples + slot * sizeof(struct heapsnap_sample)
		       : process->more_samples +
				 (slot - HEAPSNAP_FIRST_SAMPLES) * sizeof(struct heapsnap_sample);
}

// The table has room for many more samples than there are: it is read in pieces, and not kept.
struct heap_error *samples_visit(const struct image *image, const struct heapsnap_process *process,
				 const struct objects *objects, samples_visitor *visit,
				 void *context)
{
	uint32_t slots =
		process->samples && process->sample_slots <= MAX_SLOTS ? process->sample_slots : 0;
	struct heapsnap_sample samples[AT_ONCE];

	_Static_assert(HEAPSNAP_FIRST_SAMPLES % AT_ONCE == 0, "a piece is of one part");
	for (uint32_t i = 0; i < slots; i++) {
		const struct heapsnap_sample *sample = &samples[i % AT_ONCE];

		if (i % AT_ONCE == 0)
			image_read_padded(image, address_of(process, i), samples,
					  (slots - i < AT_ONCE ? slots - i : AT_ONCE) *
						  sizeof(*samples));
		if (sample->block == 0)
			continue;

		heap_object_id object = objects_find(objects, sample->block);

		if (object == HEAP_NO_OBJECT || objects_address(objects, object) != sample->block)
			continue;
		// cppcheck-suppress returnDanglingLifetime; an error does not refer to the sample
		HEAP_TRY(visit(context, object, sample));
	}
	return NULL;
}

struct reading {
	const struct heapsnap_process *process;
	struct heap_sample *samples; // [count]
	uint32_t count, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *read_sample(void *context, heap_object_id object,
				      const struct heapsnap_sample *sample)
{
	struct reading *reading = context;
	uint32_t number = number_of(reading->process, sample);

	// An entry that is just being filled in has no time yet.
	if (sample->time_ns == 0)
		return NULL;
	HEAP_TRY(heap_reserve(reading->samples, reading->capacity, (size_t)reading->count + 1));
	reading->samples[reading->count++] = (struct heap_sample){
		.object = object,
		.number = number,
		.time_ns = time_of(reading->process, sample, number),
		.thread = sample->thread,
	};
	return NULL;
}

struct heap_error *samples_read(const struct image *image, const struct heapsnap_process *process,
				const struct objects *objects, struct heap_sample **result,
				uint32_t *count)
{
	struct reading reading = { .process = process };
	struct heap_error *error = samples_visit(image, process, objects, read_sample, &reading);

	if (error) {
		free(reading.samples);
		return error;
	}
	if (reading.count > 0)
		qsort(reading.samples, reading.count, sizeof(*reading.samples), compare_objects);
	*result = reading.samples;
	*count = reading.count;
	return NULL;
}
